/**
 * Every look at the world and every change of it, of several operations, in an
 * order that a seed decides. Whatever the order, what comes out must be what
 * some order of whole operations gives.
 */
import { assert, it } from "@effect/vitest"
import { stores } from "@messaging-crm/adapter-memory"
import { World } from "@messaging-crm/adapter-memory/World"
import {
  layer as operationsOver,
  observe,
  operations,
  outcomeOf,
  scene,
  unlessSerial
} from "@messaging-crm/conformance/Races"
import { Commit } from "@messaging-crm/core/Commit"
import type * as Crm from "@messaging-crm/core/Crm"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"

/** Whether the current fiber waits for its turn at each step. */
const InTurn = Context.Reference<boolean>("Interleavings/InTurn", { defaultValue: () => false })

class Turns
  extends Context.Service<Turns, { readonly waiting: Array<Deferred.Deferred<void>> }>()("Interleavings/Turns")
{}

/** Makes each step of the world wait until the schedule selects it. */
const scheduled = Layer.effect(
  World,
  Effect.gen(function*() {
    const { modify, read } = yield* World
    const { waiting } = yield* Turns
    const gate = Effect.gen(function*() {
      if (!(yield* InTurn)) return
      const turn = yield* Deferred.make<void>()
      waiting.push(turn)
      yield* Deferred.await(turn)
    })
    return World.of({
      read: (look) => Effect.andThen(gate, read(look)),
      modify: (change) => Effect.andThen(gate, modify(change))
    })
  })
).pipe(Layer.provide(World.layer))

const turns = Layer.sync(Turns, () => ({ waiting: [] }))

type Storage = Layer.Layer<Crm.StoragePorts, never, World>

/** A commit that ignores versions, to test that the harness detects the lost update. */
const careless: Storage = Layer.effect(
  Commit,
  Effect.map(Commit, ({ commit }) =>
    Commit.of({
      commit: (organization_id, changes) =>
        Effect.firstSuccessOf([0, 1, 2, 3].map((missed) =>
          commit(organization_id, {
            ...changes,
            update: (changes.update ?? []).map((update) => ({ ...update, version: update.version + missed }))
          })
        ))
    }))
).pipe(Layer.provideMerge(stores))

const layer = (storage: Storage) =>
  operationsOver(storage).pipe(Layer.provideMerge(scheduled), Layer.provideMerge(turns))

const random = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const settled = Effect.forEach(Array.from({ length: 40 }), () => Effect.yieldNow, { discard: true })

/**
 * Interleaves operations: at each step the schedule selects the waiting operation that
 * continues, or the first one when the schedule has ended.
 */
const together = (storage: Storage, names: ReadonlyArray<string>, schedule: (step: number) => number) =>
  Effect.gen(function*() {
    const set = yield* scene
    const { waiting } = yield* Turns
    const steps: Array<number> = []
    const fibers = yield* Effect.forEach(
      names,
      (name) => Effect.forkChild(Effect.provideService(outcomeOf(name, set), InTurn, true))
    )
    for (;;) {
      yield* settled
      if (fibers.every((fiber) => fiber.pollUnsafe() !== undefined)) break
      const index = waiting.length === 0 ? 0 : schedule(steps.length) % waiting.length
      const [turn] = waiting.splice(index, 1)
      if (turn === undefined) yield* TestClock.adjust("10 millis")
      else {
        steps.push(index)
        yield* Deferred.succeed(turn, undefined)
      }
    }
    const answers = yield* Effect.forEach(fibers, Fiber.join)
    return { outcome: JSON.stringify(yield* observe(set, answers)), steps }
  }).pipe(Effect.provide(layer(storage), { local: true }))

/** Returns the outcome if no serial order of the operations has it. */
const strange = Effect.fnUntraced(function*(
  storage: Storage,
  names: ReadonlyArray<string>,
  schedule: (step: number) => number
) {
  const { outcome, steps } = yield* together(storage, names, schedule)
  const expected = yield* unlessSerial(names, outcome).pipe(Effect.provide(layer(stores), { local: true }))
  return expected === null ? null : { names, steps, outcome, expected }
})

type Failure = Effect.Success<ReturnType<typeof strange>>

/** Shrinks a failure to the fewest operations and the shortest schedule that still fail. */
const shrink = Effect.fnUntraced(function*(storage: Storage, failure: NonNullable<Failure>) {
  let least = failure
  for (let position = 0; position < least.names.length;) {
    const names = least.names.toSpliced(position, 1)
    let found: Failure = null
    for (let seed = 0; names.length > 1 && seed < 50 && found === null; seed++) {
      const next = random(seed)
      found = yield* strange(storage, names, () => Math.floor(next() * 100))
    }
    if (found === null) position++
    else least = found
  }
  for (let length = 0; length < least.steps.length; length++) {
    const prefix = least.steps.slice(0, length)
    const found = yield* strange(storage, least.names, (step) => prefix[step] ?? 0)
    if (found !== null) return { ...found, steps: prefix }
  }
  return least
})

const names = Object.keys(operations)

/** Runs two or three operations for each seed, and returns the first failure, shrunk. */
const search = Effect.fnUntraced(function*(storage: Storage, seeds: ReadonlyArray<number>, among = names) {
  for (const seed of seeds) {
    const next = random(seed)
    const chosen = Array.from({ length: next() < 0.7 ? 2 : 3 }, () => among[Math.floor(next() * among.length)] ?? "")
    const failure = yield* strange(storage, chosen, () => Math.floor(next() * 100))
    if (failure !== null) return { seed, ...yield* shrink(storage, failure) }
  }
  return null
})

const from = Number(process.env["INTERLEAVINGS_SEED"] ?? 0)
const count = Number(process.env["INTERLEAVINGS"] ?? 1000)

it.effect(
  "have the outcome of some serial order, however their steps are interleaved",
  () =>
    Effect.gen(function*() {
      const found = yield* search(stores, Array.from({ length: count }, (_, index) => from + index))
      assert.isNull(found, JSON.stringify(found, null, 2))
    }),
  600_000
)

it.effect("keep a report that arrives while its send is completed, in either order", () =>
  Effect.gen(function*() {
    const found = yield* search(stores, Array.from({ length: 200 }, (_, index) => index), [
      "dispatch",
      "hear of the send"
    ])
    assert.isNull(found, JSON.stringify(found, null, 2))
  }))

it.effect("detect a commit that overwrites a change", () =>
  Effect.gen(function*() {
    const found = yield* search(careless, Array.from({ length: 200 }, (_, index) => index), [
      "tag",
      "retag",
      "note",
      "send"
    ])
    assert.isNotNull(found)
    assert.isAtMost(found?.names.length ?? 9, 2)
  }))
