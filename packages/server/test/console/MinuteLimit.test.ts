import { assert, it } from "@effect/vitest"
import { MinuteLimit } from "../../src/console/MinuteLimit.ts"

it("counts each key by itself, and starts over with each minute", () => {
  const limit = new MinuteLimit(2)
  const count = (key: string, seconds: number) => limit.count(key, seconds * 1000)
  assert.deepStrictEqual([count("a", 0), count("a", 10), count("a", 15.5)], [0, 0, 45])
  assert.strictEqual(count("b", 59), 0)
  assert.strictEqual(count("a", 59.999), 1)
  assert.deepStrictEqual([count("a", 60), count("a", 119), count("a", 119)], [0, 0, 1])
})

it("uses a bounded amount of memory: above 10,000 keys it forgets one, and none uses up the count of another", () => {
  const limit = new MinuteLimit(2)
  const flood = (name: string) => {
    for (let key = 0; key < 10_000; key++) limit.count(`${name}${key}`, 0)
  }
  flood("a")
  assert.deepStrictEqual(["x", "y", "z"].map((key) => limit.count(key, 0)), [0, 0, 0])
  assert.deepStrictEqual([limit.count("x", 0), limit.count("x", 0)], [0, 60])
  flood("b")
  assert.strictEqual(limit.count("x", 0), 0)
})
