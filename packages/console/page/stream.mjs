// The stream of changes: each message of the server changes the state.
import { loadConversations, touch } from "./conversations.mjs"
import { applyStatus } from "./openConversation.mjs"
import { attempt, call, context, state, update } from "./store.mjs"
import * as webhooks from "./webhooks.mjs"

/** The maximum number of shown requests, and of shown events. */
const shown_max = 300

const onEvent = (event) => {
  const { conversation_id, message_id, status } = event.data
  update({ events: [...state.events, event].slice(-shown_max) })
  if (event.type === "message.updated" && status !== "edited" && status !== "deleted") {
    applyStatus({ message_id, status })
  } else if (conversation_id !== undefined) touch(conversation_id)
  if (event.type === "message.received" && conversation_id !== state.conversation?.id) {
    update({ unread: new Set(state.unread).add(conversation_id) })
  }
}

const onChange = attempt(async ({ contact_id, conversation_id }) => {
  if (conversation_id !== undefined) touch(conversation_id)
  if (contact_id !== undefined && contact_id === state.contact?.id) {
    update({ contact: await call("contact", { id: contact_id }) })
  }
})

/** The change for each message of the stream. */
const receivers = {
  snapshot: (snapshot) => {
    const sends = new Map((snapshot?.sends ?? []).map((send) => [send.id, send]))
    update({ ...snapshot, sends, isLive: true })
    // Read again what changed while the stream was not connected.
    void loadConversations()
    if (state.conversation !== null) touch(state.conversation.id)
  },
  request: (request) => update({ requests: [...state.requests, request].slice(-shown_max) }),
  event: onEvent,
  send: (send) => update({ sends: new Map(state.sends).set(send.id, send) }),
  delivery: webhooks.refreshDeliveries,
  change: onChange,
  count: ({ count, kind, minute }) =>
    update({ counts: { ...state.counts, [kind]: { ...state.counts[kind], [minute]: count } } })
}

/** Connects to the stream of changes. The browser reconnects automatically. */
export const connect = () => {
  const stream = new EventSource(`${context.path}/stream`)
  for (const [name, receive] of Object.entries(receivers)) {
    stream.addEventListener(name, ({ data }) => receive(JSON.parse(data)))
  }
  stream.addEventListener("error", () => update({ isLive: false }))
}
