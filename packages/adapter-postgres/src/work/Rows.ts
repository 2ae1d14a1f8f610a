import type { OrganizationId } from "@messaging-crm/core/Ids"
import { type ReadableRows, type ReadTable, type Row, Rows } from "@messaging-crm/core/Rows"
import { Array, Effect, Function, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { rows } from "../database/RowCodecs.ts"
import * as StatementBatcher from "../database/StatementBatcher.ts"

/** Returns the schema of the rows of a table, which is made once. The client returns times as core's. */
export const schemaOf = Function.memoize(({ reading }: ReadTable) =>
  Schema.toType(Schema.Struct({ ...reading.schema.fields, version: Schema.Int }))
)

/** Makes the functions that read a table. Concurrent calls of `find`, `list`, or `locate` share a statement. */
const makeReader = <Columns>(sql: SqlClient.SqlClient, table: ReadTable) => {
  const { key, name, owner, reading } = table
  const [id] = Object.keys(key)
  const columns = [...Object.keys(reading.schema.fields), "version"].map((column) => `stored.${column}`).join(", ")
  const select = `SELECT ${columns}, stored.${owner} AS organization_id FROM ${name} stored`
  const order = `ORDER BY ${reading.order.map((column) => `stored.${column}`).join(", ")}`
  const isListed = reading.while_null === undefined ? "" : `AND stored.${reading.while_null} IS NULL`
  // A declaration has the schema of its columns.
  const decode = rows(schemaOf(table) as unknown as Schema.Codec<Row<Columns>, unknown>)

  /** Decodes rows, each with its organization. */
  const decodeOwned = Effect.fnUntraced(function*(
    statement: Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>
  ) {
    // `select` names the organization.
    const raw = (yield* Effect.orDie(statement)) as ReadonlyArray<{ readonly organization_id: OrganizationId }>
    return Array.zipWith(
      raw,
      yield* decode(Effect.succeed(raw)),
      ({ organization_id }, row) => ({ organization_id, row })
    )
  })

  const list = Effect.fnUntraced(function*(organization_ids: ReadonlyArray<OrganizationId>) {
    const found = yield* decodeOwned(sql.unsafe(
      `${select} WHERE stored.${owner} = ANY($1::uuid[]) ${isListed} ${order}`,
      [organization_ids]
    ))
    const byOwner = Map.groupBy(found, ({ organization_id }) => organization_id)
    return organization_ids.map((each) => byOwner.get(each)?.map(({ row }) => row) ?? [])
  })

  return {
    find: StatementBatcher.makeByKey(sql, {
      key: { organization_id: "uuid", id: "uuid" },
      select: `${select} WHERE stored.${owner} = key.organization_id AND stored.${id} = key.id`,
      decode
    }),
    findMany: (organization_id: OrganizationId, ids: ReadonlyArray<string>) =>
      decode(sql.unsafe(
        `${select} WHERE stored.${owner} = $1 AND stored.${id} = ANY($2::uuid[]) ${order}`,
        [organization_id, ids]
      )),
    list: StatementBatcher.make(sql, list),
    locate: StatementBatcher.makeByKey(sql, {
      key: { id: "uuid" },
      select: `${select} WHERE stored.${id} = key.id`,
      decode: decodeOwned
    })
  }
}

/** Layer that reads rows in PostgreSQL. */
export const layer = Layer.effect(
  Rows,
  SqlClient.SqlClient.useSync((sql) => {
    const made = new Map<string, unknown>()

    /** Returns the reader of a table, which is made once, because it contains the open batches. */
    const readerOf = <Columns extends object, KeyColumn extends keyof Columns & string>(
      { table }: ReadableRows<Columns, KeyColumn>
    ) => {
      const reader = made.get(table.name) ?? makeReader<Columns>(sql, table)
      made.set(table.name, reader)
      return reader as ReturnType<typeof makeReader<Columns>>
    }

    return Rows.of({
      find: (of, organization_id, id) => readerOf(of).find({ organization_id, id: String(id) }),
      findMany: (of, organization_id, ids) => readerOf(of).findMany(organization_id, ids.map(String)),
      list: (of, organization_id) => readerOf(of).list(organization_id),
      locate: (of, id) => readerOf(of).locate({ id: String(id) })
    })
  })
)
