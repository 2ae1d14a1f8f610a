import { assert, describe, it } from "@effect/vitest"
import * as Arguments from "../src/harness/Arguments.ts"

describe("numbers", () => {
  const defaults = { seconds: 30, per_second: Infinity }

  it("have their position, or their default", () => {
    assert.deepStrictEqual(Arguments.numbers(defaults, []), defaults)
    assert.deepStrictEqual(Arguments.numbers(defaults, ["0.5"]), { ...defaults, seconds: 0.5 })
    assert.deepStrictEqual(Arguments.numbers(defaults, ["5", "60"]), { seconds: 5, per_second: 60 })
  })

  it("are positive, and at most as many as there are names", () => {
    for (const text of ["", "3O", "0", "-1", "NaN", "Infinity", "--quick"]) {
      assert.throws(
        () => Arguments.numbers(defaults, ["5", text]),
        `per_second must be a positive number, not ${JSON.stringify(text)}.`
      )
    }
    assert.throws(() => Arguments.numbers(defaults, ["5", "60", "7"]), "at most: seconds, per_second.")
  })
})

it("the selected names are known, and all of them without arguments", () => {
  const select = (...texts: ReadonlyArray<string>) => Arguments.select("workloads", ["read", "list", "send"], texts)
  assert.deepStrictEqual(select(), ["read", "list", "send"])
  assert.deepStrictEqual(select("send", "read"), ["read", "send"])
  assert.throws(() => select("read", "raed"), "workloads must be among read, list, send, not \"raed\".")
})
