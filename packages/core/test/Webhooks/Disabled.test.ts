/** Tests of the log message and the metric about a webhook that its endpoint disabled. */
import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import { ok, ScriptedEndpoints } from "@messaging-crm/conformance/Endpoints"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Provider from "@messaging-crm/conformance/Provider"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import { webhooks_disabled } from "@messaging-crm/core/Metrics"
import { Phone } from "@messaging-crm/core/Phones"
import { Sends, StartConversation } from "@messaging-crm/core/Sends"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { Worker } from "@messaging-crm/core/Worker"
import { Effect, Logger, Metric, References } from "effect"
import { TestClock } from "effect/testing"

const world = Provider.crm(Memory.layer)

const counts = Effect.forEach(
  ["gone", "failing"] as const,
  (reason) => Effect.map(Metric.value(webhooks_disabled.of({ reason })), ({ count }) => Number(count))
)

const url = "https://shop.example/webhook"

it.effect("a webhook that its endpoint disables is logged and counted, once; one that a call disables is not", () => {
  const named: Array<unknown> = []
  const logger = Logger.make(({ fiber, message }) => {
    if (String(message).startsWith("Webhook disabled")) {
      named.push(fiber.getRef(References.CurrentLogAnnotations)["organization_id"])
    }
  })
  const warnings = () => named.length
  return Effect.gen(function*() {
    const organization_id = yield* Fixtures.organization
    const { id: channel_id } = yield* Fixtures.channel(organization_id)
    const { respond } = yield* ScriptedEndpoints
    const as = <A, E, R>(effect: Effect.Effect<A, E, R | CurrentActor>) =>
      effect.pipe(Effect.provideService(CurrentActor, { organization_id, member_id: null }), Effect.orDie)
    const create = as(
      Webhooks.use((all) => all.create(CreateWebhook.make({ url, event_types: ["conversation.closed"] })))
    )
    const components = [{ type: "body" as const, parameters: [{ type: "text" as const, text: "Kim" }] }]
    const raise = as(Effect.gen(function*() {
      const { conversation_id } = yield* Sends.use((sends) =>
        sends.start(StartConversation.make({
          channel_id,
          phone: Phone.make("+4915112345678"),
          template: { id: "greeting", components }
        }))
      )
      yield* Conversations.use((all) => all.close(conversation_id, CloseConversation.make({})))
    }))
    const work = Effect.repeat(Worker.use(({ runOnce }) => runOnce), { until: (items) => items === 0 })
    const [gone = 0, failing = 0] = yield* counts

    yield* respond(url, () => Effect.succeed({ ...ok, status: 410 }))
    yield* create
    yield* Effect.all([raise, raise])
    yield* work
    assert.deepStrictEqual([yield* counts, warnings()], [[gone + 1, failing], 1])
    assert.deepStrictEqual(named, [organization_id])

    yield* respond(url, () => Effect.succeed({ ...ok, status: 500 }))
    yield* create
    yield* raise
    for (let hours = 0; hours < 5 * 24 + 2; hours++) {
      if (hours === 119) yield* raise
      yield* work
      yield* TestClock.adjust("1 hour")
    }
    assert.deepStrictEqual([yield* counts, warnings()], [[gone + 1, failing + 1], 2])

    const { id } = yield* create
    yield* as(Webhooks.use((all) => all.disable(id)))
    assert.deepStrictEqual([yield* counts, warnings()], [[gone + 1, failing + 1], 2])
  }).pipe(Effect.provide(world), Effect.provide(Logger.layer([logger])))
})
