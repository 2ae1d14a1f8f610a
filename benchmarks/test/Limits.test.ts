import { assert, it } from "@effect/vitest"
import * as Limits from "../src/harness/Limits.ts"

it("followers are within their limits if they are fast, and receive each event once", () => {
  const within = { missing: 0, p99_ms: 299, repeated: 0 }
  assert.isTrue(Limits.areFollowersWithin([within, within]))
  for (const exceeded of [{ missing: 1 }, { p99_ms: 300 }, { p99_ms: NaN }, { repeated: 1 }]) {
    assert.isFalse(Limits.areFollowersWithin([within, { ...within, ...exceeded }]))
  }
})

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
  const within = {
    reads_p99_ms: 299,
    writes_p99_ms: 499,
    callbacks_max_ms: 4999,
    grown_mib: 149,
    failed: 0,
    reached: true,
    released: true
  }
  const cases = [
    [{}, true],
    [{ reads_p99_ms: 300 }, false],
    [{ reads_p99_ms: NaN }, false],
    [{ writes_p99_ms: 500 }, false],
    [{ writes_p99_ms: NaN }, false],
    [{ callbacks_max_ms: 5000 }, false],
    [{ grown_mib: 150 }, false],
    [{ failed: 1 }, false],
    [{ reached: false }, false],
    [{ released: false }, false]
  ] as const
  for (const [measured, expected] of cases) {
    assert.strictEqual(Limits.isAttackWithin({ ...within, ...measured }), expected, JSON.stringify(measured))
  }
})

it("upserts are within their limits if they are fast, each person has one contact, and one was interrupted", () => {
  const within: Limits.Upserts = {
    times: { updates_per_upsert: 24.9 },
    concurrent: { contacts: 120, people: 120 },
    killed: { contacts: 300, people: 300 },
    retried: { contacts: 400, people: 400 }
  }
  const cases: ReadonlyArray<readonly [Partial<Limits.Upserts>, boolean]> = [
    [{}, true],
    [{ times: { updates_per_upsert: 25 } }, false],
    [{ times: { updates_per_upsert: NaN } }, false],
    [{ concurrent: { contacts: 119, people: 119 } }, false],
    [{ concurrent: { contacts: 121, people: 120 } }, false],
    [{ retried: { contacts: 401, people: 400 } }, false],
    [{ retried: { contacts: 400, people: 399 } }, false],
    [{ killed: { contacts: 400, people: 400 } }, false]
  ]
  for (const [measured, expected] of cases) {
    const sizes = { concurrent: 120, interrupted: 400 }
    assert.strictEqual(Limits.areUpsertsWithin({ ...within, ...measured }, sizes), expected, JSON.stringify(measured))
  }
})

it("fairness requires every delivery, in time, and that the slow endpoints received some", () => {
  const within = { case: "three at one host", deliveries: 33, p95_ms: 2000, max_ms: 5001, slow_posts: 1 } as const
  const cases = [
    [{}, true],
    [{ p95_ms: 2001 }, false],
    [{ p95_ms: NaN }, false],
    [{ deliveries: 32 }, false],
    [{ slow_posts: 0 }, false],
    [{ case: "another organization" }, false],
    [{ case: "another organization", p95_ms: 5000, max_ms: 5000 }, true]
  ] as const
  for (const [measured, expected] of cases) {
    assert.strictEqual(Limits.isFairnessWithin({ ...within, ...measured }, 33), expected, JSON.stringify(measured))
  }
})

it("contention is within its limits without a lost or rejected update, without a deadlock, and if webhooks hardly affect commits", () => {
  const cases = [
    [0, 0, 0, 1.49, true],
    [1, 0, 0, 1, false],
    [0, 1, 0, 1, false],
    [0, 0, 1, 1, false],
    [0, 0, 0, 1.5, false],
    [0, 0, 0, NaN, false]
  ] as const
  for (const [lost, rejected, deadlocks, ratio, expected] of cases) {
    const measured = { commits: { ratio }, lost_updates: { lost, rejected }, one_organization: { deadlocks } }
    assert.strictEqual(Limits.isContentionWithin(measured), expected)
  }
})
