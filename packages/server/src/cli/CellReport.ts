/** The rows of `cells list`. */
import * as Hosts from "@messaging-crm/adapter-postgres/Hosts"
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import * as Moves from "@messaging-crm/adapter-postgres/Moves"
import * as SchemaUse from "@messaging-crm/adapter-postgres/SchemaUse"
import { SecretCanary } from "@messaging-crm/core/SecretCanary"
import { Effect, Option, Redacted } from "effect"
import { reasonOf } from "../Database.ts"
import * as Layers from "../Layers.ts"
import { type ConfiguredDatabase, databases, layerOf } from "./AdminOperations.ts"
import { unfinishedMoves } from "./UnfinishedMoves.ts"

/** Returns the hosts and the database of a URL, without the password. */
const serverOf = (url: Redacted.Redacted): string =>
  Option.match(Hosts.parse(Redacted.value(url)), {
    onNone: () => "",
    onSome: (hosts) => `${hosts.map(({ host, port }) => `${host}:${port}`).join(",")}/${hosts[0].database}`
  })

const unknown = {
  schema: null,
  postgres: null,
  organizations: null,
  bytes: null,
  work: null,
  sessions: null,
  sessions_max: null,
  moves: null
}

/** Returns what `organizations move` is moving from or to a cell: one part for each organization. */
const describeMoves = (moves: ReadonlyArray<Moves.Move>): string =>
  moves.map(({ organization_id, other, state }) =>
    `${organization_id} ${Moves.isLeaving(state) ? "to" : "from"} ${other}: ${state}`
  ).join(", ")

/** Returns what is wrong with the cell's schema and secret key; null if nothing is. */
const problemOf = Effect.fnUntraced(function*({ url }: ConfiguredDatabase) {
  const isCurrent = yield* Migrations.isCurrent
  if (!isCurrent) return "its schema is out of date. Run `messaging-crm migrate`"
  const isReadable = yield* Effect.provide(SecretCanary.use(({ peek }) => peek), layerOf(url), { local: true })
  return Option.contains(isReadable, false) ? "SECRET_KEY does not decrypt its secrets" : null
})

const report = (database: ConfiguredDatabase) => {
  const { cell, url } = database
  const name = { cell, server: serverOf(url) }
  return Effect.gen(function*() {
    const problem = yield* problemOf(database)
    const use = problem === null || problem.startsWith("SECRET_KEY")
      ? { ...yield* SchemaUse.read, moves: yield* Moves.list }
      : unknown
    return { ...name, status: problem ?? "ok", ...use }
  }).pipe(
    Effect.provide(Layers.database(url), { local: true }),
    Effect.catch((error) => Effect.succeed({ ...name, status: `unavailable: ${reasonOf(error)}`, ...unknown }))
  )
}

/**
 * Returns a row for each cell, and the moves that have not ended. A cell that is down has no numbers, and a status that says
 * why.
 */
export const read = Effect.gen(function*() {
  const reports = yield* Effect.forEach(yield* databases, report, { concurrency: 8 })
  return {
    rows: reports.map((row) => ({ ...row, moves: row.moves === null ? null : describeMoves(row.moves) })),
    unfinished: unfinishedMoves(reports.map(({ cell, moves }) => ({ cell, moves: moves ?? [] })))
  }
})
