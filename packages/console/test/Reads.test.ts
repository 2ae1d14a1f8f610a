/** Responses that arrive late or not at all, and two clicks, on the page. */
import { assert, it } from "@effect/vitest"
import { afterAll, beforeEach, vi } from "vitest"

interface Page {
  readonly data: ReadonlyArray<{ readonly id: string }>
  readonly next_cursor: string | null
}

const waiting: Array<(response: Page | Error) => void> = []

/** Responds to the first call that waits. */
const respond = async (response: Page | Error) => {
  await vi.waitUntil(() => waiting.length > 0)
  waiting.shift()?.(response)
}

const stubBrowser = () => {
  vi.stubGlobal("document", {
    body: { dataset: {} },
    createTreeWalker: () => ({}),
    querySelector: () => ({ scrollTop: 0, scrollHeight: 100 })
  })
  vi.stubGlobal("requestAnimationFrame", () => 0)
  vi.stubGlobal("fetch", async () => {
    const response = await new Promise<Page | Error>((resolve) => waiting.push(resolve))
    if (response instanceof Error) throw response
    return Response.json(response)
  })
}

// The page's scripts and lit-html read these when they are loaded.
stubBrowser()
beforeEach(() => {
  stubBrowser()
  waiting.splice(0)
})
afterAll(() => void vi.unstubAllGlobals())

// The page's scripts have a type check of their own, so an import by name has no types here.
const pageOf = (name: string) => import(new URL(`../page/${name}.mjs`, import.meta.url).href)
const { oneAtATime } = await pageOf("throttle")
const { state } = await pageOf("store")
const { loadConversations } = await pageOf("inbox")
const { loadOlder } = await pageOf("thread")

const page = (ids: ReadonlyArray<string>, next_cursor: string | null): Page => ({
  data: ids.map((id) => ({ id })),
  next_cursor
})
const idsOf = (items: ReadonlyArray<{ readonly id: string }>) => items.map(({ id }) => id)

it("a page of conversations that arrives after the list began again is dropped", async () => {
  const earlier = loadConversations()
  await vi.waitUntil(() => waiting.length > 0)
  const respondEarlier = waiting.shift()
  const later = loadConversations()
  respondEarlier?.(page(["old"], "cursor of the old list"))
  await earlier
  assert.isTrue(state.isLoading)
  await respond(page(["new"], "2"))
  await later
  assert.deepStrictEqual([idsOf(state.conversations), state.cursor, state.isLoading], [["new"], "2", false])
})

it("older messages can be read again after a failure", async () => {
  Object.assign(state, { conversation: { id: "c1" }, messages: [{ id: "m2" }], olderCursor: "before m2" })
  const failing = loadOlder()
  await respond(new Error("offline"))
  await failing
  assert.strictEqual(state.olderCursor, "before m2")
  const reading = loadOlder()
  await respond(page(["m1"], null))
  await reading
  assert.deepStrictEqual([idsOf(state.messages), state.olderCursor], [["m1", "m2"], null])
})

it("older messages that arrive after the newest ones were read anew are dropped", async () => {
  Object.assign(state, { conversation: { id: "c1" }, messages: [{ id: "m2" }], olderCursor: "before m2" })
  const reading = loadOlder()
  await vi.waitUntil(() => waiting.length > 0)
  Object.assign(state, { messages: [{ id: "m9" }], olderCursor: "before m9" })
  await respond(page(["m1"], null))
  await reading
  assert.deepStrictEqual([idsOf(state.messages), state.olderCursor], [["m9"], "before m9"])
})

it("an action that runs is not started again, and can be after it has failed", async () => {
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
