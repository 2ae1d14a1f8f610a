/** The effects of an attempt's outcome on the send, the log, and the metric (contract §12.4, §12.10). */
import { assert, describe, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Provider from "@messaging-crm/conformance/Provider"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ChannelHolds } from "@messaging-crm/core/ChannelHolds"
import {
  ProviderBusy,
  ProviderHeld,
  ProviderOutcomeUnknown,
  ProviderRejected
} from "@messaging-crm/core/MessagingProvider"
import { send_attempts } from "@messaging-crm/core/Metrics"
import { Phone } from "@messaging-crm/core/Phones"
import { Sends, StartConversation } from "@messaging-crm/core/Sends"
import { Worker } from "@messaging-crm/core/Worker"
import { Effect, Fiber, Layer, Logger, Metric, References } from "effect"
import { TestClock } from "effect/testing"

const world = Layer.fresh(Provider.crm(Memory.layer))

const work = Effect.repeat(Worker.use(({ runOnce }) => runOnce), { until: (items) => items === 0 })

/** An organization with a channel, and sends to numbers on it. */
const scene = Effect.gen(function*() {
  const organization_id = yield* Fixtures.organization
  const { id: channel_id } = yield* Fixtures.channel(organization_id)
  const as = Effect.provideService(CurrentActor, { organization_id, member_id: null })
  const { respond } = yield* Provider.ScriptedProvider
  let sends = 10
  const start = Effect.suspend(() =>
    Sends.use((all) =>
      all.start(StartConversation.make({
        channel_id,
        phone: Phone.make(`+49151123456${sends++}`),
        template: { id: "greeting", components: [{ type: "body", parameters: [{ type: "text", text: "Kim" }] }] }
      }))
    )
  ).pipe(as, Effect.orDie)
  const stateOf = ({ id }: Effect.Success<typeof start>) =>
    Sends.use((all) => all.get(id)).pipe(
      as,
      Effect.orDie,
      Effect.map(({ failure_reason, status }) => [status, failure_reason])
    )
  return { respond, as, channel_id, start, stateOf }
})

type SendSeries = (typeof send_attempts.series)[number]

const countOf = (outcome: SendSeries["outcome"], reason: SendSeries["reason"]) =>
  Effect.map(
    Metric.value(send_attempts.of({ outcome, reason })),
    ({ count }) => Number(count)
  )

describe("an attempt", () => {
  const outcomes = [
    [Effect.succeed({ provider_message_id: "p" }), "accepted", "none", ["sent", null]],
    [
      Effect.fail(new ProviderRejected({ reason: "recipient_opted_out" })),
      "rejected",
      "recipient_opted_out",
      ["failed", "recipient_opted_out"]
    ],
    [
      Effect.fail(new ProviderBusy({ reason: "provider_unavailable", retry_after_seconds: null })),
      "busy",
      "provider_unavailable",
      ["queued", null]
    ],
    [Effect.fail(new ProviderHeld({ reason: "provider_auth" })), "held", "provider_auth", ["queued", null]],
    [Effect.fail(new ProviderOutcomeUnknown()), "unknown", "none", ["unknown", null]]
  ] as const
  for (const [outcome, name, reason, state] of outcomes) {
    it.effect(`whose outcome is ${name} leaves its send ${state[0]}, and is counted once`, () =>
      Effect.gen(function*() {
        const { respond, start, stateOf } = yield* scene
        yield* respond(() => outcome)
        const before = yield* countOf(name, reason)
        const send = yield* start
        yield* work
        assert.deepStrictEqual<unknown>(yield* stateOf(send), state)
        assert.strictEqual(yield* countOf(name, reason), before + 1)
      }).pipe(Effect.provide(world)))
  }

  it.effect("that takes 20 seconds has an unknown outcome", () =>
    Effect.gen(function*() {
      const { respond, start, stateOf } = yield* scene
      yield* respond(() => Effect.never)
      const send = yield* start
      const working = yield* Effect.forkChild(work, { startImmediately: true })
      yield* TestClock.adjust("19 seconds")
      assert.deepStrictEqual(yield* stateOf(send), ["sending", null])
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(working)
      assert.deepStrictEqual(yield* stateOf(send), ["unknown", null])
      yield* TestClock.adjust("15 minutes")
      yield* work
      assert.deepStrictEqual(yield* stateOf(send), ["failed", "outcome_unknown"])
    }).pipe(Effect.provide(world)))
})

it.effect("a channel that is paused is logged once, and the sends that met it are sent once it is resumed", () => {
  const logged: Array<object> = []
  const logger = Logger.make(({ fiber, message }) => {
    if (String(message).startsWith("Channel paused")) logged.push(fiber.getRef(References.CurrentLogAnnotations))
  })
  return Effect.gen(function*() {
    const { respond, as, channel_id, start, stateOf } = yield* scene
    yield* respond(() => Effect.fail(new ProviderHeld({ reason: "provider_auth" })))
    const sends = [yield* start, yield* start]
    yield* work
    for (const send of sends) assert.deepStrictEqual(yield* stateOf(send), ["queued", null])
    const [hold, ...others] = yield* ChannelHolds.use(({ list }) => list).pipe(as)
    assert.deepInclude(hold, { channel_id, reason: "provider_auth", until: null })
    assert.deepStrictEqual(others, [])
    assert.lengthOf(logged, 1)
    assert.deepInclude(logged[0], { channel_id, reason: "provider_auth" })
    yield* respond(({ reference }) => Effect.succeed({ provider_message_id: `p.${reference}` }))
    yield* ChannelHolds.use(({ resume }) => resume(channel_id)).pipe(as)
    yield* TestClock.adjust("2 minutes")
    yield* work
    for (const send of sends) assert.deepStrictEqual(yield* stateOf(send), ["sent", null])
  }).pipe(Effect.provide(Layer.merge(world, Logger.layer([logger]))))
})
