// The state of the page. A change draws the page again.

/**
 * @import { Channel, Contact, Conversation, Member, Message, Send } from "@messaging-crm/client"
 * @import { Tag, Webhook, WebhookDelivery, WebhookEvent } from "@messaging-crm/client"
 * @import { CompletedRequest, SendReport } from "../src/Monitor.ts"
 */

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
