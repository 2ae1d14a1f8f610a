/** The promises of `EventStore`, `WebhookStore` and `WebhookDeliveryStore`, as tests. */
import { assert } from "@effect/vitest"
import { type EventRow, EventStore, type EventType } from "@messaging-crm/core/Events"
import { EventId, type OrganizationId, WebhookDeliveryId, WebhookId } from "@messaging-crm/core/Ids"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import {
  abandoned,
  type Attempt,
  attempted,
  type WebhookDelivery,
  WebhookDeliveryStore
} from "@messaging-crm/core/WebhookDeliveries"
import { disable, healthy, type WebhookRow, WebhookStore, worse } from "@messaging-crm/core/Webhooks"
import { Arbitrary, Effect, Option, Schema } from "effect"
import { hardText, optionalHardText } from "./Arbitraries.ts"
import * as Fixtures from "./Fixtures.ts"
import { after, type It, type Options } from "./Fixtures.ts"

const webhook = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  fields: Partial<WebhookRow["webhook"]> = {},
  sealed_secret = "v1.old.secret"
) {
  const row: WebhookRow = {
    webhook: {
      id: WebhookId.make(yield* Fixtures.uuid),
      url: "https://shop.example/crm",
      event_types: ["message.sent", "send.failed"],
      status: "active",
      created_at: Fixtures.noon,
      disabled_at: null,
      ...fields
    },
    sealed_secret,
    ...healthy
  }
  yield* WebhookStore.use((store) => store.insert(organization_id, row))
  return row
})

const event = Effect.fnUntraced(function*(body = "{}", millis = 0, type: EventType = "message.sent") {
  const row: EventRow = { id: EventId.make(yield* Fixtures.uuid), type, body, created_at: after(millis) }
  return row
})

/** Keeps an event with a delivery to the webhook, and returns the delivery as it should be read. */
const told = Effect.fnUntraced(function*(organization_id: OrganizationId, to: WebhookRow, millis = 0) {
  const row = yield* event("{}", millis)
  const id = WebhookDeliveryId.make(yield* Fixtures.uuid)
  yield* EventStore.use((store) => store.append(organization_id, row, [{ id, webhook_id: to.webhook.id }]))
  const delivery: WebhookDelivery = {
    id,
    webhook_id: to.webhook.id,
    event_id: row.id,
    event_type: row.type,
    status: "pending",
    attempt_count: 0,
    response_status: null,
    response_body: null,
    failure_code: null,
    duration_ms: null,
    last_attempt_at: null,
    next_attempt_at: row.created_at,
    created_at: row.created_at
  }
  return delivery
})

const newestFirst = <Row extends { readonly id: string }>(rows: ReadonlyArray<Row>, at: (row: Row) => number) =>
  rows.toSorted((a, b) => at(b) - at(a) || (a.id < b.id ? 1 : -1))

const events = (it: It, { runs }: Options) => {
  it.effect.prop("keeps an event's exact bytes, with a pending delivery for each webhook", {
    body: hardText({ min: 0, max: 60 })
  }, ({ body }) =>
    Effect.gen(function*() {
      const deliveries = yield* WebhookDeliveryStore
      const ours = yield* Fixtures.organization
      const [one, other] = [yield* webhook(ours), yield* webhook(ours)]
      const row = yield* event(body, 3)
      const names = yield* Effect.forEach([one, other], ({ webhook }) =>
        Effect.map(Fixtures.uuid, (id) => ({ id: WebhookDeliveryId.make(id), webhook_id: webhook.id })))
      yield* EventStore.use((store) =>
        store.append(ours, row, names)
      )
      for (const { id, webhook_id } of names) {
        const loaded = Option.getOrThrow(yield* deliveries.load(ours, id))
        assert.strictEqual(loaded.body, body)
        assert.strictEqual(loaded.webhook.webhook.id, webhook_id)
        assert.strictEqual(loaded.delivery.status, "pending")
        assert.deepStrictEqual(loaded.delivery.next_attempt_at, row.created_at)
        assert.deepStrictEqual(yield* deliveries.list(ours, webhook_id, 9), [loaded.delivery])
      }
    }), { arbitrary: { runs } })

  it.effect("finds the active webhooks that subscribe to a type, by id", () =>
    Effect.gen(function*() {
      const store = yield* EventStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const subscribed = [yield* webhook(ours), yield* webhook(ours), yield* webhook(ours)]
      yield* webhook(ours, { event_types: ["conversation.closed"] })
      const gone = yield* webhook(ours)
      yield* WebhookStore.use((webhooks) =>
        webhooks.update(ours, { ...gone, webhook: disable(gone.webhook, after(1)) })
      )
      assert.deepStrictEqual(
        yield* store.subscribers(ours, "send.failed"),
        subscribed.map(({ webhook }) => webhook.id).toSorted()
      )
      assert.deepStrictEqual(yield* store.subscribers(theirs, "send.failed"), [])
      assert.deepStrictEqual(yield* store.subscribers(ours, "message.received"), [])
    }))

  it.effect("forgets an event with its unit of work", () =>
    Effect.gen(function*() {
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const to = yield* webhook(ours)
      yield* Effect.ignore(transact(Effect.andThen(told(ours, to), Effect.fail("no"))))
      const deliveries = WebhookDeliveryStore.use((store) => store.list(ours, to.webhook.id, 9))
      assert.deepStrictEqual(yield* deliveries, [])
    }))

  it.effect("forgets events that are old enough, with their deliveries, at most as many as asked", () =>
    Effect.gen(function*() {
      const store = yield* EventStore
      while ((yield* store.purge(after(0), 1000)) > 0) continue
      const ours = yield* Fixtures.organization
      const to = yield* webhook(ours)
      yield* Effect.forEach([-3, -2, -1], (millis) => told(ours, to, millis))
      const young = yield* told(ours, to, 0)
      assert.strictEqual(yield* store.purge(after(0), 2), 2)
      assert.strictEqual(yield* store.purge(after(0), 2), 1)
      assert.strictEqual(yield* store.purge(after(0), 2), 0)
      const left = yield* WebhookDeliveryStore.use((deliveries) => deliveries.list(ours, to.webhook.id, 9))
      assert.deepStrictEqual(left, [young])
    }))
}

const webhooks = (it: It, { runs }: Options) => {
  it.effect.prop("returns a webhook as it was inserted", {
    url: hardText({ min: 1, max: 40 }),
    sealed: hardText({ min: 1, max: 40 })
  }, ({ sealed, url }) =>
    Effect.gen(function*() {
      const store = yield* WebhookStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const row = yield* webhook(ours, { url, event_types: ["conversation.closed", "message.sent"] }, sealed)
      assert.deepStrictEqual(yield* store.find(ours, row.webhook.id), Option.some(row))
      assert.deepStrictEqual(yield* store.list(ours, 9), [row.webhook])
      assert.deepStrictEqual(yield* store.find(theirs, row.webhook.id), Option.none())
      assert.deepStrictEqual(yield* store.list(theirs, 9), [])
    }), { arbitrary: { runs } })

  it.effect("lists the most recent, newest first, then by id descending", () =>
    Effect.gen(function*() {
      const store = yield* WebhookStore
      const ours = yield* Fixtures.organization
      const rows = yield* Effect.forEach([0, 2, 1, 2, 0], (millis) => webhook(ours, { created_at: after(millis) }))
      const sorted = newestFirst(rows.map((row) => row.webhook), ({ created_at }) => created_at.epochMilliseconds)
      assert.deepStrictEqual(yield* store.list(ours, 9), sorted)
      assert.deepStrictEqual(yield* store.list(ours, 3), sorted.slice(0, 3))
    }))

  it.effect("writes status and health, and lets one unit of work at a time pass `lock`", () =>
    Effect.gen(function*() {
      const store = yield* WebhookStore
      const { transact } = yield* UnitOfWork
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const row = yield* webhook(ours)
      const turn = Effect.gen(function*() {
        const found = Option.getOrThrow(yield* store.lock(ours, row.webhook.id))
        yield* Effect.yieldNow
        yield* store.update(ours, { ...found, ...worse(found, after(1)) })
      })
      yield* Effect.all(Array.from({ length: 10 }, () => transact(turn)), { concurrency: "unbounded" })
      const expected: WebhookRow = {
        ...row,
        webhook: disable(row.webhook, after(2)),
        consecutive_failures: 10,
        first_failure_at: after(1)
      }
      yield* store.update(ours, expected)
      yield* store.update(theirs, row)
      assert.deepStrictEqual(yield* store.find(ours, row.webhook.id), Option.some(expected))
      assert.deepStrictEqual(yield* transact(store.lock(theirs, row.webhook.id)), Option.none())
    }))

  it.effect("abandons the pending deliveries of one webhook, and no others, the newest first", () =>
    Effect.gen(function*() {
      const store = yield* WebhookStore
      const deliveries = yield* WebhookDeliveryStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [gone, other] = [yield* webhook(ours), yield* webhook(ours)]
      const pending = yield* told(ours, gone)
      const done = attempted(yield* told(ours, gone, 1), { ...attempt, failure_code: null }, null)
      yield* deliveries.update(ours, done, null)
      const newer = yield* told(ours, gone, 2)
      const kept = yield* told(ours, other)
      yield* store.abandon(theirs, gone.webhook.id, 9)
      assert.deepStrictEqual(yield* deliveries.list(ours, gone.webhook.id, 9), [newer, done, pending])
      yield* store.abandon(ours, gone.webhook.id, 1)
      assert.deepStrictEqual(yield* deliveries.list(ours, gone.webhook.id, 9), [abandoned(newer), done, pending])
      yield* store.abandon(ours, gone.webhook.id, 9)
      assert.deepStrictEqual(
        yield* deliveries.list(ours, gone.webhook.id, 9),
        [abandoned(newer), done, abandoned(pending)]
      )
      assert.deepStrictEqual(yield* deliveries.list(ours, other.webhook.id, 9), [kept])
    }))

  it.effect("finds the secrets that another key sealed, and replaces them", () =>
    Effect.gen(function*() {
      const store = yield* WebhookStore
      const ours = yield* Fixtures.organization
      const prefix = `${yield* Fixtures.uuid}.`
      const [old, young] = [yield* webhook(ours), yield* webhook(ours, {}, `${prefix}secret`)]
      const gone = yield* webhook(ours)
      yield* store.update(ours, { ...gone, webhook: disable(gone.webhook, after(1)) })
      const found = (yield* store.sealedOtherwise(prefix, 10_000)).filter((row) => row.organization_id === ours)
      const { sealed_secret } = old
      assert.deepStrictEqual(found, [{ organization_id: ours, id: old.webhook.id, sealed_secret }])
      assert.lengthOf(yield* store.sealedOtherwise(prefix, 1), 1)
      yield* store.reseal(ours, old.webhook.id, "what it is not", "x")
      yield* store.reseal(ours, old.webhook.id, sealed_secret, `${prefix}again`)
      const resealed = Option.getOrThrow(yield* store.find(ours, old.webhook.id))
      assert.strictEqual(resealed.sealed_secret, `${prefix}again`)
      assert.deepStrictEqual(yield* store.find(ours, young.webhook.id), Option.some(young))
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
      const to = yield* webhook(ours)
      const delivery = yield* told(ours, to)
      const failed: Attempt = { ...attempt, response_body }
      const first = attempted(delivery, failed, next ? after(9) : null)
      yield* store.update(ours, first, failed)
      yield* store.update(theirs, delivery, null)
      assert.deepStrictEqual(Option.getOrThrow(yield* store.load(ours, delivery.id)).delivery, first)
      const second = attempted(first, { ...failed, response_status: 200, failure_code: null }, null)
      yield* store.update(ours, second, failed)
      assert.deepStrictEqual(yield* store.list(ours, to.webhook.id, 9), [second])
      assert.deepStrictEqual(yield* store.load(theirs, delivery.id), Option.none())
      assert.deepStrictEqual(yield* store.list(theirs, to.webhook.id, 9), [])
    }), { arbitrary: { runs } })

  it.effect("lists the most recent, newest first, then by id descending", () =>
    Effect.gen(function*() {
      const store = yield* WebhookDeliveryStore
      const ours = yield* Fixtures.organization
      const to = yield* webhook(ours)
      const rows = yield* Effect.forEach([0, 2, 1, 2, 0], (millis) => told(ours, to, millis))
      const sorted = newestFirst(rows, ({ created_at }) => created_at.epochMilliseconds)
      assert.deepStrictEqual(yield* store.list(ours, to.webhook.id, 9), sorted)
      assert.deepStrictEqual(yield* store.list(ours, to.webhook.id, 3), sorted.slice(0, 3))
    }))

  it.effect("takes the same attempt from two who made it", () =>
    Effect.gen(function*() {
      const store = yield* WebhookDeliveryStore
      const ours = yield* Fixtures.organization
      const to = yield* webhook(ours)
      const delivery = yield* told(ours, to)
      yield* store.update(ours, attempted(delivery, attempt, after(9)), attempt)
      const late = { ...attempt, at: after(6), failure_code: null }
      yield* store.update(ours, attempted(delivery, late, null), late)
      assert.deepStrictEqual(yield* store.list(ours, to.webhook.id, 9), [attempted(delivery, late, null)])
    }))

  it.effect("lets one unit of work at a time pass `lock`", () =>
    Effect.gen(function*() {
      const store = yield* WebhookDeliveryStore
      const { transact } = yield* UnitOfWork
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const { id } = yield* told(ours, yield* webhook(ours))
      const turn = Effect.gen(function*() {
        const found = Option.getOrThrow(yield* store.lock(ours, id))
        yield* Effect.yieldNow
        yield* store.update(ours, attempted(found, attempt, after(9)), { ...attempt })
      })
      yield* Effect.all(Array.from({ length: 10 }, () => transact(turn)), { concurrency: "unbounded" })
      const loaded = Option.getOrThrow(yield* store.load(ours, id))
      assert.strictEqual(loaded.delivery.attempt_count, 10)
      assert.deepStrictEqual(yield* transact(store.lock(theirs, id)), Option.none())
    }))
}

export const suites = { EventStore: events, WebhookStore: webhooks, WebhookDeliveryStore: deliveries }
