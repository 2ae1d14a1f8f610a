/** The cost of an item: CPU time by process, log (WAL), transactions, and bytes on disk. */
import { Effect, Record } from "effect"
import { SqlClient } from "effect/sql"
import { median } from "../harness/Percentiles.ts"
import * as ProcessorTime from "../harness/ProcessorTime.ts"

/** The tables by how long the service keeps their rows. */
const retentions = {
  unlimited: [
    "contacts",
    "contact_tags",
    "contact_texts",
    "identities",
    "identity_names",
    "conversations",
    "messages",
    "provider_messages",
    "sends"
  ],
  days_30: ["webhook_events", "webhook_deliveries"],
  hours_72: ["idempotency_keys"],
  audit: ["audit_records"]
} as const

export type Retention = keyof typeof retentions

/** Tables whose rows are removed once they are processed. */
const transient = ["work", "work_lanes", "provider_callbacks", "storage_use"]

/** The measured processes of the service. */
export interface Programs {
  readonly server: number
  readonly worker: number
}

/** The cost of one item. */
export interface Cost {
  readonly server_us: number
  readonly worker_us: number
  readonly postgres_us: number
  /** PostgreSQL's time for the vacuum and the checkpoint that the changed rows need afterward. */
  readonly upkeep_us: number
  /** The log without images of pages. */
  readonly wal_least: number
  /** The log with an image of each changed page, as it is written after a checkpoint. */
  readonly wal_most: number
  readonly transactions: number
  /** Rows with their indexes, by how long they are kept. */
  readonly bytes: Readonly<Record<Retention, number>>
}

/** One measurement: the log has images of pages, or not. */
export type Round = Omit<Cost, "wal_least" | "wal_most"> & { readonly has_images: boolean; readonly wal: number }

const readSizes = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly name: string; readonly bytes: number }>`
    SELECT relname AS name, pg_total_relation_size(oid)::float8 AS bytes
    FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
  `
  const sizes = new Map(rows.map(({ bytes, name }) => [name, bytes]))
  return Record.map(retentions, (names) => names.reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0))
})

const readLog = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly wal: number; readonly transactions: number }>`
    SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS wal,
      pg_snapshot_xmax(pg_current_snapshot())::text::float8 AS transactions
  `
).pipe(Effect.map(([row]) => row ?? { wal: NaN, transactions: NaN }))

const readAll = ({ server, worker }: Programs) =>
  Effect.all({
    server: ProcessorTime.ofProcess(server),
    worker: ProcessorTime.ofProcess(worker),
    postgres: ProcessorTime.ofPostgres,
    log: readLog
  })

/** Does the work of autovacuum and of the checkpointer. */
export const keepUp = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`VACUUM ${[...Object.values(retentions).flat(), ...transient].join(", ")}`)
  yield* sql`CHECKPOINT`
})

const setImages = Effect.fnUntraced(function*(has_images: boolean) {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`ALTER SYSTEM SET full_page_writes = ${has_images ? "on" : "off"}`)
  yield* sql`SELECT pg_reload_conf()`
  // The checkpointer writes the setting to the log.
  yield* Effect.sleep("1 second")
  yield* sql`CHECKPOINT`
})

/** Runs an effect that processes items and returns their number. */
const measureRound = Effect.fnUntraced(
  function*<E, R>(programs: Programs, has_images: boolean, run: Effect.Effect<number, E, R>) {
    yield* setImages(has_images)
    const sizes = yield* readSizes
    const before = yield* readAll(programs)
    const items = yield* run
    const after = yield* readAll(programs)
    yield* keepUp
    const kept = yield* ProcessorTime.ofPostgres
    const grown = yield* readSizes
    const per = (total: number) => Math.max(0, total) / items
    const round: Round = {
      has_images,
      server_us: per(after.server - before.server),
      worker_us: per(after.worker - before.worker),
      postgres_us: per(after.postgres - before.postgres),
      upkeep_us: per(kept - after.postgres),
      wal: per(after.log.wal - before.log.wal),
      transactions: per(after.log.transactions - before.log.transactions),
      bytes: Record.map(grown, (bytes, name) => per(bytes - sizes[name]))
    }
    return round
  }
)

const retentionNames: ReadonlyArray<Retention> = ["unlimited", "days_30", "hours_72", "audit"]

/** Returns a cost whose figures are computed one by one. */
export const costOf = (figureOf: (read: (cost: Cost) => number) => number): Cost => ({
  server_us: figureOf(({ server_us }) => server_us),
  worker_us: figureOf(({ worker_us }) => worker_us),
  postgres_us: figureOf(({ postgres_us }) => postgres_us),
  upkeep_us: figureOf(({ upkeep_us }) => upkeep_us),
  wal_least: figureOf(({ wal_least }) => wal_least),
  wal_most: figureOf(({ wal_most }) => wal_most),
  transactions: figureOf(({ transactions }) => transactions),
  bytes: Object.fromEntries(
    retentionNames.map((name) => [name, figureOf(({ bytes }) => bytes[name])])
  ) as Cost["bytes"] // of all names
})

/** Returns the cost of several rounds: the least CPU time, because other work only adds to it, and medians of the other figures. */
export const combine = (rounds: ReadonlyArray<Round>): Cost => {
  const walOf = (has_images: boolean) =>
    median(rounds.filter((each) => each.has_images === has_images).map(({ wal }) => wal))
  const [wal_least, wal_most] = [walOf(false), walOf(true)]
  const least = (read: (round: Round) => number) => Math.min(...rounds.map(read))
  return {
    ...costOf((read) => median(rounds.map((round) => read({ ...round, wal_least, wal_most })))),
    server_us: least(({ server_us }) => server_us),
    worker_us: least(({ worker_us }) => worker_us),
    postgres_us: least(({ postgres_us }) => postgres_us),
    upkeep_us: least(({ upkeep_us }) => upkeep_us)
  }
}

/** Measures an effect in pairs of rounds, of which the log of the first one has images of pages. */
export const measure = Effect.fnUntraced(
  function*<E, R>(programs: Programs, pairs: number, run: Effect.Effect<number, E, R>) {
    const rounds: Array<Round> = []
    for (let round = 0; round < 2 * pairs; round++) rounds.push(yield* measureRound(programs, round % 2 === 0, run))
    return combine(rounds)
  }
)

const rest_seconds = 10

/** Measures the CPU time per second of programs that have nothing to do. */
export const measureRest = Effect.fnUntraced(function*(programs: Programs) {
  const before = yield* readAll(programs)
  yield* Effect.sleep(`${rest_seconds} seconds`)
  const after = yield* readAll(programs)
  return {
    server_us: (after.server - before.server) / rest_seconds,
    worker_us: (after.worker - before.worker) / rest_seconds,
    postgres_us: (after.postgres - before.postgres) / rest_seconds
  }
})
