/** Tests of the guarantees of `WebhookDeliveryStore`. */
import { assert } from "@effect/vitest"
import { deliveryIdOf } from "@messaging-crm/core/Changes"
import { EventId, WebhookDeliveryId } from "@messaging-crm/core/Ids"
import {
  type Attempt,
  DeliveryState,
  type WebhookDelivery,
  WebhookDeliveryRows,
  WebhookDeliveryStore
} from "@messaging-crm/core/WebhookDeliveries"
import { Arbitrary, Effect, Option, Schema } from "effect"
import { optionalHardText } from "../Arbitraries.ts"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It, type Options } from "../Fixtures.ts"

const attempt: Attempt = {
  at: afterNoon(5),
  duration_ms: 12,
  response_status: 503,
  response_body: "busy",
  failure_code: "http_status"
}

const rows = (it: It, { runs }: Options) => {
  it.effect.prop("returns a delivery as it was last updated", {
    response_body: optionalHardText({ min: 0, max: 40 }),
    next: Arbitrary.schema(Schema.Boolean)
  }, ({ next, response_body }) =>
    Effect.gen(function*() {
      const store = yield* WebhookDeliveryStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const to = yield* Fixtures.webhook(ours)
      const delivery = yield* Fixtures.raisedDelivery(ours, to)
      const update = (version: number, set: Partial<WebhookDelivery>) =>
        WebhookDeliveryRows.update({ id: delivery.id, version }, set)
      const first = DeliveryState.attempt(delivery, { ...attempt, response_body }, next ? afterNoon(9) : null)
      yield* Fixtures.mustCommit(ours, update(1, first))
      assert.strictEqual(yield* Fixtures.commitOutcome(theirs, update(2, { status: "failed" })), "Conflict")
      const failed: WebhookDelivery = { ...delivery, ...first }
      const loaded = Option.getOrThrow(yield* store.load(ours, delivery.id))
      assert.deepStrictEqual(loaded.delivery, { ...failed, version: 2 })
      const second = DeliveryState.attempt(failed, { ...attempt, response_status: 200, failure_code: null }, null)
      yield* Fixtures.mustCommit(ours, update(2, second))
      assert.deepStrictEqual(yield* store.list(ours, to.id, 9), [{ ...failed, ...second }])
      assert.deepStrictEqual(yield* store.load(theirs, delivery.id), Option.none())
      assert.deepStrictEqual(yield* store.list(theirs, to.id, 9), [])
      const unknown = deliveryIdOf(EventId.make(yield* Fixtures.uuid), to.id)
      assert.deepStrictEqual(yield* store.load(ours, unknown), Option.none())
    }), { arbitrary: { runs } })

  it.effect("lists the most recent, newest first, then by id descending", () =>
    Effect.gen(function*() {
      const store = yield* WebhookDeliveryStore
      const ours = yield* Fixtures.organization
      const to = yield* Fixtures.webhook(ours)
      const rows = yield* Effect.forEach([0, 2, 1, 2, 0], (millis) => Fixtures.raisedDelivery(ours, to, millis))
      const sorted = Fixtures.newestFirst(rows, ({ created_at }) => created_at)
      assert.deepStrictEqual(yield* store.list(ours, to.id, 9), sorted)
      assert.deepStrictEqual(yield* store.list(ours, to.id, 3), sorted.slice(0, 3))
    }))
}

const claims = (it: It) => {
  it.effect("claims deliveries with what their attempts need", () =>
    Effect.gen(function*() {
      const store = yield* WebhookDeliveryStore
      yield* Fixtures.emptyQueue
      const ours = yield* Fixtures.organization
      const to = yield* Fixtures.webhook(ours)
      const ids = yield* Effect.forEach([1, 2, 3], () => Effect.map(Fixtures.raisedDelivery(ours, to), ({ id }) => id))
      const kind = "webhook_delivery" as const
      const token = yield* Fixtures.uuid
      const claim = store.claim({ kind, limit: 1000, now: afterNoon(60), lease_until: afterNoon(120), token })
      const claimed = (yield* claim).filter((item) => item.claimed.lane === to.id)
      assert.sameMembers(claimed.map((item) => item.claimed.ref), ids)
      for (const { claimed: { attempt, ref }, outgoing } of claimed) {
        assert.deepStrictEqual({ attempt, outgoing: Option.fromNullOr(outgoing) }, {
          attempt: 1,
          outgoing: yield* store.load(ours, WebhookDeliveryId.make(ref))
        })
      }
      assert.isFalse((yield* claim).some((item) => item.claimed.lane === to.id))
    }))
}

export const portTests = (it: It, options: Options) => {
  rows(it, options)
  claims(it)
}
