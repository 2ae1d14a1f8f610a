/** The polling loop: its items in progress, and the claims that it releases when it is stopped. */
import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import { ok, ScriptedEndpoints } from "@messaging-crm/conformance/Endpoints"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Provider from "@messaging-crm/conformance/Provider"
import { ScriptedProvider } from "@messaging-crm/conformance/Provider"
import { CurrentActor } from "@messaging-crm/core/Actor"
import type { Changes } from "@messaging-crm/core/Changes"
import { Commit } from "@messaging-crm/core/Commit"
import { CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import * as Crm from "@messaging-crm/core/Crm"
import { type ConversationId, Ids, type SendId } from "@messaging-crm/core/Ids"
import { Phone } from "@messaging-crm/core/Phones"
import { SecretCanary } from "@messaging-crm/core/SecretCanary"
import { Sends, StartConversation } from "@messaging-crm/core/Sends"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { in_progress_max, Worker } from "@messaging-crm/core/Worker"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Deferred, Effect, Fiber, Layer, Ref } from "effect"
import { TestClock } from "effect/testing"

const world = Crm.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Memory.layer, Provider.layer("callback_ref"), Ids.layer))
)

const queued = Effect.gen(function*() {
  const organization_id = yield* Fixtures.organization
  const channel = yield* Fixtures.channel(organization_id)
  // Decryption takes real time, in which the test's clock stands still.
  yield* SecretCanary.use(({ isOpened }) => isOpened)
  /** Runs an operation as the organization. A failure is a defect. */
  const as = <A, E, R>(effect: Effect.Effect<A, E, R | CurrentActor>) =>
    effect.pipe(Effect.provideService(CurrentActor, { organization_id, member_id: null }), Effect.orDie)
  const start = (phone: string) =>
    as(Sends.use((sends) =>
      sends.start(StartConversation.make({
        channel_id: channel.id,
        phone: Phone.make(phone),
        template: { id: "greeting", components: [{ type: "body", parameters: [{ type: "text", text: "Kim" }] }] }
      }))
    ))
  const get = (id: SendId) => as(Sends.use((sends) => sends.get(id)))
  return { as, get, start }
})

type Scene = Effect.Success<typeof queued>

const subscribe = ({ as }: Scene, url: string) =>
  as(Webhooks.use((webhooks) => webhooks.create(CreateWebhook.make({ url, event_types: ["conversation.closed"] }))))

/** Starts conversations with different people. */
const startMany = ({ start }: Scene, count: number) =>
  Effect.forEach(Array.from({ length: count }, (_, index) => `+491512${100_000 + index}`), start)

const close = ({ as }: Scene, id: ConversationId) =>
  as(Conversations.use((conversations) => conversations.close(id, CloseConversation.make({}))))

/** Starts and closes conversations, each of which raises an event. */
const raise = (scene: Scene, events: number) =>
  Effect.flatMap(
    startMany(scene, events),
    Effect.forEach(({ conversation_id }) => close(scene, conversation_id), { discard: true })
  )

/**
 * Repeats a step until a condition holds. Signatures take real time, in which the test's clock stands still, so the limit is in
 * real time too.
 */
const repeatUntil = Effect.fnUntraced(function*<R>(
  holds: Effect.Effect<boolean, never, R>,
  failure: string,
  step: Effect.Effect<void> = Effect.yieldNow
) {
  const end = performance.now() + 60_000
  while (!(yield* holds)) {
    if (performance.now() > end) assert.fail(failure)
    yield* step
  }
})

/** The maximum number of items in progress of a kind of one organization: as many as slots stay free. */
const organization_max = in_progress_max / 2

/**
 * The worker, which is stopped at the end of the test. It waits for its items in progress by the test's clock, so without this
 * a test that fails would not end.
 */
const background = Effect.acquireRelease(
  Effect.forkDetach(Worker.use((worker) => worker.run)),
  Effect.fnUntraced(function*(fiber) {
    const stopping = yield* Effect.forkDetach(Fiber.interrupt(fiber))
    yield* TestClock.adjust("31 seconds")
    yield* Fiber.join(stopping)
  })
)

it.effect("executes work that is enqueued while it runs", () =>
  Effect.gen(function*() {
    const { get, start } = yield* queued
    yield* background
    const { id } = yield* start("+4915112345678")
    yield* TestClock.adjust("1 seconds")
    assert.strictEqual((yield* get(id)).status, "sent")
  }).pipe(Effect.scoped, Effect.provide(world)))

/** A store in which so many commits that give a send a status are defects. */
const failing = (left: Record<string, number>) => {
  const isRejected = ({ update = [] }: Changes): boolean =>
    update.some(({ set }) => {
      const status = String(set["status"])
      left[status] = (left[status] ?? 0) - 1
      return left[status] >= 0
    })
  const commits = Layer.effect(
    Commit,
    Effect.map(Commit, ({ commit }) =>
      Commit.of({
        commit: (organization_id, changes) =>
          isRejected(changes) ? Effect.die("disk full") : commit(organization_id, changes)
      }))
  ).pipe(Layer.provideMerge(Memory.layer))
  return Crm.layer.pipe(Layer.provideMerge(Layer.mergeAll(commits, Provider.layer("callback_ref"), Ids.layer)))
}

for (const failed of [0, 1, 4]) {
  it.effect(`fails a send after five defects, even if its failure cannot be recorded ${failed} times`, () =>
    Effect.gen(function*() {
      const { get, start } = yield* queued
      const { id } = yield* start("+4915112345678")
      for (let seconds = 0; seconds < 200; seconds += 2) {
        yield* Worker.use((worker) => worker.runOnce)
        yield* TestClock.adjust("2 seconds")
      }
      assert.strictEqual((yield* get(id)).status, "failed")
    }).pipe(Effect.provide(failing({ sending: 5, failed }))))
}

it.effect("posts events while the maximum of sends waits for the provider", () =>
  Effect.gen(function*() {
    const ours = yield* queued
    const provider = yield* ScriptedProvider
    const [full, posted] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const receivedAll = Effect.map(provider.received, ({ length }) => length === organization_max)
    const whenFull = Effect.when(Deferred.succeed(full, undefined), receivedAll)
    yield* provider.respond(() => Effect.andThen(whenFull, Effect.never))
    const url = "https://shop.example/webhook"
    yield* ScriptedEndpoints.use(({ respond }) =>
      respond(url, () => Effect.as(Deferred.succeed(posted, undefined), ok))
    )
    yield* subscribe(ours, url)
    const { conversation_id } = yield* ours.start("+4915112345678")
    yield* startMany(ours, 300)
    yield* background
    yield* Deferred.await(full)
    yield* close(ours, conversation_id)
    yield* Deferred.await(posted)
    assert.lengthOf(yield* provider.received, organization_max)
  }).pipe(Effect.scoped, Effect.provide(world)))

it.effect("sends while the maximum of deliveries waits for endpoints that do not respond", () =>
  Effect.gen(function*() {
    const ours = yield* queued
    const endpoints = yield* ScriptedEndpoints
    const provider = yield* ScriptedProvider
    const [full, called] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const waiting = yield* Ref.make(0)
    const hang = Effect.gen(function*() {
      const count = yield* Ref.updateAndGet(waiting, (count) => count + 1)
      if (count === organization_max) yield* Deferred.succeed(full, undefined)
      return yield* Effect.never
    })
    for (let index = 0; index < 40; index++) {
      const url = `https://shop-${index}.example/webhook`
      yield* endpoints.respond(url, () => hang)
      yield* subscribe(ours, url)
    }
    yield* raise(ours, 8)
    yield* background
    yield* Deferred.await(full)
    yield* provider.respond(({ reference }) =>
      Effect.as(Deferred.succeed(called, undefined), { provider_message_id: `p.${reference}` })
    )
    yield* ours.start("+4915112345678")
    yield* Deferred.await(called)
    assert.strictEqual(yield* Ref.get(waiting), organization_max)
  }).pipe(Effect.scoped, Effect.provide(world)))

it.effect("delivers within 5 s while a hundred webhooks of another organization respond after 14 s", () =>
  Effect.gen(function*() {
    const [slow, other] = [yield* queued, yield* queued]
    const endpoints = yield* ScriptedEndpoints
    for (let index = 0; index < 100; index++) {
      const url = `https://slow-${index}.example/webhook`
      yield* endpoints.respond(url, () => Effect.as(Effect.sleep("14 seconds"), ok))
      yield* subscribe(slow, url)
    }
    const arrived = yield* Ref.make(0)
    const url = "https://shop.example/webhook"
    yield* endpoints.respond(url, () => Effect.as(Ref.update(arrived, (count) => count + 1), ok))
    yield* subscribe(other, url)
    yield* raise(slow, 9)
    yield* background
    for (const seconds of [1, 9, 30]) {
      yield* TestClock.adjust(`${seconds} seconds`)
      const before = yield* Ref.get(arrived)
      yield* raise(other, 11)
      yield* TestClock.adjust("5 seconds")
      const haveArrived = Effect.map(Ref.get(arrived), (count) => count - before >= 11)
      yield* repeatUntil(haveArrived, "Not all 11 events arrived.")
    }
  }).pipe(Effect.scoped, Effect.provide(world)))

it.effect("sends while the network does not respond to the sends of three other organizations", () =>
  Effect.gen(function*() {
    const silent = yield* Effect.replicateEffect(queued, 3)
    const other = yield* queued
    const provider = yield* ScriptedProvider
    const called = yield* Deferred.make<void>()
    yield* provider.respond(({ recipient }) =>
      recipient === "+4915112345678" ? Effect.andThen(Deferred.succeed(called, undefined), Effect.never) : Effect.never
    )
    for (const organization of silent) yield* startMany(organization, 300)
    yield* background
    yield* TestClock.adjust("5 seconds")
    yield* other.start("+4915112345678")
    yield* TestClock.adjust("5 seconds")
    yield* Deferred.await(called)
  }).pipe(Effect.scoped, Effect.provide(world)))

it.effect("makes at most 32 attempts to one host at once, of one organization half, and fails none that waits", () =>
  Effect.gen(function*() {
    const [slow, other] = [yield* queued, yield* queued]
    const endpoints = yield* ScriptedEndpoints
    const [running, most] = [yield* Ref.make(0), yield* Ref.make(0)]
    const hang = Effect.gen(function*() {
      const count = yield* Ref.updateAndGet(running, (count) => count + 1)
      yield* Ref.update(most, (before) => Math.max(before, count))
      yield* Effect.sleep("14 seconds")
      yield* Ref.update(running, (count) => count - 1)
      return ok
    })
    for (let index = 0; index < 100; index++) {
      const url = `https://victim.example:${2000 + index}/webhook`
      yield* endpoints.respond(url, () => hang)
      yield* subscribe(slow, url)
    }
    const url = "https://victim.example/webhook"
    const arrived = yield* Ref.make(0)
    yield* endpoints.respond(url, () => Effect.as(Ref.update(arrived, (count) => count + 1), ok))
    yield* subscribe(other, url)
    yield* raise(slow, 2)
    yield* background
    yield* TestClock.adjust("10 seconds")
    yield* raise(other, 3)
    yield* TestClock.adjust("2 seconds")
    yield* repeatUntil(Effect.map(Ref.get(arrived), (count) => count >= 3), "Not all 3 events arrived.")
    const isDone = Effect.gen(function*() {
      const counts = yield* WorkQueue.use((queue) => Effect.flatMap(DateTime.now, queue.backlog))
      const found = counts.find(({ kind }) => kind === "webhook_delivery")
      return found === undefined || found.due + found.leased + found.later === 0
    })
    const step = Effect.andThen(TestClock.adjust("5 seconds"), Effect.yieldNow)
    yield* repeatUntil(isDone, "Some deliveries did not end.", step)
    const posted = yield* endpoints.posted("https://victim.example:2000/webhook")
    assert.lengthOf(posted, 2)
    assert.strictEqual(yield* Ref.get(most), 16)
  }).pipe(Effect.scoped, Effect.provide(world)))

it.effect("posts eight events to a webhook at a time, and each next one once another has ended", () =>
  Effect.gen(function*() {
    const ours = yield* queued
    const endpoints = yield* ScriptedEndpoints
    const url = "https://shop.example/webhook"
    const [posts, running, most] = [yield* Ref.make(0), yield* Ref.make(0), yield* Ref.make(0)]
    const [full, done] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    yield* endpoints.respond(url, () =>
      Effect.gen(function*() {
        const count = yield* Ref.updateAndGet(running, (count) => count + 1)
        yield* Ref.update(most, (before) => Math.max(before, count))
        if (count === 8) yield* Deferred.succeed(full, undefined)
        yield* Deferred.await(full)
        yield* Effect.yieldNow
        yield* Ref.update(running, (count) => count - 1)
        if ((yield* Ref.updateAndGet(posts, (count) => count + 1)) === 30) yield* Deferred.succeed(done, undefined)
        return ok
      }))
    yield* subscribe(ours, url)
    yield* raise(ours, 30)
    yield* background
    yield* Deferred.await(done)
    assert.strictEqual(yield* Ref.get(most), 8)
  }).pipe(Effect.scoped, Effect.provide(world)))

it.effect("finishes the items in progress when it is stopped, and claims no more", () =>
  Effect.gen(function*() {
    const { get, start } = yield* queued
    const [called, may_respond] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    yield* ScriptedProvider.use((provider) =>
      provider.respond(({ reference }) =>
        Deferred.succeed(called, undefined).pipe(
          Effect.andThen(Deferred.await(may_respond)),
          Effect.as({ provider_message_id: `p.${reference}` })
        )
      )
    )
    const fiber = yield* background
    const first = yield* start("+4915112345678")
    yield* Effect.andThen(TestClock.adjust("1 seconds"), Deferred.await(called))
    const stopping = yield* Effect.forkChild(Fiber.interrupt(fiber))
    yield* TestClock.adjust("5 seconds")
    const second = yield* start("+4915112345679")
    yield* Deferred.succeed(may_respond, undefined)
    yield* Fiber.join(stopping)
    assert.strictEqual((yield* get(first.id)).status, "sent")
    assert.strictEqual((yield* get(second.id)).status, "queued")
  }).pipe(Effect.scoped, Effect.provide(world)))

it.effect("treats an attempt without a response within 20 seconds as unknown, also while it stops", () =>
  Effect.gen(function*() {
    const { get, start } = yield* queued
    const called = yield* Deferred.make<void>()
    yield* ScriptedProvider.use((provider) =>
      provider.respond(() => Effect.andThen(Deferred.succeed(called, undefined), Effect.never))
    )
    const fiber = yield* background
    const { id } = yield* start("+4915112345678")
    yield* Effect.andThen(TestClock.adjust("1 seconds"), Deferred.await(called))
    const stopping = yield* Effect.forkChild(Fiber.interrupt(fiber))
    yield* TestClock.adjust("21 seconds")
    yield* Fiber.join(stopping)
    assert.strictEqual((yield* get(id)).status, "unknown")
  }).pipe(Effect.scoped, Effect.provide(world)))

it.effect("releases the claims of items that it does not finish in time", () =>
  Effect.gen(function*() {
    const { start } = yield* queued
    const called = yield* Deferred.make<void>()
    yield* ScriptedProvider.use((provider) =>
      provider.respond(() => Effect.andThen(Deferred.succeed(called, undefined), Effect.never))
    )
    const { id } = yield* start("+4915112345678")
    const fiber = yield* Effect.forkChild(Worker.use((worker) => worker.runOnce))
    yield* Deferred.await(called)
    yield* Fiber.interrupt(fiber)
    const now = yield* DateTime.now
    const claimed = yield* WorkQueue.use((queue) =>
      queue.claim({ kind: "send", limit: 9, now, lease_until: DateTime.add(now, { seconds: 60 }), token: id })
    )
    assert.deepStrictEqual(claimed.map(({ attempt, ref }) => ({ attempt, ref })), [{ attempt: 1, ref: id }])
  }).pipe(Effect.provide(world)))
