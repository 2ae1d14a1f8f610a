/** The processing of stored callbacks: their order, and their retries after the database has failed. */
import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { CallbackInbox, CallbackStore } from "@messaging-crm/core/CallbackInbox"
import type { Changes } from "@messaging-crm/core/Changes"
import { Commit } from "@messaging-crm/core/Commit"
import { Decide } from "@messaging-crm/core/Decide"
import { Ids } from "@messaging-crm/core/Ids"
import { SecretCanary } from "@messaging-crm/core/SecretCanary"
import { Secrets } from "@messaging-crm/core/Secrets"
import { StorageUse } from "@messaging-crm/core/StorageUse"
import { WorkSignal } from "@messaging-crm/core/WorkQueue"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"

/** An inbox over a memory store, of which a part can be replaced. */
const inboxOver = (
  storage: typeof Memory.layer,
  canary: Layer.Layer<SecretCanary> = Layer.mock(SecretCanary, { isReadable: Effect.succeed(true) })
) =>
  CallbackInbox.layer.pipe(
    Layer.provide(Layer.merge(Decide.layer, canary)),
    Layer.provideMerge(Layer.mergeAll(Secrets.layer, StorageUse.layer, WorkSignal.layer)),
    Layer.provideMerge(storage),
    Layer.provideMerge(Ids.layer)
  )

const decoder = new TextDecoder()

/** A channel, and the functions that store a callback about some people, and process what is due, noting what was processed. */
const scene = Effect.gen(function*() {
  const inbox = yield* CallbackInbox
  const { id } = yield* Fixtures.channel(yield* Fixtures.organization)
  const processed: Array<string> = []
  const store = (body: string, people: ReadonlyArray<string>) =>
    inbox.store("app", [{ channel_id: id, people, body: new TextEncoder().encode(body) }])
  /** Processes what is due. The processing of a body first runs the effect of that body, if it has one, or has to wait. */
  const runOnce = (first: Readonly<Record<string, Effect.Effect<void>>> = {}, waiting = "") =>
    inbox.runOnce(Effect.fnUntraced(function*({ attempt, body }) {
      const name = decoder.decode(body)
      if (name === waiting) return "not in turn" as const
      yield* first[name] ?? Effect.void
      processed.push(`${name} ${attempt}`)
      return undefined
    }))
  return { inbox, processed, runOnce, store }
})

it.effect("a callback waits behind one of the same claim that waits itself", () =>
  Effect.gen(function*() {
    const { processed, runOnce, store } = yield* scene
    const mayEnd = yield* Deferred.make<void>()
    yield* store("old number", ["a"])
    const first = yield* Effect.forkChild(runOnce({ "old number": Deferred.await(mayEnd) }), { startImmediately: true })
    yield* store("change of number", ["a", "b"])
    yield* store("new number", ["b"])
    assert.strictEqual(yield* runOnce(), 2)
    assert.deepStrictEqual(processed, [])
    yield* Deferred.succeed(mayEnd, undefined)
    yield* Fiber.join(first)
    for (let round = 0; round < 4; round++) {
      yield* TestClock.adjust("1 second")
      yield* runOnce()
    }
    assert.deepStrictEqual(processed, ["old number 1", "change of number 1", "new number 1"])
  }).pipe(Effect.provide(inboxOver(Memory.layer))))

it.effect("a callback that is not in turn waits without a defect", () =>
  Effect.gen(function*() {
    const { processed, runOnce, store } = yield* scene
    yield* store("late", ["a"])
    for (let round = 0; round < 10; round++) {
      yield* runOnce({}, "late")
      yield* TestClock.adjust("1 second")
    }
    yield* runOnce()
    assert.deepStrictEqual(processed, ["late 1"])
  }).pipe(Effect.provide(inboxOver(Memory.layer))))

it.effect("callbacks whose bodies could not be loaded are processed a second later", () => {
  let left = 1
  const storage = Layer.effect(
    CallbackStore,
    CallbackStore.useSync((store) =>
      CallbackStore.of({
        ...store,
        load: (...given) => Effect.suspend(() => left-- > 0 ? Effect.die("connection lost") : store.load(...given))
      })
    )
  ).pipe(Layer.provideMerge(Memory.layer))
  return Effect.gen(function*() {
    const { processed, runOnce, store } = yield* scene
    yield* store("one", ["a"])
    yield* store("other", ["b"])
    yield* runOnce()
    assert.deepStrictEqual(processed, [])
    yield* TestClock.adjust("1 second")
    yield* runOnce()
    assert.deepStrictEqual(processed, ["one 2", "other 2"])
  }).pipe(Effect.provide(inboxOver(storage)))
})

it.effect("a defect that cannot be recorded is recorded once the database is back, long before the lease ends", () => {
  let isAway = false
  const storage = Layer.effect(
    Commit,
    Commit.useSync(({ commit }) =>
      Commit.of({
        commit: (organization_id, changes: Changes) =>
          Effect.suspend(() => isAway ? Effect.die("connection lost") : commit(organization_id, changes))
      })
    )
  ).pipe(Layer.provideMerge(Memory.layer))
  return Effect.gen(function*() {
    const { processed, runOnce, store } = yield* scene
    yield* store("one", ["a"])
    isAway = true
    const running = yield* Effect.forkChild(runOnce({ one: Effect.die("connection lost") }), { startImmediately: true })
    yield* TestClock.adjust("10 seconds")
    isAway = false
    yield* TestClock.adjust("1 second")
    yield* Fiber.join(running)
    yield* TestClock.adjust("1 second")
    yield* runOnce()
    assert.deepStrictEqual(processed, ["one 2"])
  }).pipe(Effect.provide(inboxOver(storage)))
})

it.effect("a process whose key no longer decrypts the canary pauses, also after its last callbacks have ended", () => {
  let [isReadable, checks] = [true, 0]
  const canary = Layer.mock(SecretCanary, {
    // A loop without a pause would not end.
    isReadable: Effect.suspend(() => ++checks > 1000 ? Effect.never : Effect.succeed(isReadable))
  })
  return Effect.gen(function*() {
    const { inbox, store } = yield* scene
    const mayEnd = yield* Deferred.make<void>()
    for (let person = 0; person < 16; person++) yield* store("one", [String(person)])
    const running = yield* Effect.forkChild(inbox.run(() => Deferred.await(mayEnd)))
    yield* TestClock.adjust("1 second")
    isReadable = false
    yield* Deferred.succeed(mayEnd, undefined)
    const before = checks
    for (let step = 0; step < 20; step++) yield* TestClock.adjust("100 millis")
    assert.isAtMost(checks - before, 20)
    yield* Fiber.interrupt(running)
  }).pipe(Effect.provide(inboxOver(Memory.layer, canary)))
})
