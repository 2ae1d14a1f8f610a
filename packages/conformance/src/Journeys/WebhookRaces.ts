/** A webhook that is disabled or gets another URL while events are raised and deliveries attempted. */
import { assert, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import * as Events from "@messaging-crm/core/Events"
import { ConversationId, Ids } from "@messaging-crm/core/Ids"
import { WebhookDeliveries, WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookDispatch } from "@messaging-crm/core/WebhookDispatch"
import { abandoned_max, UpdateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { DateTime, Deferred, Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { type Outcome, ScriptedEndpoints } from "../Endpoints.ts"
import * as Fixtures from "../Fixtures.ts"
import * as Scene from "./JourneyScene.ts"
import { refused, responded, subscribed } from "./WebhookScene.ts"

/** Returns the changes that raise `count` events, as closing conversations does. */
const changesRaising = Effect.fnUntraced(function*(count: number) {
  const { next: uuid } = yield* Ids
  const now = yield* DateTime.now
  const conversation_id = ConversationId.make(uuid())
  return Array.from(
    { length: count },
    () => Changes.raise(Events.make("conversation.closed", { conversation_id }, { now, uuid }))
  )
})

/** A new webhook with `count` deliveries that are due. */
const subscribe = Effect.fnUntraced(function*(count: number) {
  const { as, id, organization_id, posted, respond } = yield* subscribed
  const raise = (count: number) =>
    Effect.flatMap(changesRaising(count), (changes) => Fixtures.mustCommit(organization_id, ...changes))
  if (count > 0) yield* Effect.andThen(raise(count), Fixtures.expandEvents)
  return {
    organization_id,
    id,
    as,
    respond: (how: Outcome) => respond(() => how),
    disable: Webhooks.use((webhooks) => webhooks.disable(id)).pipe(as, Effect.orDie),
    posted: Effect.map(posted, ({ length }) => length),
    raise,
    /** How many deliveries are in which state, and why. */
    states: Effect.map(
      WebhookDeliveryStore.use((store) => store.list(organization_id, id, count + 99)),
      (deliveries) =>
        Object.entries(Object.groupBy(deliveries, ({ failure_code, status }) => failure_code ?? status))
          .map(([state, inState]) => `${inState?.length} ${state}`).toSorted()
    )
  }
})
type Subscribed = Effect.Success<ReturnType<typeof subscribe>>

/** Runs an effect after an event is posted to the endpoint, and before the endpoint responds with the status. */
const runBeforeResponse = Effect.fnUntraced(
  function*<E, R>({ respond }: Subscribed, status: number, effect: Effect.Effect<unknown, E, R>) {
    const [posting, may_respond] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const waits = Effect.andThen(Deferred.succeed(posting, undefined), Deferred.await(may_respond))
    yield* respond(Effect.andThen(waits, responded(status)))
    const working = yield* Effect.forkChild(Scene.work)
    yield* Deferred.await(posting)
    yield* effect
    yield* Deferred.succeed(may_respond, undefined)
    yield* Fiber.join(working)
  }
)

/** Loads the latest delivery, as a claim does that began just before a manual retry, and claims it after the retry. */
const retryDuringClaim = Effect.fnUntraced(function*({ as, id, organization_id }: Subscribed) {
  const store = yield* WebhookDeliveryStore
  const [latest] = yield* store.list(organization_id, id, 1)
  if (latest === undefined) return yield* Effect.die(new Error("There is no delivery."))
  const before = yield* store.load(organization_id, latest.id)
  yield* WebhookDeliveries.use((deliveries) => deliveries.retry(id, latest.id)).pipe(as, Effect.orDie)
  const now = yield* DateTime.now
  const claim = { kind: "webhook_delivery", limit: 64, now, lease_until: DateTime.add(now, { hours: 1 }) } as const
  const claimed = yield* store.claim({ ...claim, token: yield* Fixtures.uuid })
  return claimed.filter(({ claimed: { ref } }) => ref === latest.id)
    .map(({ claimed }) => ({ claimed, outgoing: Option.getOrNull(before) }))
})

const disabled = (it: Scene.It) => {
  it.effect("that is disabled ends its deliveries at once, with any number of pending deliveries, and with an endpoint that was paused", () =>
    Effect.gen(function*() {
      const { respond, disable, posted, states } = yield* subscribe(abandoned_max + 20)
      yield* respond(refused)
      yield* Scene.work
      assert.strictEqual(yield* posted, 16)
      const before = yield* states
      assert.deepStrictEqual(before, ["16 connection_refused", `${abandoned_max + 4} pending`].toSorted())
      yield* disable
      assert.include(yield* states, `${abandoned_max} webhook_disabled`)
      yield* TestClock.adjust("5 seconds")
      yield* Scene.work
      assert.deepStrictEqual(yield* states, [`${abandoned_max + 20} webhook_disabled`])
      assert.strictEqual(yield* posted, 16)
    }))

  for (const [status, state] of [[200, "1 succeeded"], [500, "1 http_status"]] as const) {
    it.effect(`that is disabled while an event is posted to it keeps the response, ${status}`, () =>
      Effect.gen(function*() {
        const webhook = yield* subscribe(1)
        const disable = Effect.gen(function*() {
          yield* webhook.disable
          assert.deepStrictEqual(yield* webhook.states, ["1 webhook_disabled"])
        })
        yield* runBeforeResponse(webhook, status, disable)
        assert.deepStrictEqual(yield* webhook.states, [state])
        yield* TestClock.adjust("5 minutes")
        yield* Scene.work
        assert.strictEqual(yield* webhook.posted, 1)
      }))
  }
}

const active = (it: Scene.It) => {
  it.effect("is not treated as disabled by a claim that began before a manual retry", () =>
    Effect.gen(function*() {
      const webhook = yield* subscribe(1)
      yield* Scene.work
      const claimed = yield* retryDuringClaim(webhook)
      assert.lengthOf(claimed, 1)
      for (const item of claimed) yield* WebhookDispatch.use((dispatch) => dispatch.attempt(item))
      assert.deepStrictEqual(yield* webhook.states, ["1 pending"])
      yield* Scene.work
      assert.deepStrictEqual(yield* webhook.states, ["1 succeeded"])
      assert.strictEqual(yield* webhook.posted, 2)
    }))

  it.effect("is not disabled by the response of its former endpoint, and pending deliveries go to its new URL", () =>
    Effect.gen(function*() {
      const webhook = yield* subscribe(20)
      const { as, id, posted, respond, states } = webhook
      yield* respond(refused)
      yield* Scene.work
      yield* TestClock.adjust("10 minutes")
      const url = `https://${yield* Fixtures.uuid}.shop.example/crm`
      const move = as(Webhooks.use((webhooks) => webhooks.update(id, UpdateWebhook.make({ url }))))
      yield* runBeforeResponse(webhook, 410, move)
      yield* Scene.work
      assert.deepStrictEqual(yield* states, ["20 succeeded"])
      assert.lengthOf(yield* ScriptedEndpoints.use((endpoints) => endpoints.posted(url)), 20)
      assert.strictEqual(yield* posted, 17)
    }))
}

const concurrentChanges = (it: Scene.It) => {
  it.effect("gets no event that is raised while it is disabled or afterwards", () =>
    Effect.gen(function*() {
      const { disable, posted, raise, states } = yield* subscribe(0)
      const raising = Array.from({ length: 10 }, () => raise(1))
      yield* Effect.all([...raising.slice(0, 5), disable, ...raising.slice(5)], { concurrency: "unbounded" })
      yield* raise(1)
      const before = yield* states
      yield* Scene.work
      const after = yield* states
      // In either order: events raised before end with the webhook, and later ones have no delivery to it.
      assert.isTrue(after.every((state) => /^\d+ webhook_disabled$/.test(state)), `${before} ${after}`)
      assert.strictEqual(yield* posted, 0)
    }))

  it.effect("is disabled once by concurrent requests", () =>
    Effect.gen(function*() {
      const { disable, states } = yield* subscribe(3)
      const results = yield* Effect.replicateEffect(disable, 8, { concurrency: "unbounded" })
      assert.strictEqual(new Set(results.map(({ disabled_at }) => disabled_at?.epochMilliseconds)).size, 1)
      assert.deepStrictEqual(yield* states, ["3 webhook_disabled"])
    }))
}

export const journeyTests = (storage: Scene.Storage) => {
  it.layer(Scene.crm(storage), { timeout: "5 minutes" })("a webhook", (it) => {
    disabled(it)
    active(it)
    concurrentChanges(it)
  })
}
