/** The page's IDs of changed conversations: a failed read loses none. */
import { assert, it } from "@effect/vitest"
import { collectIds } from "../../page/inbox/collectIds.mjs"

it("IDs are passed once, and again after a failed read", async () => {
  const reads: Array<ReadonlyArray<string>> = []
  const { add, readAll } = collectIds(async (ids) => {
    reads.push(ids)
    if (reads.length === 1) {
      add("c2")
      throw new Error("The server is unavailable.")
    }
  })
  add("c1")
  add("c1")
  const error = await readAll().catch((error: unknown) => error)
  assert.instanceOf(error, Error)
  await readAll()
  await readAll()
  assert.deepStrictEqual(reads.map((ids) => ids.toSorted()), [["c1"], ["c1", "c2"], []])
})
