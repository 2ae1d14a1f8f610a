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

it("uses a bounded amount of memory: above 10,000 keys, the others share one count", () => {
  const limit = new MinuteLimit(2)
  for (let key = 0; key < 10_000; key++) limit.count(String(key), 0)
  assert.deepStrictEqual([limit.count("x", 0), limit.count("y", 0), limit.count("z", 0)], [0, 0, 60])
  assert.deepStrictEqual([limit.count("9999", 0), limit.count("9999", 0)], [0, 60])
})
