import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Effect, Schema } from "effect"
import { type SqlClient, type SqlError, SqlSchema, type Statement } from "effect/sql"

const Key = Schema.Struct({ organization_id: Schema.String, id: Schema.String })

/**
 * Returns how a row is read by its id, for a look (`find`) and so that nobody
 * else passes until the transaction ends (`lock`): one statement, with the
 * locking clause at its end or without.
 */
export const findAndLock = <Result extends Schema.Constraint & { readonly DecodingServices: never }>(
  sql: SqlClient.SqlClient,
  { Result, execute, locking }: {
    readonly Result: Result
    readonly locking: string
    readonly execute: (
      key: typeof Key.Type,
      locking: Statement.Fragment
    ) => Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>
  }
) => {
  const read = (clause: string) => {
    const one = SqlSchema.findOneOption({
      Request: Key,
      Result,
      execute: (key) => execute(key, sql.literal(clause))
    })
    return (organization_id: OrganizationId, id: string) => Effect.orDie(one({ organization_id, id }))
  }
  return { find: read(""), lock: read(locking) }
}
