/** How PostgreSQL carries out what a store asks of it: the plans of the very statements, with their values. */
import { Effect, Schema, Semaphore } from "effect"
import { SqlClient, Statement } from "effect/sql"

const Count = Schema.optionalKey(Schema.Number)

interface Node extends Schema.Schema.Type<typeof NodeFields> {
  readonly Plans?: ReadonlyArray<Node>
}

const NodeFields = Schema.Struct({
  "Node Type": Schema.String,
  "Relation Name": Schema.optionalKey(Schema.String),
  "Sort Method": Schema.optionalKey(Schema.String),
  "Actual Rows": Schema.Number,
  "Actual Loops": Schema.Number,
  "Rows Removed by Filter": Count,
  "Rows Removed by Index Recheck": Count,
  "Rows Removed by Join Filter": Count
})

const Node: Schema.Codec<Node> = Schema.Struct({
  ...NodeFields.fields,
  Plans: Schema.optionalKey(Schema.Array(Schema.suspend((): Schema.Codec<Node> => Node)))
})

const decodePlan = Schema.decodeUnknownEffect(
  Schema.Tuple([Schema.Struct({ "QUERY PLAN": Schema.Tuple([Schema.Struct({ Plan: Node })]) })])
)

/** One step of a plan. Its numbers are those of all its turns together, but for what is sorted. */
export interface Step {
  readonly node: string
  readonly relation: string | null
  readonly sort: string | null
  readonly rows: number
  readonly rows_in_a_turn: number
  readonly passed_over: number
}

/** A statement as it was carried out: with a plan for its values, or with the one that a prepared statement keeps. */
export interface Plan {
  readonly statement: string
  readonly kept: boolean
  readonly steps: ReadonlyArray<Step>
}

const stepsOf = (node: Node): ReadonlyArray<Step> => {
  const loops = node["Actual Loops"]
  const passed_over = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0) +
    (node["Rows Removed by Join Filter"] ?? 0)
  return [
    {
      node: node["Node Type"],
      relation: node["Relation Name"] ?? null,
      sort: node["Sort Method"] ?? null,
      rows: node["Actual Rows"] * loops,
      rows_in_a_turn: node["Actual Rows"],
      passed_over: passed_over * loops
    },
    ...(node.Plans ?? []).flatMap(stepsOf)
  ]
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Returns a parameter as SQL. */
const literal = (value: unknown): string => {
  if (value === null) return "NULL"
  if (value instanceof Date) return quoted(value.toISOString())
  if (value instanceof Uint8Array) return `'\\x${Buffer.from(value).toString("hex")}'`
  if (Array.isArray(value)) return quoted(`{${value.map((item) => JSON.stringify(item)).join(",")}}`)
  return typeof value === "string" ? quoted(value) : String(value)
}

type Compiled = readonly [text: string, parameters: ReadonlyArray<unknown>]

/** Carries a statement out with a plan for its values, or with the one for all values, and undoes it. */
const explain = Effect.fnUntraced(function*([statement, parameters]: Compiled, kept: boolean) {
  const sql = yield* SqlClient.SqlClient
  const values = parameters.length === 0 ? "" : `(${parameters.map(literal).join(", ")})`
  const mode = kept ? "force_generic_plan" : "force_custom_plan"
  const rows = yield* sql.unsafe(`SET LOCAL plan_cache_mode = ${mode}`).pipe(
    Effect.andThen(sql.unsafe(`PREPARE explained AS ${statement}`).unprepared),
    Effect.andThen(
      sql.unsafe(`EXPLAIN (ANALYZE, TIMING OFF, BUFFERS OFF, FORMAT JSON) EXECUTE explained ${values}`).unprepared
    ),
    Effect.flatMap(Effect.fail),
    sql.withTransaction,
    Effect.flip,
    Effect.ensuring(Effect.ignore(sql`DEALLOCATE explained`.unprepared))
  )
  const [{ "QUERY PLAN": [{ Plan: plan }] }] = yield* decodePlan(rows)
  return { statement, kept, steps: stepsOf(plan) } satisfies Plan
})

/** The statements that the driver has prepared on this connection. */
const prepared = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly statement: string }>`SELECT statement FROM pg_prepared_statements`
  return new Set(rows.map(({ statement }) => statement))
})

/**
 * Carries an effect out in a transaction, undoes it, and returns how each of
 * its statements is carried out: one that the driver prepares also with the plan
 * that PostgreSQL may keep for all values.
 */
export const plansOf = Effect.fnUntraced(function*<A, E, R>(effect: Effect.Effect<A, E, R>) {
  const sql = yield* SqlClient.SqlClient
  const plans: Array<Plan> = []
  // Reads that leave together share the transaction, whose savepoints come one after the other.
  const turn = Semaphore.makeUnsafe(1)

  const watch: Statement.Transformer = (statement) =>
    Semaphore.withPermit(turn, Effect.forEach([false, true], (kept) => explain(statement.compile(), kept))).pipe(
      Effect.tap((both) => Effect.sync(() => plans.push(...both))),
      Effect.as(statement),
      Effect.provideService(SqlClient.SqlClient, sql),
      Effect.provideService(Statement.CurrentTransformer, undefined),
      Effect.orDie
    )

  const known = yield* Effect.provideService(effect, Statement.CurrentTransformer, watch).pipe(
    Effect.andThen(prepared),
    Effect.flatMap(Effect.fail),
    sql.withTransaction,
    Effect.flip
  )
  return plans.filter(({ kept, statement }) => !kept || (known as ReadonlySet<string>).has(statement))
})

/** Tables that nothing reads as a whole. */
const large = new Set([
  "contacts",
  "contact_tags",
  "contact_texts",
  "conversations",
  "idempotency_keys",
  "identities",
  "identity_names",
  "messages",
  "provider_messages",
  "sends",
  "webhook_deliveries",
  "webhook_events",
  "work",
  "work_lanes"
])
/** How many rows a step may pass over, and a sequential scan read: a twentieth of the contacts. */
const rows_passed_over_max = 5000
/** How many rows a statement may read: all that pass one filter, where many pass it but hardly any the other. */
const rows_read_max = 50_000
/** How many rows may be sorted, if not only the first of them are kept: a page of the largest size, and one more. */
const rows_sorted_max = 101

const complaint = ({ node, passed_over, relation, rows, rows_in_a_turn, sort }: Step): string | null => {
  const name = `${node} of ${relation ?? "rows"}`
  const isLarge = relation !== null && large.has(relation) && rows + passed_over > 0
  if (node === "Seq Scan" && isLarge) return `${name} reads ${rows + passed_over}`
  if (node === "Seq Scan" && rows + passed_over > rows_passed_over_max) return `${name} reads ${rows + passed_over}`
  if (passed_over > rows_passed_over_max) return `${name} passes over ${passed_over}`
  if (node === "Sort" && sort !== "top-N heapsort" && rows_in_a_turn > rows_sorted_max) {
    return `${name} sorts ${rows_in_a_turn}`
  }
  return null
}

/** Returns what is wrong with how statements were carried out. */
export const complaints = (plans: ReadonlyArray<Plan>): ReadonlyArray<string> =>
  plans.flatMap(({ kept, statement, steps }) => {
    const read = steps.reduce((sum, { relation, rows }) => relation === null ? sum : sum + rows, 0)
    const wrong = [...steps.map(complaint), read > rows_read_max ? `${read} rows are read` : null]
    const by = statement.replaceAll(/\s+/g, " ").trim().slice(0, 60)
    return wrong.flatMap((what) => what === null ? [] : `${what}${kept ? ", with one plan for all values" : ""}: ${by}`)
  })
