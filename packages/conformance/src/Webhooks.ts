/** Tests of the guarantees of `WebhookStore` and `WebhookDeliveryStore`. */
import { assert } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { EventId, WebhookDeliveryId } from "@messaging-crm/core/Ids"
import {
  type Attempt,
  DeliveryState,
  type WebhookDelivery,
  WebhookDeliveryRows,
  WebhookDeliveryStore
} from "@messaging-crm/core/WebhookDeliveries"
import { toWebhook, type WebhookColumns, WebhookRows, WebhookStore } from "@messaging-crm/core/Webhooks"
import { Arbitrary, Effect, Option, Schema } from "effect"
import { hardText, optionalHardText } from "./Arbitraries.ts"
import * as Fixtures from "./Fixtures.ts"
import { after, type It, type Options } from "./Fixtures.ts"

/** The filters that every webhook passes. */
const every = { status: null }

const disabled = { status: "disabled", disabled_at: after(1) } as const

const webhooks = (it: It, { runs }: Options) => {
  it.effect.prop("returns a webhook as it was inserted", {
    url: hardText({ min: 1, max: 40 }),
    sealed_secret: hardText({ min: 1, max: 40 })
  }, (fields) =>
    Effect.gen(function*() {
      const store = yield* WebhookStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const row = yield* Fixtures.webhook(ours, { ...fields, event_types: ["conversation.closed", "message.sent"] })
      assert.deepStrictEqual(yield* store.find(ours, row.id), Option.some({ ...row, version: 1 }))
      assert.deepStrictEqual(yield* store.list(ours, every, 9), [toWebhook(row)])
      assert.deepStrictEqual(yield* store.find(theirs, row.id), Option.none())
      assert.deepStrictEqual(yield* store.list(theirs, every, 9), [])
    }), { arbitrary: { runs } })

  it.effect("lists the newest first, then by id descending, including those of one status, and counts the active ones", () =>
    Effect.gen(function*() {
      const store = yield* WebhookStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const rows = yield* Effect.forEach(
        [0, 2, 1, 2, 0],
        (millis) => Fixtures.webhook(ours, { created_at: after(millis) })
      )
      const gone = yield* Effect.forEach(
        [1, 4],
        (millis) => Fixtures.webhook(ours, { created_at: after(millis), ...disabled })
      )
      const sorted = (some: ReadonlyArray<WebhookColumns>) =>
        Fixtures.newestFirst(some.map(toWebhook), ({ created_at }) => created_at)
      for (
        const [status, expected] of [
          [null, sorted([...rows, ...gone])],
          ["active", sorted(rows)],
          ["disabled", sorted(gone)]
        ] as const
      ) {
        for (const limit of [1, 3, 6, 9]) {
          assert.deepStrictEqual(yield* store.list(ours, { status }, limit), expected.slice(0, limit))
        }
        assert.deepStrictEqual(yield* store.list(theirs, { status }, 9), [])
      }
      assert.strictEqual(yield* store.countActive(ours), 5)
      assert.strictEqual(yield* store.countActive(theirs), 0)
    }))

  it.effect("returns a webhook as it was last updated", () =>
    Effect.gen(function*() {
      const store = yield* WebhookStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const row = yield* Fixtures.webhook(ours)
      const set = { ...disabled, consecutive_failures: 10, first_failure_at: after(1) }
      const ended = WebhookRows.update({ id: row.id, version: 1 }, set)
      assert.strictEqual(yield* Fixtures.outcome(theirs, ended), "Conflict")
      assert.strictEqual(yield* Fixtures.outcome(ours, ended), "committed")
      assert.deepStrictEqual(yield* store.find(ours, row.id), Option.some({ ...row, ...set, version: 2 }))
    }))

  it.effect("finds the secrets that another key sealed, a page at a time, and replaces them", () =>
    Effect.gen(function*() {
      const store = yield* WebhookStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const prefix = `${yield* Fixtures.uuid}.`
      const [old, young] = [
        yield* Fixtures.webhook(ours),
        yield* Fixtures.webhook(ours, { sealed_secret: `${prefix}secret` })
      ]
      yield* Fixtures.webhook(ours, disabled)
      const other = yield* Fixtures.webhook(theirs)
      const found = yield* Fixtures.sealedOtherwise(store, prefix, 50)
      assert.deepStrictEqual(
        found.filter(({ organization_id }) => organization_id === ours || organization_id === theirs),
        [
          { organization_id: ours, id: old.id, sealed_secret: old.sealed_secret },
          { organization_id: theirs, id: other.id, sealed_secret: other.sealed_secret }
        ]
      )
      const { sealed_secret } = old
      yield* store.reseal(ours, old.id, "what it is not", "x")
      yield* store.reseal(theirs, old.id, sealed_secret, "x")
      yield* store.reseal(ours, old.id, sealed_secret, `${prefix}again`)
      const resealed = Option.getOrThrow(yield* store.find(ours, old.id))
      assert.strictEqual(resealed.sealed_secret, `${prefix}again`)
      assert.deepStrictEqual(yield* store.find(ours, young.id), Option.some({ ...young, version: 1 }))
    }))
}

const attempt: Attempt = {
  at: after(5),
  duration_ms: 12,
  response_status: 503,
  response_body: "busy",
  failure_code: "http_status"
}

const deliveries = (it: It, { runs }: Options) => {
  it.effect.prop("returns a delivery as it was last updated", {
    response_body: optionalHardText({ min: 0, max: 40 }),
    next: Arbitrary.schema(Schema.Boolean)
  }, ({ next, response_body }) =>
    Effect.gen(function*() {
      const store = yield* WebhookDeliveryStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const to = yield* Fixtures.webhook(ours)
      const delivery = yield* Fixtures.raised(ours, to)
      const update = (version: number, set: Partial<WebhookDelivery>) =>
        WebhookDeliveryRows.update({ id: delivery.id, version }, set)
      const first = DeliveryState.attempt(delivery, { ...attempt, response_body }, next ? after(9) : null)
      yield* Fixtures.write(ours, update(1, first))
      assert.strictEqual(yield* Fixtures.outcome(theirs, update(2, { status: "failed" })), "Conflict")
      const failed: WebhookDelivery = { ...delivery, ...first }
      const loaded = Option.getOrThrow(yield* store.load(ours, delivery.id))
      assert.deepStrictEqual(loaded.delivery, { ...failed, version: 2 })
      const second = DeliveryState.attempt(failed, { ...attempt, response_status: 200, failure_code: null }, null)
      yield* Fixtures.write(ours, update(2, second))
      assert.deepStrictEqual(yield* store.list(ours, to.id, 9), [{ ...failed, ...second }])
      assert.deepStrictEqual(yield* store.load(theirs, delivery.id), Option.none())
      assert.deepStrictEqual(yield* store.list(theirs, to.id, 9), [])
      const unknown = Changes.deliveryIdOf(EventId.make(yield* Fixtures.uuid), to.id)
      assert.deepStrictEqual(yield* store.load(ours, unknown), Option.none())
    }), { arbitrary: { runs } })

  it.effect("claims deliveries with what their attempts need", () =>
    Effect.gen(function*() {
      const store = yield* WebhookDeliveryStore
      yield* Fixtures.emptyQueue
      const ours = yield* Fixtures.organization
      const to = yield* Fixtures.webhook(ours)
      const ids = yield* Effect.forEach([1, 2, 3], () => Effect.map(Fixtures.raised(ours, to), ({ id }) => id))
      const kind = "webhook_delivery" as const
      const token = yield* Fixtures.uuid
      const claim = store.claim({ kind, limit: 1000, now: after(60), lease_until: after(120), token })
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

  it.effect("lists the most recent, newest first, then by id descending", () =>
    Effect.gen(function*() {
      const store = yield* WebhookDeliveryStore
      const ours = yield* Fixtures.organization
      const to = yield* Fixtures.webhook(ours)
      const rows = yield* Effect.forEach([0, 2, 1, 2, 0], (millis) => Fixtures.raised(ours, to, millis))
      const sorted = Fixtures.newestFirst(rows, ({ created_at }) => created_at)
      assert.deepStrictEqual(yield* store.list(ours, to.id, 9), sorted)
      assert.deepStrictEqual(yield* store.list(ours, to.id, 3), sorted.slice(0, 3))
    }))
}

export const suites = { WebhookStore: webhooks, WebhookDeliveryStore: deliveries }
