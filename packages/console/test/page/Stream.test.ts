/** The messages of the server's stream, and the state of the page after each of them. */
import { assert, it } from "@effect/vitest"
import { beforeEach, vi } from "vitest"
import { installBrowser } from "./Browser.ts"

const listeners = new Map<string, (message: { readonly data: string }) => void>()
const calls: Array<string> = []

class EventSource {
  addEventListener(name: string, listener: (message: { readonly data: string }) => void) {
    listeners.set(name, listener)
  }
}

const responses: Readonly<Record<string, object>> = {
  contact: { id: "p1", notes: "new" },
  conversation: {
    id: "c1",
    contact: { id: "p1" },
    status: "open",
    last_activity_at: "2026-01-01T00:00:00.000Z",
    reply_window_expires_at: "2026-01-02T00:00:00.000Z"
  }
}

vi.useFakeTimers()
installBrowser({
  EventSource,
  document: { body: { dataset: { path: "/console" } }, hidden: false },
  fetch: async (path: string) => {
    const name = path.slice("/console/call/".length)
    calls.push(name)
    return Response.json(responses[name] ?? { data: [], next_cursor: null })
  }
})

const { resetState, state } = await import("../../page/store.mjs")
const { waitingIds } = await import("../../page/inbox/waiting.mjs")
const { connectToStream } = await import("../../page/stream.mjs")
connectToStream()

/** Receives a message of the stream, and returns the operations that the page then requests. */
const receive = async (name: string, data: unknown) => {
  calls.splice(0)
  listeners.get(name)?.({ data: JSON.stringify(data) })
  await vi.advanceTimersByTimeAsync(10_000)
  return calls.toSorted()
}

const openConversation = { id: "c1", contact: { id: "p1" } }
const event = (type: string, data: object, id = "e1") => ({ id, type, timestamp: "2026-01-01T00:00:00.000Z", data })

const newest = new Map([["c1", { at: "2026-01-01T00:00:00.000Z", isInbound: false, isOpen: true }]])

beforeEach(() => void resetState())

it("a snapshot replaces the activity, and the page reads again what changed while it was not connected", async () => {
  const contact = { id: "p1", notes: "old" }
  Object.assign(state, { requests: [{ path: "/v1/old" }], conversation: openConversation, contact, newest })
  const snapshot = { requests: [{ path: "/v1/tags" }], events: [], sends: [{ id: "s1", status: "sent" }] }
  assert.deepStrictEqual(await receive("snapshot", snapshot), [
    "contact",
    "conversation",
    "conversations",
    "messages"
  ])
  assert.strictEqual(state.contact?.notes, "new")
  assert.isTrue(state.isLive)
  assert.deepStrictEqual(state.requests.map(({ path }) => path), ["/v1/tags"])
  assert.deepStrictEqual(Array.from(state.sends.keys()), ["s1"])
})

it("the snapshot of an inbox without a monitor contains no activity", async () => {
  assert.deepStrictEqual(await receive("snapshot", null), ["conversations"])
  assert.deepStrictEqual([state.isLive, state.sends.size, state.requests], [true, 0, []])
})

it("an interrupted stream is shown until its next snapshot", async () => {
  await receive("snapshot", null)
  await receive("error", null)
  assert.isFalse(state.isLive)
})

it("a conversation waits for an answer from a received message until one is sent, without a read of its messages", async () => {
  const read = await receive("event", event("message.received", { conversation_id: "c1" }))
  assert.deepStrictEqual([read, waitingIds(state.newest)], [["conversation"], ["c1"]])
  const sent = await receive("event", {
    ...event("message.sent", { conversation_id: "c1" }),
    timestamp: "2026-01-01T00:00:01.000Z"
  })
  assert.deepStrictEqual([sent, waitingIds(state.newest)], [["conversation"], []])
})

it("a failed send is shown in the open conversation only, and keeps the time of its creation", async () => {
  const failed = (conversation_id: string, send_id: string) =>
    receive("event", event("send.failed", { conversation_id, send_id, failure_reason: "rate_limited" }))
  Object.assign(state, { conversation: openConversation })
  await receive("send", { id: "s1", conversation_id: "c1", status: "queued", created_at: "2025-12-31T00:00:00.000Z" })
  await failed("c1", "s1")
  await failed("c2", "s2")
  const shown = state.unsent.map(({ created_at, failure_reason, id }) => [id, failure_reason, created_at])
  assert.deepStrictEqual(shown, [["s1", "rate_limited", "2025-12-31T00:00:00.000Z"]])
  await receive("send", { id: "s3", conversation_id: "c1", status: "sent" })
  assert.lengthOf(state.unsent, 1)
})

it("a status is applied without a read, and an edit or a deletion is read", async () => {
  Object.assign(state, { conversation: openConversation, messages: [{ id: "m1", status: "sent" }] })
  const updated = (status: string) =>
    receive("event", event("message.updated", { conversation_id: "c1", message_id: "m1", status }))
  assert.deepStrictEqual(await updated("read"), [])
  assert.deepStrictEqual(await updated("delivered"), [])
  assert.strictEqual(state.messages[0]?.status, "read")
  for (const status of ["edited", "deleted"]) assert.include(await updated(status), "messages")
})

it("a changed contact is read only if it is shown", async () => {
  assert.deepStrictEqual(await receive("change", { contact_id: "p1" }), [])
  Object.assign(state, { conversation: openConversation, contact: { id: "p1", notes: "old" } })
  assert.deepStrictEqual(await receive("change", { contact_id: "p2" }), [])
  assert.deepStrictEqual(await receive("change", { contact_id: "p1" }), ["contact"])
  assert.strictEqual(state.contact?.notes, "new")
})

it("the event of a changed contact is read like its change", async () => {
  const updated = (contact_id: string) =>
    receive("event", event("contact.updated", { conversation_id: null, contact_id, changed_fields: ["company"] }))
  Object.assign(state, { conversation: openConversation, contact: { id: "p1", notes: "old" } })
  assert.deepStrictEqual(await updated("p2"), [])
  assert.deepStrictEqual(await updated("p1"), ["contact"])
  assert.strictEqual(state.contact?.notes, "new")
})

it("a changed conversation is read", async () => {
  Object.assign(state, { newest })
  assert.deepStrictEqual(await receive("change", { conversation_id: "c1" }), ["conversation"])
})

it("deliveries are read only while they are visible", async () => {
  assert.deepStrictEqual(await receive("delivery", {}), [])
  Object.assign(state, { view: "webhooks" })
  assert.deepStrictEqual(await receive("delivery", {}), ["webhooks"])
})

it("the page keeps the newest 300 requests and events", async () => {
  for (let number = 0; number < 302; number++) {
    listeners.get("request")?.({ data: JSON.stringify({ path: `/v1/${number}` }) })
    listeners.get("event")?.({
      data: JSON.stringify(event("contact.created", { conversation_id: null }, String(number)))
    })
  }
  assert.deepStrictEqual([state.requests.length, state.requests[0]?.path], [300, "/v1/2"])
  assert.deepStrictEqual([state.events.length, state.events[0]?.id], [300, "2"])
})

it("a send replaces its earlier report, and a count that of its minute", async () => {
  for (const status of ["queued", "sent"]) await receive("send", { id: "s1", status })
  assert.deepStrictEqual(Array.from(state.sends.values()), [{ id: "s1", status: "sent" }])
  for (const count of [1, 2]) await receive("count", { kind: "requests", minute: 7, count })
  await receive("count", { kind: "requests", minute: 8, count: 1 })
  assert.deepStrictEqual(state.counts.requests, { 7: 2, 8: 1 })
})
