/** A webhook with more to tell than one unit of work can hold. */
import { assert, it } from "@effect/vitest"
import { EventStore } from "@messaging-crm/core/Events"
import { EventId, type OrganizationId, WebhookDeliveryId, type WebhookId, WorkId } from "@messaging-crm/core/Ids"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { abandoned_max, Webhooks } from "@messaging-crm/core/Webhooks"
import { WebhookUnanswered } from "@messaging-crm/core/WebhookTransport"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { ScriptedEndpoints } from "../Endpoints.ts"
import * as Fixtures from "../Fixtures.ts"
import * as Scene from "./Scene.ts"

const beyond = 20

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

/** Raises more events for a new webhook than are abandoned at once. */
const crowded = Effect.gen(function*() {
  const { as, organization_id } = yield* Scene.begin
  const url = `https://${yield* Fixtures.uuid}.shop.example/crm`
  const { id } = yield* Webhooks.use((webhooks) => webhooks.create({ url, event_types: ["conversation.closed"] })).pipe(
    as,
    Effect.orDie
  )
  const { transact } = yield* UnitOfWork
  const total = abandoned_max + beyond
  yield* transact(Effect.replicateEffect(raise(organization_id, id), total, { discard: true }))
  const states = Effect.gen(function*() {
    const all = yield* WebhookDeliveryStore.use((store) => store.list(organization_id, id, total))
    const pending = all.filter(({ status }) => status === "pending").length
    const abandoned = all.filter(({ failure_code }) => failure_code === "webhook_disabled").length
    return { pending, abandoned }
  })
  const endpoints = yield* ScriptedEndpoints
  const posted = Effect.map(endpoints.posted(url), ({ length }) => length)
  return { answer: endpoints.answer, as, id, posted, states, url }
})

export const suite = (storage: Scene.Storage) => {
  it.layer(Scene.crm(storage), { timeout: "60 seconds" })("a webhook with much to tell", (it) => {
    it.effect("is disabled at once, and rid of it without the pauses of an endpoint that keeps failing", () =>
      Effect.gen(function*() {
        const { answer, as, id, posted, states, url } = yield* crowded
        yield* answer(url, () => Effect.fail(new WebhookUnanswered({ failure_code: "connection_refused" })))
        yield* Scene.work
        assert.strictEqual(yield* posted, 8)
        yield* Webhooks.use((webhooks) => webhooks.disable(id)).pipe(as, Effect.orDie)
        assert.deepStrictEqual(yield* states, { pending: beyond, abandoned: abandoned_max })
        yield* TestClock.adjust("5 seconds")
        yield* Scene.work
        assert.deepStrictEqual(yield* states, { pending: 0, abandoned: abandoned_max + beyond })
        assert.strictEqual(yield* posted, 8)
      }))
  })
}
