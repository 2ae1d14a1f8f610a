import { assert, it } from "@effect/vitest"
import * as Limits from "../src/harness/Limits.ts"

it("callbacks violate a limit when they are slow, late, lost, or accepted without a signature, or need memory", () => {
  const within: Limits.Ingress = {
    statuses: { 200: 1000 },
    response: { p99_ms: 249.9 },
    drain_ms: 4999,
    messages: { posted: 250, stored: 250 },
    mutated: { signed: { 200: 4000, 400: 1000 }, unsigned: { 401: 10_000 } },
    memory_mib: { rest: 150, peak: 249 }
  }
  assert.deepStrictEqual(Limits.ingressViolations(within), [])
  const violated: ReadonlyArray<readonly [Partial<Limits.Ingress>, string]> = [
    [{ statuses: { 200: 999, 0: 1 } }, "a signed post"],
    [{ response: { p99_ms: 250 } }, "the 99th percentile"],
    [{ response: { p99_ms: NaN } }, "the 99th percentile"],
    [{ drain_ms: 5000 }, "too late"],
    [{ messages: { posted: 250, stored: 249 } }, "stored once"],
    [{ messages: { posted: 250, stored: 251 } }, "stored once"],
    [{ mutated: { ...within.mutated, signed: { 200: 4999, 500: 1 } } }, "200 or 400"],
    [{ mutated: { ...within.mutated, unsigned: { 401: 9999, 200: 1 } } }, "not rejected"],
    [{ memory_mib: { rest: 150, peak: 250 } }, "memory"]
  ]
  for (const [measured, text] of violated) {
    const violations = Limits.ingressViolations({ ...within, ...measured })
    assert.lengthOf(violations, 1)
    assert.include(violations[0], text)
  }
})

it("an attack is within its limits if it reached its target, others' requests stay fast, and memory and sockets are released", () => {
  const within = { p99_ms: 499, failed: 0, grown_mib: 99, reached: true, released: true }
  const cases = [
    [{}, true, true],
    [{ p99_ms: 500 }, false, false],
    [{ p99_ms: NaN }, false, false],
    [{ failed: 1 }, false, false],
    [{ reached: false }, false, false],
    [{ released: false }, false, false],
    [{ grown_mib: 100 }, false, true],
    [{ grown_mib: 150 }, false, false]
  ] as const
  for (const [measured, warm, cold] of cases) {
    assert.strictEqual(Limits.isAttackWithin({ ...within, ...measured }, false), warm)
    assert.strictEqual(Limits.isAttackWithin({ ...within, ...measured }, true), cold)
  }
})

it("upserts are within their limits if they are fast, and each person has one contact", () => {
  const once = [{ contacts: 120, people: 120 }, 120] as const
  const cases = [
    [24.9, [once], true],
    [25, [once], false],
    [NaN, [once], false],
    [1, [once, [{ contacts: 401, people: 400 }, 400]], false],
    [1, [[{ contacts: 119, people: 119 }, 120]], false]
  ] as const
  for (const [updates, groups, expected] of cases) {
    assert.strictEqual(Limits.areUpsertsWithin(updates, groups), expected)
  }
})

it("a delivery is within its limit if it arrives within 5 seconds", () => {
  assert.deepStrictEqual([0, 5000, 5000.1, NaN].map(Limits.isDeliveryWithin), [true, true, false, false])
})
