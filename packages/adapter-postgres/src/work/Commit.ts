/**
 * The changes of one operation as one statement, which is its own transaction.
 *
 * Each part of the changes is one common table expression. The main query
 * requires of each that it found as many rows as it must, and raises
 * `serialization_failure` when one did not, which undoes the statement.
 *
 * Its conditions stand in the order of the parts and are evaluated one after
 * the other, each running its expression: so statements take their rows in one
 * order. PostgreSQL does not promise this; where it should not hold, a deadlock
 * is a `Conflict`. The idempotency record comes first: the loser of two equal
 * requests waits there, and not in the middle.
 *
 * An update that waited for a rival checks `version` again on the row as the
 * rival left it, and finds nothing.
 */
import { type Changes, isNone, type Table, type Update } from "@messaging-crm/core/Changes"
import { Commit, Conflict, KeyUsed, LeaseLost } from "@messaging-crm/core/Commit"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import * as Traces from "@messaging-crm/core/Traces"
import { Effect, Layer, Option } from "effect"
import type { SqlError } from "effect/sql"
import { SqlClient } from "effect/sql"
import { date } from "../database/Columns.ts"
import { CommitConnections } from "../database/CommitConnections.ts"
import * as Contacts from "./Commit/Contacts.ts"
import * as Events from "./Commit/Events.ts"
import * as Rows from "./Commit/Rows.ts"
import { exactly, type Part, type Values } from "./Commit/Statement.ts"
import * as Work from "./Commit/Work.ts"

const remembered = ({ parameter }: Values, { created_at, ...record }: NonNullable<Changes["remember"]>): Part => {
  const columns = Object.keys(record)
  return {
    name: "remembered",
    body: `
      INSERT INTO idempotency_keys (organization_id, created_at, ${columns.join(", ")})
      VALUES ($1::uuid, ${parameter(date(created_at))}, ${Object.values(record).map(parameter).join(", ")})
      RETURNING 1`,
    requires: exactly("remembered", 1)
  }
}

/** Returns the rows of each table that are updated or touched. */
const written = ({ touch, update = [] }: Changes): ReadonlyArray<readonly [Table, ReadonlyArray<Update>]> => {
  const updates = Rows.byTable(update)
  const touched = touch === undefined ? [] : Object.keys(Rows.activity)
  return [
    ...updates,
    ...touched.filter((name) => !updates.some(([table]) => table.name === name))
      .map((name) => [{ name, key: ["id"], columns: [] }, []] as const)
  ].toSorted(([a], [b]) => Rows.rank(a) - Rows.rank(b))
}

/** Returns the parts of the changes, in the order in which they take rows. */
const partsOf = (values: Values, changes: Changes, trace: string | null): ReadonlyArray<Part> => {
  const { abandon = [], aliases = [], expect = [], insert = [], raise = [], remember, remove = [], settle } = changes
  return [
    ...(remember === undefined ? [] : [remembered(values, remember)]),
    ...(settle === undefined ? [] : [Work.settled(values, settle)]),
    ...Rows.byTable(expect).map((some) => Rows.expected(values, some)),
    ...Rows.byTable(remove).map((some) => Rows.removed(values, some)),
    ...written(changes).flatMap(([table, updates]) => [
      Rows.updated(values, table, updates, changes.touch),
      ...(table.name === "contacts" ? Contacts.foundBy(updates) : [])
    ]),
    ...Rows.byTable(insert).flatMap(([table, inserts]) => {
      const rows = inserts.flatMap((some) => some.rows)
      return [
        Rows.inserted(values, table, rows),
        ...(table.name === "contacts" ? Contacts.described(values, rows) : [])
      ]
    }),
    ...(aliases.length === 0 ? [] : [Contacts.aliased(values, aliases)]),
    ...(abandon.length === 0 ? [] : [Events.abandoned(values, changes)]),
    ...(raise.length === 0 ? [] : Events.raised(values, raise)),
    ...Work.queued(values, changes, trace)
  ]
}

/** Returns the statement that applies some changes, and its parameters. */
const build = (organization_id: OrganizationId, changes: Changes, trace: string | null) => {
  const parameters: Array<unknown> = [organization_id]
  const parameter = (value: unknown) => `$${parameters.push(value)}`
  const json = (value: unknown) => `${parameter(JSON.stringify(value))}::jsonb`
  const parts = partsOf({ parameter, json }, changes, trace)
  const all = (conditions: ReadonlyArray<Part>) => ["true", ...conditions.map(({ requires }) => requires)].join(" AND ")
  return {
    parameters,
    text: `WITH ${parts.map(({ body, name }) => `${name} AS (${body})`).join(", ")}
      SELECT commit_requires(
        ${all(parts.filter(({ isLease }) => isLease === true))},
        ${all(parts.filter(({ isLease }) => isLease !== true))}
      )
      WHERE $1::uuid IS NOT NULL`
  }
}

/** Returns the code of a state that no class of the driver knows. */
const stateOf = ({ reason }: SqlError.SqlError): unknown =>
  // The driver's own error is the cause, as it came from the server.
  (reason.cause as { readonly code?: unknown } | undefined)?.code

/** With a key, an outcome that is not known is decided again: the repetition finds the record, or takes effect. */
const refused = (error: SqlError.SqlError, hasKey: boolean): Effect.Effect<never, Conflict | KeyUsed | LeaseLost> => {
  const { reason } = error
  switch (reason._tag) {
    case "UniqueViolation":
      return Effect.fail(reason.constraint === "idempotency_keys_pkey" ? new KeyUsed() : new Conflict())
    case "DeadlockError":
    case "LockTimeoutError":
    case "SerializationError":
      return Effect.fail(new Conflict())
    case "ConnectionError":
      return hasKey ? Effect.fail(new Conflict()) : Effect.die(error)
    default:
      return stateOf(error) === "MC001" ? Effect.fail(new LeaseLost()) : Effect.die(error)
  }
}

/** Layer that commits to PostgreSQL: over connections of its own where there are some, or as a part of the caller's transaction. */
export const layer = Layer.effect(
  Commit,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const own = Option.getOrElse(yield* Effect.serviceOption(CommitConnections), () => sql)

    return Commit.of({
      commit: Effect.fnUntraced(function*(organization_id, changes) {
        if (isNone(changes)) return
        const hasWork = changes.enqueue !== undefined || changes.raise !== undefined
        const { parameters, text } = build(organization_id, changes, hasWork ? yield* Traces.current : null)
        const outer = yield* Effect.serviceOption(sql.transactionService)
        const committed = Effect.catch(
          (Option.isSome(outer) ? sql : own).unsafe(text, parameters),
          (error) => refused(error, changes.remember !== undefined)
        )
        yield* Option.isSome(outer) ? Effect.catchTag(committed, "Conflict", Effect.die) : committed
      })
    })
  })
)
