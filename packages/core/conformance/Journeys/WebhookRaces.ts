/** A webhook that is disabled while other things go on. */
import { assert, it } from "@effect/vitest"
import { EventStore } from "@messaging-crm/core/Events"
import { EventId, type OrganizationId, WebhookDeliveryId, type WebhookId, WorkId } from "@messaging-crm/core/Ids"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { abandoned_max, Webhooks } from "@messaging-crm/core/Webhooks"
import { WebhookUnanswered } from "@messaging-crm/core/WebhookTransport"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { ok, type Outcome, ScriptedEndpoints } from "../Endpoints.ts"
import * as Fixtures from "../Fixtures.ts"
import * as Scene from "./Scene.ts"

const raise = Effect.fnUntraced(function*(organization_id: OrganizationId, webhook_id: WebhookId) {
  const now = yield* DateTime.now
  const event = EventId.make(yield* Fixtures.uuid)
  const id = WebhookDeliveryId.make(yield* Fixtures.uuid)
  const row = { id: event, type: "conversation.closed", body: "{}", created_at: now } as const
  yield* EventStore.use((store) => store.append(organization_id, row, [{ id, webhook_id }]))
  const work_id = WorkId.make(yield* Fixtures.uuid)
  yield* WorkQueue.use((queue) =>
    queue.enqueue(organization_id, { id: work_id, kind: "delivery", lane: webhook_id, ref: id }, now)
  )
})

/** A new webhook with so many events that are due, as they are raised by who found it active a moment ago. */
const told = Effect.fnUntraced(function*(count: number) {
  const { as, organization_id } = yield* Scene.begin
  const url = `https://${yield* Fixtures.uuid}.shop.example/crm`
  const { id } = yield* Webhooks.use((webhooks) => webhooks.create({ url, event_types: ["conversation.closed"] })).pipe(
    as,
    Effect.orDie
  )
  const { transact } = yield* UnitOfWork
  const tell = (count: number) => transact(Effect.replicateEffect(raise(organization_id, id), count, { discard: true }))
  yield* tell(count)
  const endpoints = yield* ScriptedEndpoints
  return {
    answer: (how: Outcome) => endpoints.answer(url, () => how),
    disable: Webhooks.use((webhooks) => webhooks.disable(id)).pipe(as, Effect.orDie),
    posted: Effect.map(endpoints.posted(url), ({ length }) => length),
    /** How many deliveries are in which state, and why. */
    states: Effect.map(
      WebhookDeliveryStore.use((store) => store.list(organization_id, id, count + 1)),
      (all) =>
        Object.entries(Object.groupBy(all, ({ failure_code, status }) => failure_code ?? status))
          .map(([state, some]) => `${some?.length} ${state}`).toSorted()
    ),
    tell
  }
})

export const suite = (storage: Scene.Storage) => {
  it.layer(Scene.crm(storage), { timeout: "60 seconds" })("a webhook that is disabled", (it) => {
    it.effect("is so at once, whatever is still to be told, and without pauses for an endpoint that kept failing", () =>
      Effect.gen(function*() {
        const { answer, disable, posted, states } = yield* told(abandoned_max + 20)
        yield* answer(Effect.fail(new WebhookUnanswered({ failure_code: "connection_refused" })))
        yield* Scene.work
        assert.strictEqual(yield* posted, 8)
        const before = yield* states
        assert.deepStrictEqual(before, ["8 connection_refused", `${abandoned_max + 12} pending`].toSorted())
        yield* disable
        assert.include(yield* states, `${abandoned_max} webhook_disabled`)
        yield* TestClock.adjust("5 seconds")
        yield* Scene.work
        assert.deepStrictEqual(yield* states, [`${abandoned_max + 20} webhook_disabled`])
        assert.strictEqual(yield* posted, 8)
      }))

    for (const [status, state] of [[200, "1 succeeded"], [500, "1 http_status"]] as const) {
      it.effect(`while it is told keeps the answer, ${status}`, () =>
        Effect.gen(function*() {
          const { answer, disable, posted, states } = yield* told(1)
          const [asked, may_answer] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
          const waits = Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(may_answer))
          yield* answer(Effect.as(waits, { ...ok, status }))
          const working = yield* Effect.forkChild(Scene.work)
          yield* Deferred.await(asked)
          yield* disable
          assert.deepStrictEqual(yield* states, ["1 webhook_disabled"])
          yield* Deferred.succeed(may_answer, undefined)
          yield* Fiber.join(working)
          assert.deepStrictEqual(yield* states, [state])
          yield* TestClock.adjust("5 minutes")
          yield* Scene.work
          assert.strictEqual(yield* posted, 1)
        }))
    }

    it.effect("is not told what was raised by who found it active a moment ago", () =>
      Effect.gen(function*() {
        const { disable, posted, states, tell } = yield* told(0)
        yield* disable
        yield* tell(1)
        yield* Scene.work
        assert.deepStrictEqual(yield* states, ["1 webhook_disabled"])
        assert.strictEqual(yield* posted, 0)
      }))
  })
}
