/** The cost of an operation in PostgreSQL at each size of one database. */
import * as Postgres from "@messaging-crm/adapter-postgres"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import * as Provider from "@messaging-crm/conformance/Provider"
import { CurrentActor } from "@messaging-crm/core/Actor"
import * as Crm from "@messaging-crm/core/Crm"
import { ConversationId, Ids } from "@messaging-crm/core/Ids"
import type { PageRequest } from "@messaging-crm/core/Page"
import { WorkSignal } from "@messaging-crm/core/WorkQueue"
import type { DateTime } from "effect"
import { Duration, Effect, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Crowd } from "../Fixtures.ts"
import { percentile } from "../Percentiles.ts"
import * as ProcessorTime from "../ProcessorTime.ts"
import { type Case, cases, type Dataset, member, page_1, page_size, type Services, thread } from "./OperationCases.ts"

const from = (row: { readonly at: DateTime.Utc; readonly id: string } | undefined): PageRequest | null =>
  row === undefined ? null : { after: { at: row.at, id: row.id }, size: page_1.size }

/** Opens the reply windows of some conversations, as messages of their contacts do, and returns them. */
const openConversations = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly id: string }>`
    UPDATE conversations
    SET last_inbound_at = now(), status = 'open', closed_at = NULL
    WHERE organization_id = ${Crowd.large} AND id IN (
      SELECT id
      FROM conversations
      WHERE organization_id = ${Crowd.large} AND id <> ${thread}
      ORDER BY md5(id::text)
      LIMIT 200
    )
    RETURNING id
  `
).pipe(Effect.map((rows) => rows.map(({ id }) => ConversationId.make(id))))

/** Returns a phone, an email, and an external id, each of one contact. */
const knownValues = Effect.map(
  SqlClient.SqlClient.use((sql) =>
    sql<Dataset["known"]>`
      SELECT
        (SELECT max(primary_phone) FROM contacts WHERE organization_id = ${Crowd.large}) AS phone,
        (SELECT max(email_key) FROM contacts WHERE organization_id = ${Crowd.large}) AS email_key,
        (SELECT max(external_id) FROM identities WHERE organization_id = ${Crowd.large}) AS external_id
    `
  ),
  ([values]) => Option.getOrThrow(Option.fromUndefinedOr(values))
)

const prepareDataset = Effect.fnUntraced(function*(contacts: number) {
  const sql = yield* SqlClient.SqlClient
  const skipped = 199 * page_size - 1
  const startOf = Effect.fnUntraced(function*(table: string, at: string, condition: string) {
    const [row] = yield* sql<{ readonly at: DateTime.Utc; readonly id: string }>`
      SELECT ${sql(at)} AS at, id
      FROM ${sql(table)}
      WHERE organization_id = ${Crowd.large} AND ${sql.literal(condition)}
      ORDER BY ${sql(at)} DESC, id DESC
      OFFSET ${skipped}
      LIMIT 1
    `
    return from(row)
  })
  return {
    contacts,
    conversations: yield* openConversations,
    known: yield* knownValues,
    page_200: {
      contacts: yield* startOf("contacts", "updated_at", "true"),
      conversations: yield* startOf("conversations", "last_activity_at", "true"),
      messages: yield* startOf("messages", "created_at", `conversation_id = '${thread}'`)
    }
  } satisfies Dataset
})

const actor = Layer.succeed(CurrentActor, { organization_id: Crowd.large, member_id: member(0) })

/** The service on a database, without workers. Reads share one connection. */
const service = (url: string) =>
  Layer.merge(Crm.layer, actor).pipe(
    Layer.provideMerge(Layer.mergeAll(Postgres.layer, Provider.layer("callback_ref"), Ids.layer, WorkSignal.layer)),
    Layer.provideMerge(Client.layer({ url: Redacted.make(url), connections: 3 }))
  )

/** The time that PostgreSQL has spent on a database: of its statements, and the CPU time of its connections. */
interface Spent {
  readonly statements_us: number
  readonly processor_us: number
}

interface Database {
  readonly dataset: Dataset
  readonly run: <A, E>(effect: Effect.Effect<A, E, Services>) => Effect.Effect<A, E>
  readonly spent: Effect.Effect<Spent>
}

const open = Effect.fnUntraced(function*(url: string, contacts: number) {
  const context = yield* Layer.build(service(url))
  const run: Database["run"] = (effect) => Effect.provideContext(effect, context)
  const dataset = yield* run(prepareDataset(contacts))
  // Another connection, so that reading the statistics is not counted: it is made in another database.
  const sql = yield* SqlClient.SqlClient
  const name = new URL(url).pathname.slice(1)
  const spent = sql<{ readonly us: number; readonly pids: ReadonlyArray<number> }>`
    SELECT
      coalesce(sum(total_exec_time + total_plan_time), 0) * 1000 AS us,
      ARRAY(SELECT pid FROM pg_stat_activity WHERE datname = ${name} AND backend_type = 'client backend') AS pids
    FROM pg_stat_statements(false)
    WHERE toplevel AND dbid = (SELECT oid FROM pg_database WHERE datname = ${name})
  `.pipe(
    Effect.flatMap(([{ pids, us } = { us: 0, pids: [] }]) =>
      Effect.map(Effect.forEach(pids, ProcessorTime.ofProcess), (times): Spent => ({
        statements_us: us,
        processor_us: times.reduce((sum, each) => sum + each, 0)
      }))
    ),
    Effect.orDie
  )
  return { dataset, run, spent } satisfies Database
})

const at = (times: ReadonlyArray<number>, share: number): number => Math.round(percentile(times, share))

interface Cost {
  /** How many rows the last run returned. */
  readonly rows: number
  /** The median of the CPU time. Other processes of the machine affect it less than the other two. */
  readonly processor_p50_us: number
  readonly p50_us: number
  readonly p95_us: number
  /** The median time of the whole operation, the service's part included. */
  readonly elapsed_p50_us: number
}

/** The plans of a connection are made, and its caches filled, before anything is counted. */
const warm_up = 8

/** The time of one run: in PostgreSQL, and of the whole operation. */
interface Run extends Spent {
  readonly elapsed_us: number
  /** How many rows it returned. */
  readonly rows: number
}

/** Runs a case once, and returns its times. */
const timeRun = Effect.fnUntraced(
  function*({ run, spent }: Database, effect: Effect.Effect<unknown, unknown, Services>) {
    const before = yield* spent
    const [elapsed, found] = yield* Effect.timed(run(effect))
    const after = yield* spent
    return {
      statements_us: after.statements_us - before.statements_us,
      processor_us: after.processor_us - before.processor_us,
      elapsed_us: Duration.toMillis(elapsed) * 1000,
      rows: Array.isArray(found) ? found.length : 1
    } satisfies Run
  }
)

const costOf = (all: ReadonlyArray<Run>): Cost => {
  const statements = all.map(({ statements_us }) => statements_us)
  return {
    rows: all.at(-1)?.rows ?? 0,
    processor_p50_us: at(all.map(({ processor_us }) => processor_us), 0.5),
    p50_us: at(statements, 0.5),
    p95_us: at(statements, 0.95),
    elapsed_p50_us: at(all.map(({ elapsed_us }) => elapsed_us), 0.5)
  }
}

/** Runs one case on the databases in turn, and returns its cost at each size. */
const compareCase = Effect.fnUntraced(function*(databases: ReadonlyArray<Database>, make: Case, runs: number) {
  const measured = databases.map((): Array<Run> => [])
  for (let run = 0; run < warm_up + runs; run++) {
    for (const [index, database] of databases.entries()) {
      const effect = make(database.dataset, run)
      if (effect === null) continue
      const one = yield* timeRun(database, effect)
      if (run >= warm_up) measured[index]?.push(one)
    }
  }
  return Object.fromEntries(
    databases.flatMap(({ dataset: { contacts } }, index) => {
      const all = measured[index] ?? []
      return all.length === 0 ? [] : [[contacts, costOf(all)]]
    })
  )
})

/**
 * Runs every case at each size in turn, and returns the time of one run in PostgreSQL
 * in microseconds: of all its statements together. Reads `/proc`, so it works on
 * Linux only.
 */
export const compare = Effect.fnUntraced(function*(
  urls: Readonly<Record<number, string>>,
  { runs }: { readonly runs: number }
) {
  const databases = yield* Effect.forEach(
    Object.entries(urls),
    ([contacts, url]) => open(url, Number(contacts))
  )
  const results: Record<string, Record<string, Cost>> = {}
  for (const [name, make] of Object.entries(cases)) {
    results[name] = yield* compareCase(databases, make, runs)
  }
  return results
})
