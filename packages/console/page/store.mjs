// The state of the page, and calls of the server.
import { throttled } from "./elements/throttle.mjs"

/**
 * @import { Channel, Contact, Conversation, Member, Message, Send } from "@messaging-crm/client"
 * @import { Tag, Webhook, WebhookDelivery, WebhookEvent } from "@messaging-crm/client"
 * @import { CustomerMessage } from "../src/index.ts"
 * @import { CompletedRequest, SendReport } from "../src/Monitor.ts"
 * @import { development, inbox } from "../src/Operations.ts"
 */

const { path = "", ...options } = document.body.dataset

/** The path of the console, and its optional functions. */
export const context = {
  path,
  isDevelopment: options["development"] === "true",
  canWriteAsCustomer: options["writeAsCustomer"] === "true"
}

/** The state that the page shows. Change it with `updateState`, so that the page is drawn again. */
export const state = {
  /** @type {string} */
  view: "inbox",
  /** @type {boolean} */
  isLive: false,
  /** @type {string | null} */
  error: null,
  setup: {
    /** @type {ReadonlyArray<Channel>} */
    channels: [],
    /** @type {ReadonlyArray<Member>} */
    members: [],
    /** @type {ReadonlyArray<Tag>} */
    tags: []
  },

  // The inbox.
  /** @type {"all" | "closed" | "open"} */
  filter: "open",
  /** @type {ReadonlyArray<Conversation>} */
  conversations: [],
  /** @type {string | null | undefined} */
  cursor: undefined,
  /** @type {boolean} */
  isLoading: false,
  /** @type {Set<string>} */
  unread: new Set(),
  /** @type {Conversation | null} */
  conversation: null,
  /** @type {Contact | null} */
  contact: null,
  /** @type {Array<Message>} */
  messages: [],
  /** @type {string | null} */
  olderCursor: null,
  /** @type {Array<Send & { text: string }>} */
  pending: [],
  /** @type {boolean} */
  writeAsCustomer: false,

  // The activity of the service.
  /** @type {Array<CompletedRequest & { at: string }>} */
  requests: [],
  /** @type {Array<WebhookEvent>} */
  events: [],
  /** @type {Map<string, SendReport>} */
  sends: new Map(),
  /** @type {Record<"deliveries" | "messages" | "requests", Record<number, number>>} */
  counts: { requests: {}, deliveries: {}, messages: {} },
  /** @type {ReadonlyArray<Webhook>} */
  webhooks: [],
  /** @type {string | null} */
  webhook: null,
  /** @type {ReadonlyArray<WebhookDelivery>} */
  deliveries: [],
  /** @type {string | null} */
  expanded: null
}

/**
 * Returns whether a view is visible. A hidden one is not kept current.
 *
 * @param {string} view
 */
export const isVisible = (view) => state.view === view && !document.hidden

let draw = () => {}
let isScheduled = false

/**
 * Sets the function that `updateState` calls once for all changes of a frame.
 *
 * @param {() => void} callback
 */
export const drawPageWith = (callback) => {
  draw = callback
}

/**
 * Changes the state, and draws the page in the next frame.
 *
 * @param {Partial<typeof state>} change
 */
export const updateState = (change = {}) => {
  Object.assign(state, change)
  if (isScheduled) return
  isScheduled = true
  requestAnimationFrame(() => {
    isScheduled = false
    draw()
  })
}

/**
 * The operations of the server, by the names under which the page requests them.
 *
 * @typedef {typeof inbox & typeof development & {
 *   writeAsCustomer: (crm: never, message: CustomerMessage) => Promise<{ readonly ok: true }>
 * }} ServerOperations
 */

/**
 * Requests an operation from the server. A rejection throws an error with its message.
 *
 * @template {keyof ServerOperations} Name
 * @param {Name} name
 * @param {Parameters<ServerOperations[Name]> extends [unknown, infer Input] ? [Input] : []} inputs
 * @returns {Promise<Awaited<ReturnType<ServerOperations[Name]>>>}
 */
export const callOperation = async (name, ...inputs) => {
  const response = await fetch(`${context.path}/call/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(inputs[0] ?? {})
  })
  const body = await response.json()
  if (!response.ok) throw new Error(body.error?.message ?? `The server responded with ${response.status}.`)
  return body
}

/**
 * Returns the message of an error.
 *
 * @param {unknown} error
 */
export const errorMessageOf = (error) => error instanceof Error ? error.message : String(error)

/**
 * Wraps the action of a button or a key, so that the page shows its error.
 *
 * @template {Array<unknown>} Values
 * @template Result
 * @param {(...values: Values) => Promise<Result> | Result} run
 */
export const showingErrors = (run) => async (/** @type {Values} */ ...values) => {
  try {
    return await run(...values)
  } catch (error) {
    const message = errorMessageOf(error)
    updateState({ error: message })
    setTimeout(() => state.error === message && updateState({ error: null }), 10_000)
    return undefined
  }
}

/**
 * Returns a throttled function that reads something again. It shows an error, and then reads again, so that no other
 * change has to arrive.
 *
 * @param {() => Promise<unknown>} read
 */
export const refreshing = (read) => {
  const refresh = throttled(showingErrors(async () => {
    try {
      await read()
    } catch (error) {
      refresh()
      throw error
    }
  }))
  return refresh
}
