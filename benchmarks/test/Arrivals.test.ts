import { assert, it } from "@effect/vitest"
import { firstArrivals } from "../src/harness/Arrivals.ts"

it("only the first arrival of an event counts", () => {
  const posts = [["a", 1], ["b", 2], ["a", 3], ["c", 4], ["b", 5]] as const
  const arrivals = firstArrivals(posts.map(([event_id, at]) => ({ event_id, at })))
  assert.deepStrictEqual(new Map(arrivals), new Map([["a", 1], ["b", 2], ["c", 4]]))
  assert.deepStrictEqual(firstArrivals([]), [])
})
