/** The page's list of conversations that have changed: a failed read loses none. */
import { assert, it } from "@effect/vitest"

type CollectIds = (read: (ids: ReadonlyArray<string>) => Promise<void>) => {
  readonly add: (id: string) => void
  readonly readAll: () => Promise<void>
}

// The page's scripts have a type check of their own, so an import by name has no types here.
const page: { readonly collectIds: CollectIds } = await import(new URL("../page/changed.mjs", import.meta.url).href)
const { collectIds } = page

it("passes ids once, and again after a failed read", async () => {
  const reads: Array<ReadonlyArray<string>> = []
  const { add, readAll } = collectIds(async (ids) => {
    reads.push(ids)
    if (reads.length === 1) {
      add("c2")
      throw new Error("The server is away.")
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
