// The state of the page, and calls of the server.

const { development, path = "", writeAsCustomer } = document.body.dataset

/** The path of the console, and its optional functions. */
export const context = {
  path,
  isDevelopment: development === "true",
  canWriteAsCustomer: writeAsCustomer === "true"
}

/** The state that the page shows. Change it with `updateState`, so that the page is drawn again. */
export const state = {
  view: "inbox",
  isLive: false,
  /** @type {string | null} */
  error: null,
  setup: {
    /** @type {ReadonlyArray<import("@messaging-crm/client").Channel>} */
    channels: [],
    /** @type {ReadonlyArray<import("@messaging-crm/client").Member>} */
    members: [],
    /** @type {ReadonlyArray<import("@messaging-crm/client").Tag>} */
    tags: []
  },

  // The inbox.
  filter: "open",
  /** @type {Array<import("@messaging-crm/client").Conversation>} */
  conversations: [],
  /** @type {string | null | undefined} */
  cursor: undefined,
  isLoading: false,
  /** @type {Set<string>} */
  unread: new Set(),
  /** @type {import("@messaging-crm/client").Conversation | null} */
  conversation: null,
  /** @type {import("@messaging-crm/client").Contact | null} */
  contact: null,
  /** @type {Array<import("@messaging-crm/client").Message>} */
  messages: [],
  /** @type {string | null} */
  olderCursor: null,
  /** @type {Array<{ id: string, conversation_id: string, text: string, status: string, failure_reason: string | null }>} */
  pending: [],
  writeAsCustomer: false,

  // The activity of the service.
  /** @type {Array<import("../src/Monitor.ts").CompletedRequest & { at: string }>} */
  requests: [],
  /** @type {Array<import("@messaging-crm/client").WebhookEvent>} */
  events: [],
  /** @type {Map<string, import("../src/Monitor.ts").SendReport>} */
  sends: new Map(),
  counts: { requests: {}, deliveries: {}, messages: {} },
  /** @type {ReadonlyArray<import("@messaging-crm/client").Webhook>} */
  webhooks: [],
  /** @type {string | null} */
  webhook: null,
  /** @type {ReadonlyArray<import("@messaging-crm/client").WebhookDelivery>} */
  deliveries: [],
  /** @type {string | null} */
  expanded: null
}

let draw = () => {}
let isScheduled = false

/** Sets the function that `updateState` calls once for all changes of a frame. */
export const drawPageWith = (callback) => {
  draw = callback
}

export const updateState = (change = {}) => {
  Object.assign(state, change)
  if (isScheduled) return
  isScheduled = true
  requestAnimationFrame(() => {
    isScheduled = false
    draw()
  })
}

/** Requests an operation from the server. A rejection throws an error with its message. */
export const callOperation = async (name, input = {}) => {
  const response = await fetch(`${context.path}/call/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(input)
  })
  const body = await response.json()
  if (!response.ok) throw new Error(body.error?.message ?? `The server responded with ${response.status}.`)
  return body
}

export const errorMessageOf = (error) => error instanceof Error ? error.message : String(error)

/** Wraps the action of a button or a key, so that the page shows its error. */
export const showingErrors = (run) => async (...values) => {
  try {
    return await run(...values)
  } catch (error) {
    const message = errorMessageOf(error)
    updateState({ error: message })
    setTimeout(() => state.error === message && updateState({ error: null }), 10_000)
    return undefined
  }
}
