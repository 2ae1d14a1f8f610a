// The state of the page, calls of the server, and what several views use.
import { html } from "lit-html"

const { development, path = "", write } = document.body.dataset

/** Where the console is, and what it may do. */
export const context = { path, isDevelopment: development === "true", canWrite: write === "true" }

/** Everything that the page shows. Changes go through `update`. */
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
  isCustomer: false,

  // What happens in the service.
  /** @type {Array<import("../src/Monitor.ts").AnsweredRequest & { at: string }>} */
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

/** Sets what `update` calls, once for all changes of a frame. */
export const onUpdate = (callback) => {
  draw = callback
}

export const update = (change = {}) => {
  Object.assign(state, change)
  if (isScheduled) return
  isScheduled = true
  requestAnimationFrame(() => {
    isScheduled = false
    draw()
  })
}

/** Requests an operation from the server. A rejection throws an error with its message. */
export const call = async (name, input = {}) => {
  const response = await fetch(`${context.path}/call/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(input)
  })
  const body = await response.json()
  if (!response.ok) throw new Error(body.error?.message ?? `The server responded with ${response.status}.`)
  return body
}

export const messageOf = (error) => error instanceof Error ? error.message : String(error)

/** Wraps the action of a button or a key, so that the page shows its error. */
export const attempt = (run) => async (...values) => {
  try {
    return await run(...values)
  } catch (error) {
    const message = messageOf(error)
    update({ error: message })
    setTimeout(() => state.error === message && update({ error: null }), 10_000)
    return undefined
  }
}

/** Returns a function that calls another one shortly after it is called, and at most once per second: a burst causes few requests. */
export const throttled = (run) => {
  let isScheduled = false
  let isCalledAgain = false
  const schedule = () => {
    isScheduled = true
    setTimeout(async () => {
      isCalledAgain = false
      await run()
      setTimeout(() => {
        isScheduled = false
        if (isCalledAgain) schedule()
      }, 900)
    }, 100)
  }
  return () => {
    if (isScheduled) isCalledAgain = true
    else schedule()
  }
}

/** A row of buttons, one of which is pressed. An option is its label, its value, and its title. */
export const segments = (label, options, selected, choose) =>
  html`<div class="segments" role="group" aria-label=${label}>${
    options.map(([text, value, title = ""]) =>
      html`<button type="button" title=${title} aria-pressed=${value === selected}
        @click=${() => choose(value)}>${text}</button>`
    )
  }</div>`
