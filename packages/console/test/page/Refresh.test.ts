/** The inbox after bursts of changes: it shows what the service has, and needs few calls. */
import { assert, it } from "@effect/vitest"
import { beforeEach, vi } from "vitest"
import { installBrowser } from "./Browser.ts"

interface Conversation {
  readonly contact: { readonly id: string }
  readonly id: string
  readonly status: string
  readonly last_activity_at: string
  readonly last_activity_preview: string
  readonly reply_window_expires_at: string | null
}

const page_size = 100
const conversations = new Map<string, Conversation>()
const calls: Array<string> = []
let minute = 0
/** The errors of the next calls. */
let errors = 0

/** Changes a conversation, which moves to the top of the list unless it is closed. */
const change = (id: string, status: "closed" | "open", preview: string) => {
  const before = conversations.get(id)
  const last_activity_at = status === "closed" && before !== undefined
    ? before.last_activity_at
    : new Date(minute++ * 60_000).toISOString()
  const contact = { id: `contact of ${id}` }
  conversations.set(id, {
    id,
    contact,
    status,
    last_activity_at,
    last_activity_preview: preview,
    reply_window_expires_at: null
  })
}

const listed = (status: string) =>
  Array.from(conversations.values())
    .filter((conversation) => status === "all" || conversation.status === status)
    .toSorted((a, b) => b.last_activity_at.localeCompare(a.last_activity_at))

const respond = (name: string, { cursor = "0", id, status = "all" }: Readonly<Record<string, string>>) => {
  if (name === "conversation") return conversations.get(id ?? "")
  if (name !== "conversations") return { data: [], next_cursor: null, id }
  const end = Number(cursor) + page_size
  const all = listed(status)
  return { data: all.slice(Number(cursor), end), next_cursor: end < all.length ? String(end) : null }
}

const document = { body: { dataset: {} }, hidden: false }

vi.useFakeTimers()
installBrowser({
  document,
  fetch: async (path: string, { body }: { readonly body: string }) => {
    const name = path.split("/").at(-1) ?? ""
    calls.push(name)
    if (errors-- > 0) return Response.json({ error: { message: "Retry after 60 s." } }, { status: 429 })
    return Response.json(respond(name, JSON.parse(body)))
  }
})

const { resetState, state } = await import("../../page/store.mjs")
const { noteReceived } = await import("../../page/inbox/announcements.mjs")
const { loadConversations, loadMoreConversations, refreshConversation, refreshInbox } = await import(
  "../../page/inbox/conversations.mjs"
)

const ids = Array.from({ length: 300 }, (_, index) => `c${index}`)

/** Reports changed conversations, and waits until the page has read them. */
const refresh = async (changed: ReadonlyArray<string>) => {
  calls.splice(0)
  for (const id of changed) refreshConversation(id)
  await vi.advanceTimersByTimeAsync(60_000)
}

const shown = () => state.conversations.map(({ id, last_activity_preview }) => [id, last_activity_preview])

/** Checks that the page shows the start of the service's list, without a gap. */
const assertCurrent = () =>
  assert.deepStrictEqual(
    shown(),
    listed(state.filter).slice(0, shown().length).map(({ id, last_activity_preview }) => [id, last_activity_preview])
  )

beforeEach(async () => {
  await vi.advanceTimersByTimeAsync(60_000)
  resetState()
  Object.assign(document, { hidden: false })
  errors = 0
  for (const id of ids) change(id, "open", "first")
  await loadConversations("open")
  await loadMoreConversations()
  assert.lengthOf(state.conversations, 200)
})

for (const count of [1, 2, 7, 160, 300]) {
  it(`${count} closed conversations leave the list`, async () => {
    const closed = listed("open").slice(0, count).map(({ id }) => id)
    for (const id of closed) change(id, "closed", "first")
    await refresh(closed)
    assertCurrent()
    assert.strictEqual(shown().length > 0, count < 300)
  })

  it(`${count} conversations with new messages are at the top of the list`, async () => {
    const changed = listed("open").slice(-count).map(({ id }) => id)
    for (const id of changed) change(id, "open", "second")
    await refresh(changed)
    assertCurrent()
    assert.isAtLeast(shown().length, 100)
    assert.lengthOf(calls, 1)
  })
}

it("messages of several customers need one call for the list, and one for the open conversation", async () => {
  const [open, ...others] = listed("open").slice(50, 54)
  Object.assign(state, { conversation: open })
  const changed = [open, ...others].map((conversation) => conversation?.id ?? "")
  for (const id of changed) change(id, "open", "second")
  await refresh(changed)
  assert.deepStrictEqual(calls, ["conversations", "messages"])
  assert.strictEqual(state.conversation?.last_activity_preview, "second")
  assertCurrent()
})

it("a minute of messages needs at most half of the requests of a key", async () => {
  calls.splice(0)
  Object.assign(state, { conversation: listed("open")[0] })
  for (let second = 0; second < 60; second++) {
    for (const { id } of listed("open").slice(0, 3)) {
      change(id, "open", `second ${second}`)
      refreshConversation(id)
    }
    await vi.advanceTimersByTimeAsync(1000)
  }
  assert.isAtMost(calls.length, 60)
  await vi.advanceTimersByTimeAsync(10_000)
  assertCurrent()
})

it("a rejected read shows its error, and is repeated", async () => {
  errors = 1
  change("c1", "open", "second")
  refreshConversation("c1")
  await vi.advanceTimersByTimeAsync(100)
  assert.strictEqual(state.error, "Retry after 60 s.")
  await vi.advanceTimersByTimeAsync(10_000)
  assertCurrent()
})

it("a received message is announced after a rejected read", async () => {
  errors = 1
  change("c1", "open", "Are you there?")
  noteReceived("c1")
  refreshConversation("c1")
  await vi.advanceTimersByTimeAsync(100)
  assert.deepStrictEqual([state.error, state.announcement], ["Retry after 60 s.", ""])
  await vi.advanceTimersByTimeAsync(10_000)
  assert.include(state.announcement, "Are you there?")
})

it("a list whose first page is rejected is read again", async () => {
  errors = 2
  await loadConversations("open")
  assert.strictEqual(state.error, "Retry after 60 s.")
  await vi.advanceTimersByTimeAsync(10_000)
  assert.lengthOf(state.conversations, 100)
  assertCurrent()
})

it("an inbox that is not visible reads nothing until it is", async () => {
  for (
    const hide of [() => Object.assign(state, { view: "events" }), () => Object.assign(document, { hidden: true })]
  ) {
    hide()
    change("c1", "open", "second")
    await refresh(["c1"])
    assert.deepStrictEqual(calls, [])
    Object.assign(state, { view: "inbox" })
    Object.assign(document, { hidden: false })
    refreshInbox()
    await vi.advanceTimersByTimeAsync(60_000)
    assertCurrent()
  }
})
