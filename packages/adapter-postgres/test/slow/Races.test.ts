/** Runs every pair of operations concurrently, through the pools of two processes. */
import { assert, it } from "@effect/vitest"
import { stores } from "@messaging-crm/adapter-memory"
import { World } from "@messaging-crm/adapter-memory/World"
import { layer } from "@messaging-crm/adapter-postgres"
import {
  layer as operationsOver,
  makeScene,
  observe,
  operations,
  outcomeOf,
  unlessSerial
} from "@messaging-crm/conformance/Races"
import { Clock, Context, Effect, Layer } from "effect"
import * as Scenes from "../../../adapter-memory/testing/Scenes.ts"
import * as Database from "../../testing/Database.ts"
import * as Snapshot from "../../testing/Snapshot.ts"
import { ShiftedClock } from "../ShiftedClock.ts"

const rounds = Number(process.env["RACE_ROUNDS"] ?? 1)

const started = Layer.build(Layer.fresh(operationsOver(layer).pipe(Layer.provideMerge(Database.layerClient))))

/** The memory store may run two operations in one millisecond, unlike PostgreSQL. So this clock advances with every call. */
let ticks = 0
const clock = new ShiftedClock(() => ticks++)

const inMemory = Effect.map(
  Layer.build(operationsOver(stores).pipe(Layer.provideMerge(World.layer))),
  Context.add(Clock.Clock, clock)
)

const names = Object.keys(operations)
const pairs = names.flatMap((a, index) => names.slice(index).map((b) => [a, b] as const))

/** Pairs that once failed, and seldom: they get more rounds. */
const rare = new Set([
  "start with a new number + change the number",
  "receive from a new number + change the number",
  "dispatch + receive the status of the send"
])

const roundsOf = (pair: readonly [string, string]): number => rare.has(pair.join(" + ")) ? 15 * rounds : rounds

it.layer(Database.layerAlone, { excludeTestServices: true, timeout: "30 minutes" })("pairs of operations", (it) => {
  it.effect("have the outcome of some serial order, and never deadlock", () =>
    Effect.gen(function*() {
      const before = yield* Database.deadlocks
      const [left, right] = [yield* started, yield* started]
      const set = yield* Effect.provide(makeScene, left)
      const restore = yield* Snapshot.save
      const memory = yield* inMemory
      const begin = yield* Effect.provide(Scenes.repeatable, memory)
      const known = new Map<string, Array<string>>()
      const strange: Array<unknown> = []
      for (const pair of pairs) {
        for (let round = 0; round < roundsOf(pair); round++) {
          yield* restore
          const results = yield* Effect.all([
            Effect.provide(outcomeOf(pair[0], set), left),
            Effect.provide(outcomeOf(pair[1], set), right)
          ], { concurrency: "unbounded" })
          const outcome = JSON.stringify(yield* Effect.provide(observe(set, results), right))
          const expected = yield* Effect.provide(unlessSerial(known, begin, pair, outcome), memory)
          if (expected !== null) strange.push({ pair, round, outcome, expected })
        }
      }
      assert.deepStrictEqual(strange, [])
      assert.strictEqual(yield* Database.deadlocks, before)
    }), 30 * 60_000)
})
