/** The processing of stored callbacks: their order, and their retries after the database has failed. */
import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import { literal } from "@messaging-crm/conformance/Arbitraries"
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
import { Arbitrary, Deferred, Effect, Fiber, Layer } from "effect"
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
  const organization_id = yield* Fixtures.organization
  const [{ id }, other] = [yield* Fixtures.channel(organization_id), yield* Fixtures.channel(organization_id)]
  const processed: Array<string> = []
  const store = (body: string, people: ReadonlyArray<string>, channel_id = id) =>
    inbox.store("app", [{ channel_id, people, body: new TextEncoder().encode(body) }])
  /** Processes what is due. The processing of a body first runs the effect of that body, if it has one. */
  const runOnce = (first: Readonly<Record<string, Effect.Effect<void>>> = {}) =>
    inbox.runOnce(Effect.fnUntraced(function*({ attempt, body }) {
      const name = decoder.decode(body)
      yield* first[name] ?? Effect.void
      processed.push(`${name} ${attempt}`)
    }))
  return { inbox, other_channel_id: other.id, processed, runOnce, store }
})

it.effect("a callback waits behind one of the same claim that waits itself", () =>
  Effect.gen(function*() {
    const { processed, runOnce, store } = yield* scene
    const mayEnd = yield* Deferred.make<void>()
    yield* store("old number", ["a"])
    const first = yield* Effect.forkChild(runOnce({ "old number": Deferred.await(mayEnd) }), { startImmediately: true })
    yield* store("other", ["b"])
    yield* store("change of number", ["a", "b"])
    yield* store("new number", ["b"])
    assert.strictEqual(yield* runOnce(), 3)
    assert.deepStrictEqual(processed.splice(0), ["other 1"])
    yield* Deferred.succeed(mayEnd, undefined)
    yield* Fiber.join(first)
    for (let round = 0; round < 4; round++) {
      yield* TestClock.adjust("1 second")
      yield* runOnce()
    }
    assert.deepStrictEqual(processed, ["old number 1", "change of number 1", "new number 1"])
  }).pipe(Effect.provide(inboxOver(Memory.layer))))

it.effect("the callbacks of a claim wait for earlier ones of their people and channel, in any spelling, and for no others", () =>
  Effect.gen(function*() {
    const { other_channel_id, processed, runOnce, store } = yield* scene
    const mayEnd = yield* Deferred.make<void>()
    yield* store("first", ["5511987654321"])
    yield* store("other spelling", ["551187654321", "b"])
    yield* store("behind both", ["b"])
    yield* store("other person", ["c"])
    yield* store("other channel", ["b"], other_channel_id)
    const running = yield* Effect.forkChild(runOnce({ first: Deferred.await(mayEnd) }))
    yield* TestClock.adjust("900 millis")
    assert.sameMembers(processed.splice(0), ["other person 1", "other channel 1"])
    yield* Deferred.succeed(mayEnd, undefined)
    assert.strictEqual(yield* Fiber.join(running), 5)
    assert.deepStrictEqual(processed, ["first 1", "other spelling 1", "behind both 1"])
  }).pipe(Effect.provide(inboxOver(Memory.layer))))

it.effect("a callback waits in progress for a second, then it is retried without a defect", () =>
  Effect.gen(function*() {
    const { processed, runOnce, store } = yield* scene
    const mayEnd = yield* Deferred.make<void>()
    yield* store("slow", ["a"])
    yield* store("later", ["a"])
    yield* store("last", ["a"])
    const running = yield* Effect.forkChild(runOnce({ slow: Deferred.await(mayEnd) }))
    yield* TestClock.adjust("1 second")
    for (let round = 0; round < 5; round++) {
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* runOnce(), 2)
    }
    assert.deepStrictEqual(processed, [])
    yield* Deferred.succeed(mayEnd, undefined)
    yield* Fiber.join(running)
    yield* TestClock.adjust("1 second")
    yield* runOnce()
    assert.deepStrictEqual(processed, ["slow 1", "later 1", "last 1"])
  }).pipe(Effect.provide(inboxOver(Memory.layer))))

it.effect("a callback that was received a minute ago delays no later one, whether it is processed or fails", () =>
  Effect.gen(function*() {
    const { processed, runOnce, store } = yield* scene
    yield* store("first", ["a"])
    yield* runOnce({ first: Effect.die("broken") })
    yield* TestClock.adjust("1 minute")
    yield* store("second", ["a"])
    const mayEnd = yield* Deferred.make<void>()
    const running = yield* Effect.forkChild(runOnce({ first: Deferred.await(mayEnd) }), { startImmediately: true })
    yield* TestClock.adjust("900 millis")
    assert.deepStrictEqual(processed, ["second 1"])
    yield* Deferred.succeed(mayEnd, undefined)
    yield* Fiber.join(running)
    assert.deepStrictEqual(processed, ["second 1", "first 2"])
  }).pipe(Effect.provide(inboxOver(Memory.layer))))

it.effect.prop(
  "callbacks about the same people in any order never wait for each other, and are processed in the order of their receipt",
  {
    callbacks: Arbitrary.array(Arbitrary.array(literal("a", "b", "c", "d"), { minLength: 1, maxLength: 4 }), {
      minLength: 2,
      maxLength: 6
    })
  },
  ({ callbacks }) =>
    Effect.gen(function*() {
      const { processed, runOnce, store } = yield* scene
      const mayEnd = yield* Deferred.make<void>()
      // One callback about each person makes the others wait.
      for (const person of ["a", "b", "c", "d"]) yield* store(person, [person])
      for (const [index, people] of callbacks.entries()) yield* store(String(index), people)
      const wait = Deferred.await(mayEnd)
      const running = yield* Effect.forkChild(runOnce({ a: wait, b: wait, c: wait, d: wait }))
      yield* TestClock.adjust("900 millis")
      assert.deepStrictEqual(processed, [])
      yield* Deferred.succeed(mayEnd, undefined)
      // The clock stands still, so none of them gives up its turn.
      yield* Fiber.join(running)
      assert.lengthOf(processed, callbacks.length + 4)
      for (const [index, people] of callbacks.entries()) {
        const later = callbacks.findIndex((other, at) => at > index && other.some((person) => people.includes(person)))
        if (later >= 0) assert.isBelow(processed.indexOf(`${index} 1`), processed.indexOf(`${later} 1`))
      }
    }).pipe(Effect.provide(inboxOver(Memory.layer)))
)

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
