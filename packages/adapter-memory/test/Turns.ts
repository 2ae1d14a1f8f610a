/**
 * Runs effects over the memory store in an order that a schedule decides: each
 * read of the world and each change of it waits for its turn.
 */
import { World } from "@messaging-crm/adapter-memory/World"
import { layer as operationsOver } from "@messaging-crm/conformance/Races"
import type * as Crm from "@messaging-crm/core/Crm"
import { Context, Deferred, Effect, Fiber, Layer, Random } from "effect"
import { TestClock } from "effect/testing"
import * as NodeCiphers from "../../server/src/node/Ciphers.ts"
import * as NodeDigests from "../../server/src/node/Digests.ts"
import * as Scenes from "../testing/Scenes.ts"

/** The number of the effect whose fiber waits for its turn at each step. */
const InTurn = Context.Reference<number | null>("Interleavings/InTurn", { defaultValue: () => null })

interface Waiting {
  readonly effect: number
  readonly turn: Deferred.Deferred<void>
}

class Turns extends Context.Service<Turns, { readonly waiting: Array<Waiting> }>()("Interleavings/Turns") {}

/** Returns the index of the waiting effect that continues, modulo their number. */
export type Schedule = (step: number, waiting: ReadonlyArray<Waiting>) => number

/** Makes each step of the world wait until the schedule selects it. */
const scheduled = Layer.effect(
  World,
  Effect.gen(function*() {
    const { modify, read } = yield* World
    const { waiting } = yield* Turns
    const gate = Effect.gen(function*() {
      const effect = yield* InTurn
      if (effect === null) return
      const turn = yield* Deferred.make<void>()
      waiting.push({ effect, turn })
      yield* Deferred.await(turn)
    })
    return World.of({
      read: (look) => Effect.andThen(gate, read(look)),
      modify: (change) => Effect.andThen(gate, modify(change))
    })
  })
).pipe(Layer.provide(World.layer))

const turns = Layer.sync(Turns, () => ({ waiting: [] }))

export type Storage = Layer.Layer<Crm.StoragePorts, never, World>

/**
 * Layer for the operations over a store whose steps can take turns. They compute digests and ciphers without another thread,
 * so that an effect reaches its next step after the same number of yields in every run.
 */
export const layer = (storage: Storage) =>
  operationsOver(storage).pipe(
    Layer.provideMerge(scheduled),
    Layer.provideMerge(turns),
    Layer.provideMerge([NodeCiphers.layer, NodeDigests.layer])
  )

/** Lets each effect run until it ends, waits for its turn, or sleeps. */
const settled = Effect.forEach(Array.from({ length: 40 }), () => Effect.yieldNow, { discard: true })

/**
 * Interleaves effects: at each step the schedule selects the waiting one that
 * continues, or the first one when the schedule has ended.
 */
export const inTurns = Effect.fnUntraced(function*<A, R>(
  effects: ReadonlyArray<Effect.Effect<A, never, R>>,
  schedule: Schedule
) {
  const { waiting } = yield* Turns
  const steps: Array<number> = []
  const fibers = yield* Effect.forEach(
    effects,
    (effect, index) => Effect.forkChild(Effect.provideService(effect, InTurn, index))
  )
  for (;;) {
    yield* settled
    if (fibers.every((fiber) => fiber.pollUnsafe() !== undefined)) break
    const index = waiting.length === 0 ? 0 : schedule(steps.length, waiting) % waiting.length
    const [next] = waiting.splice(index, 1)
    if (next === undefined) yield* TestClock.adjust("10 millis")
    else {
      steps.push(index)
      yield* Deferred.succeed(next.turn, undefined)
    }
  }
  return { results: yield* Effect.forEach(fibers, Fiber.join), steps }
}, Random.withSeed("pauses after conflicts"))

/** Starts the operations over a store, each time with the same scene. */
export const stage = Effect.fnUntraced(function*(storage: Storage) {
  const context = yield* Layer.build(Layer.fresh(layer(storage)))
  return { context, restoreScene: yield* Effect.provideContext(Scenes.makeRestorable, context) }
})

export type Stage = Effect.Success<ReturnType<typeof stage>>
