/** A batch of a replay: its time limit, and how its posts change the health of the endpoint. */
import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { CurrentActor } from "@messaging-crm/core/Actor"
import * as Changes from "@messaging-crm/core/Changes"
import { Commit } from "@messaging-crm/core/Commit"
import { Decide } from "@messaging-crm/core/Decide"
import * as Events from "@messaging-crm/core/Events"
import { ConversationId, Ids } from "@messaging-crm/core/Ids"
import { Rows } from "@messaging-crm/core/Rows"
import { Secrets } from "@messaging-crm/core/Secrets"
import { ReplayWebhook, WebhookReplayRows, WebhookReplays } from "@messaging-crm/core/WebhookReplays"
import { WebhookRows } from "@messaging-crm/core/Webhooks"
import { LeaseTime, WorkQueue, WorkSignal } from "@messaging-crm/core/WorkQueue"
import { DateTime, Duration, Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { post_time_max, type Posted, type Posting, WebhookPosts } from "../../src/deliveries/WebhookAttempt.ts"
import { StorageUse } from "../../src/work/StorageUse.ts"

/** Layer of the stored events. */
const stored = Layer.effect(Events.EventStore, Events.EventStore)

/** The result of a post that the endpoint accepts. */
const accepted = Effect.map(DateTime.now, (at): Posted => ({
  attempt: { at, duration_ms: 1, response_status: 200, response_body: "", failure_code: null },
  retry_after: null
}))

/** Layer of replays with their posts, which can read and change the store. */
const replaysWith = (
  events: Layer.Layer<Events.EventStore, never, Events.EventStore>,
  post: (posting: Posting) => Effect.Effect<Posted, never, Commit>
) => {
  const posts = Layer.effect(
    WebhookPosts,
    Commit.useSync((commit) => ({
      post: (posting: Posting) => Effect.provideService(post(posting), Commit, commit)
    }))
  )
  return WebhookReplays.layer.pipe(
    Layer.provide([posts, Decide.layer, events]),
    Layer.provideMerge(WorkSignal.layer),
    Layer.provideMerge(Layer.mergeAll(Ids.layer, Secrets.layer, StorageUse.layer)),
    Layer.provideMerge(Memory.layer)
  )
}

/** Layer of replays whose posts take this long, one after the other. Further ones take the longest time. */
const slow = (
  events: Layer.Layer<Events.EventStore, never, Events.EventStore>,
  ...seconds: ReadonlyArray<number>
) => {
  const left = seconds.map(Duration.seconds)
  return replaysWith(
    events,
    () => Effect.tap(accepted, Effect.suspend(() => Effect.sleep(left.shift() ?? post_time_max)))
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
  const webhook = Effect.map(Rows.use((rows) => rows.find(WebhookRows, organization_id, webhook_id)), Option.getOrThrow)
  return { claim, position, webhook }
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

for (const response_status of [200, 500]) {
  it.effect(`counts no success at an earlier URL as one of its URL, which then responds with ${response_status}`, () => {
    const failure_code = response_status === 200 ? null : "http_status" as const
    let posts = 0
    /** The first post, during which the webhook gets a URL that has failed four times, and one to that URL. */
    const post = Effect.fnUntraced(function*({ organization_id, webhook }: Posting) {
      const posted = yield* accepted
      if (++posts > 1) {
        return { ...posted, attempt: { ...posted.attempt, response_status, failure_code } } satisfies Posted
      }
      const set = { url: "https://new.example", consecutive_failures: 4, first_failure_at: posted.attempt.at }
      yield* Fixtures.mustCommit(organization_id, WebhookRows.update(webhook, set))
      return posted
    })
    return Effect.gen(function*() {
      const { claim, webhook } = yield* claimed(response_status === 200 ? 1 : 2)
      const [work] = yield* claim
      if (work === undefined) return assert.fail("There is no work.")
      yield* WebhookReplays.use((replays) => replays.attempt(work))
      assert.strictEqual((yield* webhook).consecutive_failures, response_status === 200 ? 4 : 5)
    }).pipe(Effect.provide(replaysWith(stored, post)))
  })
}
