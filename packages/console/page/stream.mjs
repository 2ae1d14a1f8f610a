// The stream of changes: each message of the server changes the state.
import { refreshDeliveries } from "./development/webhooks.mjs"
import { announceFailure, noteReceived } from "./inbox/announcements.mjs"
import { loadConversations, refreshConversation } from "./inbox/conversations.mjs"
import { applyMessageStatus, refreshContact } from "./inbox/openConversation.mjs"
import { applySend } from "./inbox/unsent.mjs"
import { withMessage } from "./inbox/waiting.mjs"
import { context } from "./server.mjs"
import { state, updateState } from "./store.mjs"

/**
 * @import { WebhookEvent } from "@messaging-crm/client"
 * @import { Changed, StreamMessages } from "../src/StreamMessages.ts"
 */

/** The maximum number of shown requests, and of shown events. */
const shown_max = 300

/** @param {string} id */
const onContact = (id) => {
  if (id === state.contact?.id) refreshContact()
}

/** @param {WebhookEvent} event */
const onEvent = (event) => {
  const { conversation_id } = event.data
  updateState({ events: [...state.events, event].slice(-shown_max) })
  if (event.type === "message.received") noteReceived(event.data.conversation_id)
  if (event.type === "message.received" || event.type === "message.sent") {
    const message = { at: event.timestamp, isInbound: event.type === "message.received" }
    updateState({ newest: withMessage(state.newest, event.data.conversation_id, message) })
  }
  if (event.type === "message.updated" && event.data.status !== "edited" && event.data.status !== "deleted") {
    applyMessageStatus({ message_id: event.data.message_id, status: event.data.status })
  } else if (conversation_id !== null) refreshConversation(conversation_id)
  if (event.type === "contact.updated") onContact(event.data.contact_id)
  if (event.type === "send.failed") {
    const { failure_reason, send_id } = event.data
    announceFailure(event.data)
    applySend({ id: send_id, conversation_id, failure_reason, status: "failed", created_at: event.timestamp })
  }
}

/** @param {Changed} changed */
const onChange = ({ contact_id, conversation_id }) => {
  if (conversation_id !== undefined) refreshConversation(conversation_id)
  if (contact_id !== undefined) onContact(contact_id)
}

/**
 * The change for each message of the stream.
 *
 * @type {{ readonly [Name in keyof StreamMessages]: (data: StreamMessages[Name]) => void }}
 */
const receivers = {
  snapshot: (snapshot) => {
    const sends = new Map((snapshot?.sends ?? []).map((send) => [send.id, send]))
    updateState({ ...snapshot, sends, isLive: true })
    // Read again what changed while the stream was not connected.
    void loadConversations()
    if (state.conversation !== null) refreshConversation(state.conversation.id)
    if (state.contact !== null) refreshContact()
  },
  request: (request) => updateState({ requests: [...state.requests, request].slice(-shown_max) }),
  event: onEvent,
  send: (send) => {
    updateState({ sends: new Map(state.sends).set(send.id, send) })
    applySend(send)
  },
  delivery: refreshDeliveries,
  change: onChange,
  count: ({ count, kind, minute }) =>
    updateState({ counts: { ...state.counts, [kind]: { ...state.counts[kind], [minute]: count } } })
}

/** The pause before the page connects again after a rejection. */
const rejection_pause_millis = 5000

/** Connects to the stream of changes. The browser reconnects automatically, except after a rejection. */
export const connectToStream = () => {
  const stream = new EventSource(`${context.path}/stream`)
  for (const [name, receive] of Object.entries(receivers)) {
    stream.addEventListener(name, ({ data }) => receive(JSON.parse(data)))
  }
  stream.addEventListener("error", () => {
    updateState({ isLive: false })
    if (stream.readyState !== EventSource.CLOSED) return
    // If the session has ended, this read opens the login page.
    void loadConversations()
    setTimeout(connectToStream, rejection_pause_millis)
  })
}
