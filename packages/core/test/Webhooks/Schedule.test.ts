/** When a webhook is tried again, paused, and disabled (contract §14.3, §14.9). */
import { assert, describe, it } from "@effect/vitest"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { Arbitrary, DateTime, Duration, Option, Schema } from "effect"
import { delays, nextAttempt } from "../../src/deliveries/WebhookDelivery.ts"
import { attemptsAtOnce, yieldHost } from "../../src/deliveries/WebhookOutcome.ts"
import { breaker, disable_after, healthy, pauseOf, recordFailure, shouldDisable } from "../../src/webhooks/Webhook.ts"

const noon = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")

/** The delay until the next attempt in milliseconds, or null after the last. */
const delayOf = (attempts: number, retry_after: Duration.Duration | null = null, random = 0.5): number | null =>
  Option.getOrNull(
    nextAttempt(attempts, noon, retry_after, random).pipe(
      Option.map((at) => at.epochMilliseconds - noon.epochMilliseconds)
    )
  )

describe("the next attempt", () => {
  it("comes after 5 s, 5 and 30 minutes, and 2 to 24 hours; there are ten", () => {
    const minute = 60_000
    const expected = [
      5000,
      5 * minute,
      30 * minute,
      ...[2, 5, 10, 14, 20, 24].map((hours) => hours * 60 * minute),
      null
    ]
    assert.deepStrictEqual(expected.map((_, index) => delayOf(index + 1)), expected)
  })

  it("is up to 10 % earlier or later, except the second", () => {
    assert.deepStrictEqual([delayOf(1, null, 0), delayOf(1, null, 1)], [5000, 5000])
    assert.deepStrictEqual([delayOf(2, null, 0), delayOf(2, null, 1)], [270_000, 330_000])
    assert.deepStrictEqual([delayOf(9, null, 0), delayOf(9, null, 1)], [21.6 * 3_600_000, 26.4 * 3_600_000])
  })

  it.prop("waits as long as the endpoint requests, up to twice the usual delay or an hour", {
    attempts: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })),
    asked: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 200_000_000 })),
    thousandths: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })))
  }, ({ asked, attempts, thousandths }) => {
    const random = thousandths / 1000
    const usual = delayOf(attempts, null, random) ?? assert.fail("There is another attempt.")
    const most = Math.max(2 * Duration.toMillis(delays[attempts - 1] ?? 0), 3_600_000)
    assert.strictEqual(delayOf(attempts, Duration.millis(asked), random), Math.min(Math.max(asked, usual), most))
    assert.isTrue(Number.isInteger(usual))
  })

  it("yields to other attempts at the host for 5 to 15 seconds", () => {
    const claimed = {
      organization_id: OrganizationId.make("01990000-0000-7000-8000-000000000001"),
      kind: "webhook_delivery" as const,
      lane: "lane",
      ref: "ref",
      attempt: 1,
      defects: 0,
      token: "token",
      lane_cap: 16,
      trace: null
    }
    for (const [random, seconds] of [[0, 5], [0.55, 10], [0.999, 14]] as const) {
      assert.deepStrictEqual(yieldHost(claimed, noon, random), {
        settle: { claimed, outcome: "postpone", due_at: DateTime.add(noon, { seconds }) }
      })
    }
  })
})

describe("a failing endpoint", () => {
  /** The health after so many failures, an hour apart. */
  const after = (failures: number) =>
    Array.from({ length: failures }, (_, hours) => DateTime.add(noon, { hours })).reduce(recordFailure, healthy)

  it("counts its failures from the first", () => {
    assert.deepStrictEqual(after(3), { consecutive_failures: 3, first_failure_at: noon })
  })

  it("pauses its webhook from the fifth failure, for 30 s, doubled up to 10 minutes", () => {
    const pauses = [0, 4, 5, 6, 7, 8, 9, 10, 11, 50].map((failures) => pauseOf(after(failures)))
    assert.deepStrictEqual(
      pauses.map((pause) => pause && Duration.toSeconds(pause)),
      [null, null, 30, 60, 120, 240, 480, 600, 600, 600]
    )
    assert.strictEqual(breaker.failures_min, 5)
  })

  it("disables its webhook after five days and ten failures", () => {
    const first_failure_at = noon
    const days = (days: number) => DateTime.add(noon, { days })
    const isDisabled = (consecutive_failures: number, now: DateTime.Utc) =>
      shouldDisable({ consecutive_failures, first_failure_at }, now)
    assert.deepStrictEqual([isDisabled(10, days(5)), isDisabled(11, days(9))], [true, true])
    assert.deepStrictEqual([isDisabled(9, days(9)), isDisabled(10, DateTime.subtract(days(5), { seconds: 1 }))], [
      false,
      false
    ])
    assert.isFalse(shouldDisable({ consecutive_failures: 10, first_failure_at: null }, days(9)))
    assert.isFalse(shouldDisable(healthy, days(9)))
    assert.strictEqual(disable_after.failures_min, 10)
  })

  it("gets 16 attempts at once, divided by the seconds that it took, and one at least", () => {
    const cases = [[0, 16], [999, 16], [1000, 16], [1001, 15], [2000, 8], [3000, 5], [8000, 2], [15_000, 1]] as const
    for (const [duration_ms, attempts] of cases) assert.strictEqual(attemptsAtOnce({ duration_ms }), attempts)
  })
})
