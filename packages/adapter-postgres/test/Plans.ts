/** Explains the exact statements of a store, with their generic plans. */
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
  "Rows Removed by Join Filter": Count,
  "Index Searches": Count,
  "Shared Hit Blocks": Count,
  "Shared Read Blocks": Count
})

const Node: Schema.Codec<Node> = Schema.Struct({
  ...NodeFields.fields,
  Plans: Schema.optionalKey(Schema.Array(Schema.suspend((): Schema.Codec<Node> => Node)))
})

const decodePlan = Schema.decodeUnknownEffect(
  Schema.Tuple([Schema.Struct({ "QUERY PLAN": Schema.Tuple([Schema.Struct({ Plan: Node })]) })])
)

/** One node of a plan. Its numbers are the totals of all loops, except those of a sort. */
export interface Step {
  readonly node: string
  readonly relation: string | null
  readonly sort: string | null
  readonly rows: number
  readonly rows_in_a_turn: number
  readonly passed_over: number
  /** The pages read, those of its inputs included. */
  readonly pages: number
  readonly searches: number
}

/** A statement with its generic plan, and the rows that it read, including those read by functions. */
export interface Plan {
  readonly statement: string
  readonly steps: ReadonlyArray<Step>
  readonly reads: ReadonlyArray<Reads>
}

/** The rows of a table that were read by sequential scans, and by indexes. */
interface Reads {
  readonly relation: string
  readonly in_sequence: number
  readonly by_index: number
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
      passed_over: passed_over * loops,
      pages: (node["Shared Hit Blocks"] ?? 0) + (node["Shared Read Blocks"] ?? 0),
      searches: node["Index Searches"] ?? 0
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

/** The rows that this transaction has read so far. */
const reads = SqlClient.SqlClient.use((sql) =>
  sql<Reads>`
    SELECT relname AS relation, seq_tup_read::float8 AS in_sequence, coalesce(idx_tup_fetch, 0)::float8 AS by_index
    FROM pg_stat_xact_user_tables
    WHERE schemaname = current_schema()
    ORDER BY relid
  `.unprepared
)

const undone = "undone"

/** Rolls back what an effect has written. */
export const undo = Effect.fnUntraced(function*<A, E, R>(effect: Effect.Effect<A, E, R>) {
  const sql = yield* SqlClient.SqlClient
  yield* effect.pipe(
    Effect.andThen(Effect.fail(undone)),
    sql.withTransaction,
    Effect.catch((error) => error === undone ? Effect.void : Effect.fail(error))
  )
})

/** Runs a statement, records its plan, and rolls it back. */
const explain = Effect.fnUntraced(function*([statement, parameters]: Compiled, plans: Array<Plan>) {
  const sql = yield* SqlClient.SqlClient
  const values = parameters.length === 0 ? "" : `(${parameters.map(literal).join(", ")})`
  const explained = Effect.gen(function*() {
    yield* sql.unsafe(`PREPARE explained AS ${statement}`).unprepared
    const before = new Map((yield* reads).map((row) => [row.relation, row]))
    const rows = yield* sql.unsafe(
      `EXPLAIN (ANALYZE, TIMING OFF, BUFFERS ON, FORMAT JSON) EXECUTE explained ${values}`
    ).unprepared
    const [{ "QUERY PLAN": [{ Plan: plan }] }] = yield* decodePlan(rows)
    const after = (yield* reads).map(({ by_index, in_sequence, relation }) => ({
      relation,
      in_sequence: in_sequence - (before.get(relation)?.in_sequence ?? 0),
      by_index: by_index - (before.get(relation)?.by_index ?? 0)
    }))
    plans.push({ statement, steps: stepsOf(plan), reads: after })
  })
  yield* undo(explained).pipe(
    Effect.ensuring(Effect.ignore(sql`DEALLOCATE explained`.unprepared))
  )
})

/** Runs an effect in a transaction, rolls it back, and returns the plans of its statements. */
export const plansOf = Effect.fnUntraced(function*<A, E, R>(effect: Effect.Effect<A, E, R>) {
  const sql = yield* SqlClient.SqlClient
  const plans: Array<Plan> = []
  // Concurrent reads share the transaction, whose savepoints must be sequential.
  const turn = Semaphore.makeUnsafe(1)

  const watch: Statement.Transformer = (statement) =>
    Semaphore.withPermit(turn, explain(statement.compile(), plans)).pipe(
      Effect.as(statement),
      Effect.provideService(SqlClient.SqlClient, sql),
      Effect.provideService(Statement.CurrentTransformer, undefined),
      Effect.orDie
    )

  yield* undo(Effect.provideService(effect, Statement.CurrentTransformer, watch))
  return plans
})

/** Tables that no statement may read completely. */
const large = new Set([
  "audit_records",
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
/** How many rows a node may filter out, and a sequential scan may read: a twentieth of the contacts. */
const rows_passed_over_max = 5000
/** How many rows a statement may read: all that match one filter, if many match it but few match the other. */
const rows_read_max = 20_000
/** How many rows may be sorted completely: a page of the largest size, and one more. A top-N sort may be larger. */
const rows_sorted_max = 101

/** How many pages of an index a scan can read in addition to those of its searches and its rows. */
const index_pages_max = 100
/** How many pages a search of an index reads at most, from its root to the row. */
const search_pages_max = 6

const complaint = (
  { node, pages, passed_over, relation, rows, rows_in_a_turn, searches, sort }: Step
): string | null => {
  const name = `${node} of ${relation ?? "rows"}`
  const isLarge = relation !== null && large.has(relation) && rows + passed_over > 0
  if (node === "Seq Scan" && isLarge) return `${name} reads ${rows + passed_over}`
  if (node === "Seq Scan" && rows + passed_over > rows_passed_over_max) return `${name} reads ${rows + passed_over}`
  if (searches > 0 && pages > index_pages_max + search_pages_max * searches + 2 * (rows + passed_over)) {
    return `${name} reads ${pages} pages for ${rows} rows`
  }
  if (passed_over > rows_passed_over_max) return `${name} passes over ${passed_over}`
  if (node === "Sort" && sort !== "top-N heapsort" && rows_in_a_turn > rows_sorted_max) {
    return `${name} sorts ${rows_in_a_turn}`
  }
  return null
}

/** Returns whether the statement finds a row. */
export const findsRows = ({ steps: [result] }: Plan): boolean => result !== undefined && result.rows > 0

/** Returns the violations of these limits. */
export const complaints = (plans: ReadonlyArray<Plan>): ReadonlyArray<string> =>
  plans.flatMap(({ reads, statement, steps }) => {
    const read = reads.reduce((sum, { by_index, in_sequence }) => sum + by_index + in_sequence, 0)
    const wrong = [
      ...steps.map(complaint),
      ...reads.map(({ in_sequence, relation }) =>
        large.has(relation) && in_sequence > 0 ? `${in_sequence} rows of ${relation} are read in sequence` : null
      ),
      read > rows_read_max ? `${read} rows are read` : null
    ]
    const by = statement.replaceAll(/\s+/g, " ").trim().slice(0, 60)
    return wrong.flatMap((what) => what === null ? [] : `${what}: ${by}`)
  })
