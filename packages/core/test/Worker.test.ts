/** The polling loop: the items that it executes, and the claims that it releases when it is stopped. */
import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as Provider from "@messaging-crm/conformance/Provider"
import { ScriptedProvider } from "@messaging-crm/conformance/Provider"
import type { Changes } from "@messaging-crm/core/Changes"
import { Commit } from "@messaging-crm/core/Commit"
import { Worker } from "@messaging-crm/core/Worker"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Deferred, Effect, Fiber, Layer, Option, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { background, passUntil, queued, raise, subscribe, world } from "./WorkerScene.ts"

it.effect("executes work that is enqueued while it runs", () =>
  Effect.gen(function*() {
    const { get, start } = yield* queued
    yield* background
    const { id } = yield* start("+4915112345678")
    yield* TestClock.adjust("1 seconds")
    yield* passUntil(Effect.map(get(id), ({ status }) => status === "sent"))
  }).pipe(Effect.scoped, Effect.provide(world)))

for (const sampled of [true, false]) {
  it.effect(`executes the work of a${sampled ? "" : "n un"}sampled trace within it, and so that of the work`, () => {
    const spans: Array<Tracer.Span> = []
    const recording = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    return Effect.gen(function*() {
      const scene = yield* queued
      yield* subscribe(scene, "https://hooks.example.com")
      yield* Effect.withSpan(raise(scene, 1), "request", { sampled })
      for (let round = 0; round < 3; round++) yield* Worker.use((worker) => worker.runOnce)
      const request = spans.find(({ name }) => name === "request")
      const executed = spans.filter(({ name }) => /^Worker\.(send|webhook)/.test(name))
      assert.deepStrictEqual(
        executed.map(({ name, sampled, traceId }) => [name, sampled, traceId]),
        ["send", "webhook_event", "webhook_delivery"].map((kind) => [`Worker.${kind}`, sampled, request?.traceId])
      )
      const ids = new Set(executed.map(({ spanId }) => spanId))
      const below = spans.filter(({ parent }) => Option.exists(parent, ({ spanId }) => ids.has(spanId)))
      assert.isAbove(below.length, 0)
      assert.isTrue(below.every((span) => span.sampled === sampled))
    }).pipe(Effect.provide(world), Effect.withTracer(recording))
  })
}

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
  return Provider.crm(commits)
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

it.effect("reports the outcome of a send as unknown if its last defect followed the provider's call", () =>
  Effect.gen(function*() {
    const { get, start } = yield* queued
    yield* ScriptedProvider.use((provider) => provider.respond(() => Effect.die("the process ran out of memory")))
    const { id } = yield* start("+4915112345678")
    const statuses = new Set<string>()
    for (let seconds = 0; seconds < 1200; seconds += 2) {
      yield* Worker.use((worker) => worker.runOnce)
      statuses.add((yield* get(id)).status)
      yield* TestClock.adjust("2 seconds")
    }
    assert.deepStrictEqual(Array.from(statuses), ["queued", "sending", "unknown", "failed"])
    assert.strictEqual((yield* get(id)).failure_reason, "outcome_unknown")
  }).pipe(Effect.provide(failing({ sending: 4 }))))

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

it.effect("executes the items of a claim during which it is stopped", () => {
  const claimed = Deferred.makeUnsafe<void>()
  const may_return = Deferred.makeUnsafe<void>()
  const claims = Layer.effect(
    WorkQueue,
    Effect.map(WorkQueue, (queue) =>
      WorkQueue.of({
        ...queue,
        claim: (options) =>
          Effect.tap(queue.claim(options), ({ length }) =>
            length === 0
              ? Effect.void
              : Effect.andThen(Deferred.succeed(claimed, undefined), Deferred.await(may_return)))
      }))
  ).pipe(Layer.provideMerge(Memory.layer))
  const slow = Provider.crm(claims)
  return Effect.gen(function*() {
    const { get, start } = yield* queued
    const { id } = yield* start("+4915112345678")
    const fiber = yield* background
    yield* Effect.andThen(TestClock.adjust("1 seconds"), Deferred.await(claimed))
    const stopping = yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
    yield* Deferred.succeed(may_return, undefined)
    yield* Fiber.join(stopping)
    assert.strictEqual((yield* get(id)).status, "sent")
  }).pipe(Effect.scoped, Effect.provide(slow))
})

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
