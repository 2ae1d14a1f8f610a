import { assert, it } from "@effect/vitest"
import { Pages } from "../src/Pages.ts"

it("toArray without a limit names what is missing, and requests nothing", async () => {
  let requests = 0
  const pages = new Pages<number>(() => {
    requests++
    return Promise.reject(new Error("unexpected"))
  })
  // A program in JavaScript can call it so.
  const calls: ReadonlyArray<ReadonlyArray<unknown>> = [[], [{}], [10], [null], [{ limit: "10" }], [{
    limit: Number.NaN
  }]]
  for (const given of calls) {
    const failure: unknown = await Reflect.apply(pages.toArray, pages, given).catch((error: unknown) => error)
    assert.instanceOf(failure, TypeError)
    assert.strictEqual(failure.message, "limit must be a number. Call toArray({ limit: 100 }).")
  }
  assert.strictEqual(requests, 0)
  assert.deepStrictEqual(await pages.toArray({ limit: 0 }), [])
})
