/** The conversations that wait for an answer: from events, and after a reload from their newest messages. */
import { assert, describe, it } from "@effect/vitest"
import { vi } from "vitest"
import { unknownOf, waitingIds, withMessage, withStatuses } from "../../page/inbox/waiting.mjs"
import { installBrowser } from "./Browser.ts"

const at = (minute: number) => new Date(minute * 60_000).toISOString()

const conversation = (id: string, minute: number, status = "open") => ({
  id,
  status,
  last_activity_at: at(minute),
  reply_window_expires_at: at(1440) as string | null
})

const received = (minute: number) => ({ at: at(minute), isInbound: true })
const sent = (minute: number) => ({ at: at(minute), isInbound: false })

describe("a conversation waits for an answer", () => {
  const waiting = withMessage(new Map(), "c1", received(5))

  it("from the message of its contact until a later one is sent", () => {
    assert.deepStrictEqual(waitingIds(waiting), ["c1"])
    assert.deepStrictEqual(waitingIds(withMessage(waiting, "c1", sent(4))), ["c1"])
    assert.deepStrictEqual(waitingIds(withMessage(waiting, "c1", sent(6))), [])
  })

  it("unless it is closed, or its newest message is not known", () => {
    assert.deepStrictEqual(waitingIds(withStatuses(waiting, [conversation("c1", 5)])), ["c1"])
    const closed = withStatuses(waiting, [conversation("c1", 5, "closed")])
    assert.deepStrictEqual(waitingIds(closed), [])
    assert.deepStrictEqual(waitingIds(withMessage(closed, "c1", received(6))), ["c1"])
    assert.deepStrictEqual(waitingIds(withStatuses(waiting, [conversation("c1", 6)])), [])
  })

  it("which is read for the first conversations whose contact has written", () => {
    const listed = [
      conversation("c1", 5),
      conversation("closed", 4, "closed"),
      { ...conversation("silent", 3), reply_window_expires_at: null },
      ...Array.from({ length: 30 }, (_, index) => conversation(`d${index}`, 2))
    ]
    const unknown = unknownOf(waiting, listed).map(({ id }) => id)
    assert.deepStrictEqual(unknown, Array.from({ length: 17 }, (_, index) => `d${index}`))
  })
})

describe("after the page is loaded", () => {
  const listed = [conversation("c1", 9), conversation("c2", 8), conversation("c3", 7), conversation("c4", 6)]
  const newest = [
    { id: "c1", created_at: at(9), direction: "inbound" },
    { id: "c2", created_at: at(8), direction: "outbound" },
    { id: "c3", created_at: null, direction: null },
    { id: "c4", created_at: at(10), direction: "inbound" }
  ]
  vi.useFakeTimers()
  const calls: Array<string> = []
  installBrowser({
    fetch: async (path: string) => {
      calls.push(path)
      return Response.json(path.endsWith("/newestMessages") ? newest : { data: listed, next_cursor: null })
    }
  })

  it("the newest messages are read once", async () => {
    const { state } = await import("../../page/store.mjs")
    const { loadConversations } = await import("../../page/inbox/conversations.mjs")
    for (const _ of ["first", "again"]) {
      await loadConversations("open")
      await vi.advanceTimersByTimeAsync(10_000)
      assert.deepStrictEqual(waitingIds(state.newest), ["c1", "c4"])
    }
    assert.lengthOf(calls.filter((path) => path.endsWith("/newestMessages")), 1)
  })

  it("the newest messages are read as soon as the list is, also if the page was refreshed before", async () => {
    const { resetState, state } = await import("../../page/store.mjs")
    const { loadConversations, refreshInbox } = await import("../../page/inbox/conversations.mjs")
    resetState()
    refreshInbox()
    await vi.advanceTimersByTimeAsync(300)
    await loadConversations("open")
    await vi.advanceTimersByTimeAsync(100)
    assert.deepStrictEqual(waitingIds(state.newest), ["c1", "c4"])
  })
})
