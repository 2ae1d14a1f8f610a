/** Runs every pair of operations concurrently, through the pools of two processes. */
import { assert, it } from "@effect/vitest"
import { stores } from "@messaging-crm/adapter-memory"
import { World } from "@messaging-crm/adapter-memory/World"
import { layer } from "@messaging-crm/adapter-postgres"
import {
  findViolation,
  layer as operationsOver,
  makeScene,
  observe,
  operations,
  outcomeOf
} from "@messaging-crm/conformance/Races"
import { Clock, Context, Effect, Layer, Struct } from "effect"
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

const names = Struct.keys(operations)
const pairs = names.flatMap((a, index) => names.slice(index).map((b) => [a, b] as const))

/** Pairs that once failed, and seldom: they get more rounds. */
const rare = new Set([
  "start with a new number + change the number",
  "receive from a new number + change the number",
  "dispatch + receive the status of the send"
])

const roundsOf = (pair: readonly [string, string]): number => rare.has(pair.join(" + ")) ? 15 * rounds : rounds

it.layer(Database.layer, { excludeTestServices: true, timeout: "30 minutes" })("pairs of operations", (it) => {
  it.effect("have the outcome of some serial order", () =>
    Effect.gen(function*() {
      const [left, right] = [yield* started, yield* started]
      const scene = yield* Effect.provide(makeScene, left)
      const restoreDatabase = yield* Snapshot.save
      const memory = yield* inMemory
      const restoreScene = yield* Effect.provide(Scenes.makeRestorable, memory)
      const known = new Map<string, Array<string>>()
      const violations: Array<unknown> = []
      for (const pair of pairs) {
        for (let round = 0; round < roundsOf(pair); round++) {
          yield* restoreDatabase
          const results = yield* Effect.all([
            Effect.provide(outcomeOf(pair[0], scene), left),
            Effect.provide(outcomeOf(pair[1], scene), right)
          ], { concurrency: "unbounded" })
          const outcome = JSON.stringify(yield* Effect.provide(observe(scene, results), right))
          const expected = yield* Effect.provide(findViolation(known, restoreScene, pair, outcome), memory)
          if (expected !== null) violations.push({ pair, round, outcome, expected })
        }
      }
      assert.deepStrictEqual(violations, [])
    }), 30 * 60_000)
})
