/** Commits that raise events. */
import { assert } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { deliveryIdOf, fullBodyOf } from "@messaging-crm/core/Changes"
import { ContactId, MessageId, type OrganizationId } from "@messaging-crm/core/Ids"
import {
  type Attempt,
  DeliveryState,
  WebhookDeliveryRows,
  WebhookDeliveryStore
} from "@messaging-crm/core/WebhookDeliveries"
import { WebhookRows } from "@messaging-crm/core/Webhooks"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { Effect, Option } from "effect"
import { hardText } from "../../Arbitraries.ts"
import * as Fixtures from "../../Fixtures.ts"
import { afterNoon, commitOutcome, type It, type Options } from "../../Fixtures.ts"
import { claim } from "./CommitScene.ts"

const subscribed = (it: It, { runs }: Options) => {
  it.effect.prop(
    "keeps an event that active webhooks subscribe to, and expands it into a delivery and its work for each",
    {
      body: hardText({ min: 1, max: 60 })
    },
    ({ body }) =>
      Effect.gen(function*() {
        const store = yield* WebhookDeliveryStore
        const ours = yield* Fixtures.organization
        const webhooks = [yield* Fixtures.webhook(ours), yield* Fixtures.webhook(ours)]
        const none = [
          yield* Fixtures.webhook(ours, { event_types: ["conversation.closed"] }),
          yield* Fixtures.webhook(ours, { status: "disabled", disabled_at: afterNoon(1) }),
          yield* Fixtures.webhook(yield* Fixtures.organization)
        ]
        const event = yield* Fixtures.newEvent({ body, created_at: afterNoon(3) })
        const subscribed = yield* Fixtures.mustCommit(ours, Changes.raise(event))
        assert.deepStrictEqual(subscribed, [{ id: event.id, deliveries: 0, is_full: false }])
        assert.deepStrictEqual(yield* claim(ours, afterNoon(2)), [])
        const [item, ...others] = yield* claim(ours, afterNoon(3))
        assert.deepStrictEqual([item?.kind, item?.lane, item?.ref, others], ["webhook_event", ours, event.id, []])
        assert.deepStrictEqual(yield* Fixtures.mustCommit(ours, Changes.expand(event.id)), [
          { id: event.id, deliveries: 2, is_full: false }
        ])
        for (const webhook of webhooks) {
          const delivery = Fixtures.deliveryOf(event, webhook)
          assert.deepStrictEqual(yield* store.list(ours, webhook.id, 9), [delivery])
          const loaded = Option.getOrThrow(yield* store.load(ours, delivery.id))
          assert.strictEqual(loaded.body, body)
          assert.deepStrictEqual(loaded.webhook, { ...webhook, version: 1 })
          assert.deepStrictEqual(loaded.delivery, { ...delivery, version: 1 })
        }
        for (const { id } of none) {
          assert.deepStrictEqual(yield* store.list(ours, id, 9), [])
          const delivery = yield* store.load(ours, deliveryIdOf(event.id, id))
          assert.deepStrictEqual(delivery, Option.none())
        }
        assert.deepStrictEqual(yield* claim(ours, afterNoon(2)), [])
        const works = (yield* claim(ours, afterNoon(3))).map(({ kind, lane, ref }) => ({ kind, lane, ref }))
        const expected = webhooks.map(({ id }) => ({
          kind: "webhook_delivery" as const,
          lane: id,
          ref: deliveryIdOf(event.id, id)
        }))
        const byLane = (a: { readonly lane: string }, b: { readonly lane: string }) => a.lane < b.lane ? -1 : 1
        assert.deepStrictEqual(works.toSorted(byLane), expected.toSorted(byLane))
      }),
    { arbitrary: { runs } }
  )
}

const resources = (it: It) => {
  it.effect("stores the resource of an event if a webhook that gets it requests it", () =>
    Effect.gen(function*() {
      const store = yield* WebhookDeliveryStore
      const contact_id = ContactId.make(yield* Fixtures.uuid)
      const message_id = MessageId.make(yield* Fixtures.uuid)
      const asks = { include_resource: true } as const
      const cases = [
        { isKept: true, webhooks: [{}, asks] },
        { isKept: false, webhooks: [{}] },
        { isKept: false, webhooks: [{}, { ...asks, event_types: ["conversation.closed"] }] },
        { isKept: false, webhooks: [{}, { ...asks, status: "disabled", disabled_at: afterNoon(1) }] }
      ] as const
      for (const { isKept, webhooks } of cases) {
        const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
        yield* Fixtures.webhook(theirs, asks)
        const [first] = yield* Effect.forEach(webhooks, (fields) => Fixtures.webhook(ours, fields))
        const resource = { name: "message", value: { text: "\u4e00\"" }, contact_id, message_id }
        const [event, bare] = [yield* Fixtures.newEvent({ resource }), yield* Fixtures.newEvent()]
        const subscribed = yield* Fixtures.mustCommit(ours, Changes.raise(event), Changes.raise(bare))
        assert.deepStrictEqual(subscribed.flatMap(({ id, is_full }) => is_full ? [id] : []), isKept ? [event.id] : [])
        yield* Fixtures.mustCommit(ours, Changes.expand(event.id), Changes.expand(bare.id))
        const bodies = yield* Effect.forEach([event, bare], ({ id }) =>
          Effect.map(
            store.load(ours, deliveryIdOf(id, first?.id ?? assert.fail("No webhook was made."))),
            (loaded) => Option.getOrThrow(loaded).full_body
          ))
        assert.deepStrictEqual(bodies, [isKept ? fullBodyOf(event) : null, null])
        const events = yield* Fixtures.storedEvents(ours, "message.sent")
        assert.sameDeepMembers([...events], [Fixtures.storedEvent(event, isKept), Fixtures.storedEvent(bare)])
      }
    }))
}

const gone410: Attempt = {
  at: afterNoon(5),
  duration_ms: 12,
  response_status: 410,
  response_body: "gone",
  failure_code: "http_status"
}

const deliveries = (it: It) => {
  it.effect("keeps each event of a commit, and expands it for its subscribers alone", () =>
    Effect.gen(function*() {
      const store = yield* Fixtures.withoutEvents(afterNoon(100))
      const ours = yield* Fixtures.organization
      const webhook = yield* Fixtures.webhook(ours)
      const event = Fixtures.newEvent()
      const [sent, failed] = [yield* event, { ...yield* event, type: "send.failed" }]
      const closed = { ...yield* event, type: "conversation.closed" }
      const subscribed = yield* Fixtures.mustCommit(ours, ...[sent, closed, failed].map(Changes.raise))
      assert.sameDeepMembers(
        [...subscribed],
        [sent, failed].map(({ id }) => ({ id, deliveries: 0, is_full: false }))
      )
      const expanded = yield* Fixtures.mustCommit(ours, ...[sent, closed, failed].map(({ id }) => Changes.expand(id)))
      assert.sameDeepMembers(
        [...expanded],
        [sent, failed].map(({ id }) => ({ id, deliveries: 1, is_full: false }))
      )
      const types = (yield* Fixtures.deliveriesOf(ours, webhook)).map(({ event_type }) => event_type)
      assert.deepStrictEqual(types.toSorted(), ["message.sent", "send.failed"])
      assert.strictEqual(yield* store.purge(afterNoon(100), 1000), 3)
    }))

  it.effect("abandons pending deliveries of one webhook, the newest first, except one that the same commit updates", () =>
    Effect.gen(function*() {
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [gone, other] = [yield* Fixtures.webhook(ours), yield* Fixtures.webhook(ours)]
      const events = yield* Effect.forEach(
        [0, 1, 2, 3],
        (millis) => Fixtures.newEvent({ created_at: afterNoon(millis) })
      )
      yield* Fixtures.mustCommit(ours, ...events.map(Changes.raise))
      yield* Fixtures.mustCommit(ours, ...events.map(({ id }) => Changes.expand(id)))
      const before = yield* Fixtures.deliveriesOf(ours, gone)
      const [newest, newer, older, oldest] = before
      if (newest === undefined || newer === undefined || older === undefined || oldest === undefined) {
        return assert.fail("Deliveries are missing.")
      }
      const abandon = (limit: number): Changes.Changes => ({ abandon: [{ webhook_id: gone.id, limit }] })
      yield* Fixtures.mustCommit(theirs, abandon(9))
      assert.deepStrictEqual(yield* Fixtures.deliveriesOf(ours, gone), before)
      const attempted = DeliveryState.attempt(newest, gone410, null)
      yield* Fixtures.mustCommit(
        ours,
        WebhookRows.update({ id: gone.id, version: 1 }, { status: "disabled", disabled_at: afterNoon(5) }),
        WebhookDeliveryRows.update({ id: newest.id, version: 1 }, attempted),
        abandon(1)
      )
      const ended = DeliveryState.abandon("webhook_disabled")
      assert.deepStrictEqual(yield* Fixtures.deliveriesOf(ours, gone), [
        { ...newest, ...attempted },
        { ...newer, ...ended },
        older,
        oldest
      ])
      yield* Fixtures.mustCommit(ours, abandon(9))
      assert.deepStrictEqual(yield* Fixtures.deliveriesOf(ours, gone), [
        { ...newest, ...attempted },
        ...[newer, older, oldest].map((delivery) => ({ ...delivery, ...ended }))
      ])
      assert.isTrue((yield* Fixtures.deliveriesOf(ours, other)).every(({ status }) => status === "pending"))
      const stale = WebhookDeliveryRows.update({ id: older.id, version: 1 }, DeliveryState.retry(afterNoon(9)))
      assert.strictEqual(yield* commitOutcome(ours, stale), "Conflict")
    }))
}

/** Raises an event, and claims the work that expands it. */
const raised = Effect.fnUntraced(function*(ours: OrganizationId) {
  const event = yield* Fixtures.newEvent({ created_at: afterNoon(3) })
  yield* Fixtures.mustCommit(ours, Changes.raise(event))
  const [item = assert.fail("The event has no work.")] = yield* claim(ours)
  const expand = Changes.all(Changes.expand(event.id), Changes.finish(item))
  return { event, expand, item }
})

const expansions = (it: It) => {
  it.effect("expands an event for the webhooks that are active, subscribed, and not created after it, as they are by then", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const kept = yield* Fixtures.webhook(ours, { created_at: afterNoon(3) })
      const [disabled, left] = [yield* Fixtures.webhook(ours), yield* Fixtures.webhook(ours)]
      const joined = yield* Fixtures.webhook(ours, { event_types: ["conversation.closed"] })
      const { event, expand } = yield* raised(ours)
      const created = yield* Fixtures.webhook(ours, { created_at: afterNoon(4) })
      yield* Fixtures.mustCommit(
        ours,
        WebhookRows.update({ id: disabled.id, version: 1 }, { status: "disabled", disabled_at: afterNoon(4) }),
        WebhookRows.update({ id: left.id, version: 1 }, { event_types: ["conversation.closed"] }),
        WebhookRows.update({ id: joined.id, version: 1 }, { event_types: ["message.sent"] })
      )
      yield* Fixtures.mustCommit(ours, expand)
      const counts = yield* Effect.forEach(
        [kept, joined, disabled, left, created],
        (webhook) => Effect.map(Fixtures.deliveriesOf(ours, webhook), ({ length }) => length)
      )
      assert.deepStrictEqual(counts, [1, 1, 0, 0, 0])
      assert.deepStrictEqual(yield* Fixtures.deliveriesOf(ours, kept), [Fixtures.deliveryOf(event, kept)])
    }))

  it.effect("expands an event once: a lost claim adds nothing, and a repetition leaves deliveries as they are", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const webhook = yield* Fixtures.webhook(ours)
      const { event, expand, item } = yield* raised(ours)
      // The worker died: its lease ends, and another one claims the event.
      yield* WorkQueue.use((queue) => queue.sweep(afterNoon(100_000)))
      const [again = assert.fail("The event was not claimed again.")] = yield* claim(ours, afterNoon(100_000))
      assert.strictEqual(yield* commitOutcome(ours, expand), "LeaseLost")
      assert.deepStrictEqual(yield* Fixtures.deliveriesOf(ours, webhook), [])
      yield* Fixtures.mustCommit(ours, Changes.expand(event.id), Changes.finish({ ...item, token: again.token }))
      const delivery = Fixtures.deliveryOf(event, webhook)
      const [work = assert.fail("The delivery has no work.")] = yield* claim(ours)
      const done = DeliveryState.attempt(delivery, { ...gone410, response_status: 200, failure_code: null }, null)
      yield* Fixtures.mustCommit(
        ours,
        WebhookDeliveryRows.update({ id: delivery.id, version: 1 }, done),
        Changes.finish(work)
      )
      assert.deepStrictEqual(yield* Fixtures.mustCommit(ours, Changes.expand(event.id)), [])
      assert.deepStrictEqual(yield* Fixtures.deliveriesOf(ours, webhook), [{ ...delivery, ...done }])
      assert.deepStrictEqual(yield* claim(ours, afterNoon(200_000)), [])
    }))

  it.effect("expands an event for 100 webhooks, and nothing of an event that was purged or is of another organization", () =>
    Effect.gen(function*() {
      const store = yield* Fixtures.withoutEvents(afterNoon(100))
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const webhooks = yield* Effect.replicateEffect(Fixtures.webhook(ours), 100)
      const { event, expand } = yield* raised(ours)
      yield* Fixtures.webhook(theirs)
      assert.deepStrictEqual(yield* Fixtures.mustCommit(theirs, Changes.expand(event.id)), [])
      const expanded = yield* Fixtures.mustCommit(ours, expand)
      assert.deepStrictEqual(expanded, [{ id: event.id, deliveries: 100, is_full: false }])
      const deliveries = yield* Effect.forEach(webhooks, (webhook) => Fixtures.deliveriesOf(ours, webhook))
      assert.isTrue(deliveries.every(({ length }) => length === 1))
      assert.lengthOf(new Set((yield* claim(ours)).map(({ lane }) => lane)), 100)
      const later = yield* raised(ours)
      yield* store.purge(afterNoon(100), 1000)
      assert.deepStrictEqual(yield* Fixtures.mustCommit(ours, later.expand), [])
    }))

  it.effect("gives no work to an event to which no active webhook subscribes", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      yield* Fixtures.webhook(ours, { status: "disabled", disabled_at: afterNoon(1) })
      yield* Fixtures.webhook(ours, { event_types: ["conversation.closed"] })
      assert.deepStrictEqual(yield* Fixtures.mustCommit(ours, Changes.raise(yield* Fixtures.newEvent())), [])
      assert.deepStrictEqual(yield* claim(ours), [])
    }))
}

export const events = (it: It, options: Options) => {
  expansions(it)
  subscribed(it, options)
  resources(it)
  deliveries(it)
}
