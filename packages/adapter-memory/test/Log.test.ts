/** A list that states share: each state keeps its own entries, whatever others append. */
import { assert, it } from "@effect/vitest"
import { Array, Order } from "effect"
import * as Log from "../src/world/Log.ts"

const entriesOf = (log: Log.Log<number>) => Log.from(log, () => false, log.length)

it("an older state is unchanged by what newer ones append, and can be continued", () => {
  const old = Log.append(Log.empty<number>(), [1, 2])
  const newer = Log.append(old, [3])
  const other = Log.append(old, [4, 5])
  const newest = Log.append(newer, [6])
  assert.deepStrictEqual([old, newer, other, newest].map(entriesOf), [[1, 2], [1, 2, 3], [1, 2, 4, 5], [1, 2, 3, 6]])
  assert.deepStrictEqual([Log.empty<number>(), old, other, newest].map(Log.last), [undefined, 2, 5, 6])
  assert.strictEqual(newest.entries, old.entries)
})

it("a page begins with the first entry that is not before a position", () => {
  for (let length = 0; length < 9; length++) {
    const log = Log.append(Log.append(Log.empty<number>(), Array.makeBy(length, (index) => 2 * index)), [])
    Log.append(log, [99])
    for (let position = -1; position < 20; position++) {
      const expected = entriesOf(log).filter((entry) => entry >= position)
      for (const size of [0, 1, 3, 20]) {
        const found = Log.from(log, (entry) => Order.Number(entry, position) < 0, size)
        assert.deepStrictEqual(found, expected.slice(0, size))
      }
    }
  }
})

it("a filtered list has the entries of its own state only", () => {
  const log = Log.append(Log.empty<number>(), [1, 2, 3, 4])
  Log.append(log, [5])
  const even = Log.filter(log, (entry) => entry % 2 === 0)
  assert.deepStrictEqual([entriesOf(even), entriesOf(Log.append(even, [6]))], [[2, 4], [2, 4, 6]])
})
