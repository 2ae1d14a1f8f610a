/** Every pair of operations at the same time, through the pools of two processes. */
import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import { layer } from "@messaging-crm/adapter-postgres"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import {
  layer as operationsOver,
  observe,
  operations,
  outcomeOf,
  scene,
  unlessSerial
} from "@messaging-crm/conformance/Races"
import { Clock, Config, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Database from "../testing/Database.ts"

const rounds = Number(process.env["RACE_ROUNDS"] ?? 1)

const started = Layer.build(Layer.fresh(operationsOver(layer).pipe(Layer.provideMerge(Database.layerClient))))

/** A database of its own: PostgreSQL counts deadlocks for each, and other files make some on purpose. */
const own = Layer.effect(
  Database.Database,
  Effect.gen(function*() {
    const server = yield* Config.String("TEST_DATABASE_URL")
    const name = `races_${globalThis.crypto.randomUUID().replaceAll("-", "")}`
    const run = (statement: string) =>
      SqlClient.SqlClient.use((sql) => sql.unsafe(statement)).pipe(
        Effect.provide(Client.layer({ url: Redacted.make(server), connections: 1 })),
        Effect.orDie
      )
    yield* Effect.acquireRelease(run(`CREATE DATABASE ${name}`), () => run(`DROP DATABASE ${name} WITH (FORCE)`))
    return { url: Redacted.make(Object.assign(new URL(server), { pathname: `/${name}` }).href) }
  })
)

const database = Migrations.layer.pipe(Layer.provideMerge(Database.layerClient), Layer.provideMerge(own))

const deadlocks = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly deadlocks: number }>`
    SELECT deadlocks::int AS deadlocks FROM pg_stat_database WHERE datname = current_database()
  `
  return row?.deadlocks ?? 0
})

/** Memory is quick enough to do two things in one millisecond, which PostgreSQL never does: its clock moves at each look. */
class Ticking implements Clock.Clock {
  private readonly machine = Clock.Clock.defaultValue()
  private ticks = 0

  currentTimeMillisUnsafe(): number {
    return this.machine.currentTimeMillisUnsafe() + this.ticks++
  }
  readonly currentTimeMillis = Effect.sync(() => this.currentTimeMillisUnsafe())
  currentTimeNanosUnsafe(): bigint {
    return BigInt(this.currentTimeMillisUnsafe()) * 1_000_000n
  }
  readonly currentTimeNanos = Effect.sync(() => this.currentTimeNanosUnsafe())
  monotonicTimeNanosUnsafe(): bigint {
    return this.machine.monotonicTimeNanosUnsafe()
  }
  readonly monotonicTimeNanos = this.machine.monotonicTimeNanos
  sleep(duration: Parameters<Clock.Clock["sleep"]>[0]) {
    return this.machine.sleep(duration)
  }
}

const clock = new Ticking()

const names = Object.keys(operations)
const pairs = names.flatMap((a, index) => names.slice(index).map((b) => [a, b] as const))

/** Pairs that once failed, and seldom: they get more rounds. */
const rare = new Set([
  "start with a new number + change the number",
  "receive from a new number + change the number",
  "dispatch + hear of the send"
])

const roundsOf = (pair: readonly [string, string]): number => rare.has(pair.join(" + ")) ? 50 * rounds : rounds

it.layer(database, { excludeTestServices: true, timeout: "30 minutes" })("pairs of operations", (it) => {
  it.effect("have the outcome of some serial order, and never deadlock", () =>
    Effect.gen(function*() {
      const before = yield* deadlocks
      const [left, right] = [yield* started, yield* started]
      const strange: Array<unknown> = []
      for (const pair of pairs) {
        for (let round = 0; round < roundsOf(pair); round++) {
          const set = yield* Effect.provide(scene, left)
          const answers = yield* Effect.all([
            Effect.provide(outcomeOf(pair[0], set), left),
            Effect.provide(outcomeOf(pair[1], set), right)
          ], { concurrency: "unbounded" })
          const outcome = JSON.stringify(yield* Effect.provide(observe(set, answers), right))
          const expected = yield* unlessSerial(pair, outcome).pipe(
            Effect.provide(operationsOver(Memory.layer), { local: true }),
            Effect.provideService(Clock.Clock, clock)
          )
          if (expected !== null) strange.push({ pair, round, outcome, expected })
        }
      }
      assert.deepStrictEqual(strange, [])
      assert.strictEqual(yield* deadlocks, before)
    }), 30 * 60_000)
})
