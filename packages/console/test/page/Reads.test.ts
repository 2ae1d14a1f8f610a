/** Late and failed responses to the page, and double clicks. */
import { assert, it } from "@effect/vitest"
import { beforeEach, vi } from "vitest"
import { installBrowser } from "./Browser.ts"

interface Page {
  readonly data: ReadonlyArray<{ readonly id: string }>
  readonly next_cursor: string | null
}

const pending: Array<(response: Page | Error) => void> = []

/** Responds to the first pending call. */
const respond = async (response: Page | Error) => {
  await vi.waitUntil(() => pending.length > 0)
  pending.shift()?.(response)
}

installBrowser({
  fetch: async () => {
    const response = await new Promise<Page | Error>((resolve) => pending.push(resolve))
    if (response instanceof Error) throw response
    return Response.json(response)
  }
})
beforeEach(() => void pending.splice(0))

const { oneAtATime } = await import("../../page/elements/throttle.mjs")
const { resetState, state } = await import("../../page/store.mjs")
const { loadConversations } = await import("../../page/inbox/conversations.mjs")
const { loadOlderMessages } = await import("../../page/inbox/openConversation.mjs")

const page = (ids: ReadonlyArray<string>, next_cursor: string | null): Page => ({
  data: ids.map((id) => ({ id })),
  next_cursor
})
/** The state of a page with an open conversation that has older messages. */
const opened = {
  conversation: { id: "c1", contact: { id: "p1" } },
  messages: [{ id: "m2" }],
  olderCursor: "before m2"
}
const idsOf = (items: ReadonlyArray<{ readonly id: string }>) => items.map(({ id }) => id)

it("a page of conversations that arrives after the list was started again is dropped", async () => {
  const earlier = loadConversations()
  await vi.waitUntil(() => pending.length > 0)
  const respondEarlier = pending.shift()
  const later = loadConversations()
  respondEarlier?.(page(["old"], "cursor of the old list"))
  await earlier
  assert.isTrue(state.isLoading)
  await respond(page(["new"], "2"))
  await later
  assert.deepStrictEqual([idsOf(state.conversations), state.cursor, state.isLoading], [["new"], "2", false])
})

it("older messages can be read again after a failure", async () => {
  resetState(opened)
  const failing = loadOlderMessages()
  await respond(new Error("offline"))
  await failing
  assert.strictEqual(state.olderCursor, "before m2")
  const reading = loadOlderMessages()
  await respond(page(["m1"], null))
  await reading
  assert.deepStrictEqual([idsOf(state.messages), state.olderCursor], [["m1", "m2"], null])
})

it("older messages that arrive after a new read of the newest ones are dropped", async () => {
  resetState(opened)
  const reading = loadOlderMessages()
  await vi.waitUntil(() => pending.length > 0)
  Object.assign(state, { messages: [{ id: "m9" }], olderCursor: "before m9" })
  await respond(page(["m1"], null))
  await reading
  assert.deepStrictEqual([idsOf(state.messages), state.olderCursor], [["m9"], "before m9"])
})

it("older messages that arrive after another conversation is opened are dropped, and so is their failure", async () => {
  for (const response of [page(["m1"], null), new Error("offline")]) {
    resetState(opened)
    const reading = loadOlderMessages()
    await vi.waitUntil(() => pending.length > 0)
    Object.assign(state, {
      conversation: { id: "c2", contact: { id: "p2" } },
      messages: [{ id: "m5" }],
      olderCursor: null
    })
    await respond(response)
    await reading
    assert.deepStrictEqual([idsOf(state.messages), state.olderCursor], [["m5"], null])
  }
})

it("older messages are read once while their page is read", async () => {
  resetState(opened)
  const reading = loadOlderMessages()
  await loadOlderMessages()
  assert.lengthOf(pending, 1)
  await respond(page(["m1"], "before m1"))
  await reading
  assert.deepStrictEqual([idsOf(state.messages), state.olderCursor], [["m1", "m2"], "before m1"])
})

it("a running action is not started again, and a failed one can be", async () => {
  let runs = 0
  const submit = oneAtATime(async () => {
    runs++
    await Promise.resolve()
    throw new Error("rejected")
  })
  const [first, second] = [submit(), submit()]
  await second
  const rejected = await first.then(() => "ended", String)
  assert.deepStrictEqual([runs, rejected], [1, "Error: rejected"])
  await submit().catch(() => undefined)
  assert.strictEqual(runs, 2)
})
