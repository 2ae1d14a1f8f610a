/** A batch of a replay ends within its lease, however long its endpoint and the slots of the host take. */
import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { CurrentActor } from "@messaging-crm/core/Actor"
import * as Changes from "@messaging-crm/core/Changes"
import { Decide } from "@messaging-crm/core/Decide"
import * as Events from "@messaging-crm/core/Events"
import { ConversationId, Ids } from "@messaging-crm/core/Ids"
import { Rows } from "@messaging-crm/core/Rows"
import { Secrets } from "@messaging-crm/core/Secrets"
import { ReplayWebhook, WebhookReplayRows, WebhookReplays } from "@messaging-crm/core/WebhookReplays"
import { LeaseTime, WorkQueue, WorkSignal } from "@messaging-crm/core/WorkQueue"
import { DateTime, Duration, Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { post_time_max, type Posted, WebhookPosts } from "../../src/webhooks/WebhookAttempt.ts"
import { StorageUse } from "../../src/work/StorageUse.ts"

/** Layer of the stored events. */
const stored = Layer.effect(Events.EventStore, Events.EventStore)

/** Layer of replays whose posts take this long, one after the other. Further ones take the longest time. */
const slow = (
  events: Layer.Layer<Events.EventStore, never, Events.EventStore>,
  ...seconds: ReadonlyArray<number>
) => {
  const left = seconds.map(Duration.seconds)
  const post = Effect.gen(function*() {
    const at = yield* DateTime.now
    yield* Effect.sleep(left.shift() ?? post_time_max)
    const attempt = { at, duration_ms: 1, response_status: 200, response_body: "", failure_code: null }
    return { attempt, retry_after: null } satisfies Posted
  })
  return WebhookReplays.layer.pipe(
    Layer.provide([Layer.succeed(WebhookPosts, { post: () => post }), Decide.layer, events]),
    Layer.provideMerge(WorkSignal.layer),
    Layer.provideMerge(Layer.mergeAll(Ids.layer, Secrets.layer, StorageUse.layer)),
    Layer.provideMerge(Memory.layer)
  )
}

/** Starts a replay of so many events, and claims it. */
const claimed = Effect.fnUntraced(function*(count: number) {
  const organization_id = yield* Fixtures.organization
  const { id: webhook_id } = yield* Fixtures.webhook(organization_id, { event_types: ["conversation.closed"] })
  const since = yield* DateTime.now
  const { next: uuid } = yield* Ids
  for (let raised = 0; raised < count; raised++) {
    const conversation_id = ConversationId.make(uuid())
    const event = Events.make("conversation.closed", { conversation_id }, { now: since, uuid })
    yield* Fixtures.mustCommit(organization_id, Changes.raise(event))
  }
  yield* TestClock.adjust("1 seconds")
  yield* WebhookReplays.use((replays) => replays.start(webhook_id, ReplayWebhook.make({ since }))).pipe(
    Effect.provideService(CurrentActor, { organization_id, member_id: null })
  )
  const claim = Effect.gen(function*() {
    const now = yield* DateTime.now
    const lease_until = DateTime.addDuration(now, yield* LeaseTime)
    const options = { kind: "webhook_replay", limit: 1, now, lease_until, token: yield* Fixtures.uuid } as const
    return yield* WorkQueue.use((queue) => queue.claim(options))
  })
  const position = Effect.map(
    Rows.use((rows) => rows.find(WebhookReplayRows, organization_id, webhook_id)),
    Option.map(({ position_id }) => position_id)
  )
  return { claim, position }
})

it.effect("has few events in memory at a time, since each can have a large resource", () => {
  const sizes: Array<number> = []
  const counting = Layer.effect(
    Events.EventStore,
    Events.EventStore.useSync((store) =>
      Events.EventStore.of({
        ...store,
        next: (organization_id, filters, page) => {
          sizes.push(page.size)
          return store.next(organization_id, filters, page)
        }
      })
    )
  )
  return Effect.gen(function*() {
    const { claim, position } = yield* claimed(9)
    const [work] = yield* claim
    if (work === undefined) return assert.fail("There is no work.")
    yield* WebhookReplays.use((replays) => replays.attempt(work))
    assert.deepStrictEqual(yield* position, Option.none())
    assert.isAtMost(Math.max(...sizes), 4)
  }).pipe(Effect.provide(slow(counting, ...Array.from({ length: 9 }, () => 0))))
})

for (const [seconds, lease] of [[[19], 60], [[9.9], 60], [[4, 4, 1.9], 60], [[0, 0, 14], 60], [[2], 5]] as const) {
  it.effect(`ends within a lease of ${lease} s if its posts take ${seconds} s, and then the longest time`, () =>
    Effect.gen(function*() {
      const { claim, position } = yield* claimed(9)
      const before = yield* position
      const [work] = yield* claim
      if (work === undefined) return assert.fail("There is no work.")
      const batch = yield* Effect.forkChild(WebhookReplays.use((replays) => replays.attempt(work)))
      yield* TestClock.adjust(Duration.millis(lease * 1000 - 1))
      assert.isDefined(batch.pollUnsafe())
      assert.notDeepEqual(yield* position, before)
    }).pipe(Effect.provide(slow(stored, ...seconds)), Effect.provideService(LeaseTime, Duration.seconds(lease))))
}
