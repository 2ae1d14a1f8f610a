import { type AuditFilters, AuditRecord, AuditStore } from "@messaging-crm/core/Audit"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { columnsOf, date, purge, rows, stored } from "../database/RowCodecs.ts"
import { unlimited } from "../database/TimeLimits.ts"

const records = rows(stored(AuditRecord))

const columns = columnsOf(AuditRecord)

/** The text that inserts records, up to the arguments `(NULL::audit_records, JSON)`: each record with its `organization_id`. */
export const insert = `INSERT INTO audit_records (organization_id, ${columns})
    SELECT organization_id, ${columns}
    FROM jsonb_populate_recordset`

/** Layer that reads and purges audit records in PostgreSQL. */
export const layer = Layer.effect(
  AuditStore,
  SqlClient.SqlClient.useSync((sql) => {
    const conditions = (
      organization_id: OrganizationId,
      { before, key_id, member_id, resource_id }: AuditFilters
    ) =>
      sql.and([
        sql`organization_id = ${organization_id}`,
        ...(resource_id === null ? [] : [sql`resource_id = ${resource_id}`]),
        ...(key_id === null ? [] : [sql`key_id = ${key_id}`]),
        ...(member_id === null ? [] : [sql`member_id = ${member_id}`]),
        ...(before === null ? [] : [sql`at < ${date(before)}`])
      ])

    return AuditStore.of({
      // The index has the time only, so a filter can read every record of the organization.
      list: (organization_id, filters, limit) =>
        Effect.orDie(
          unlimited(sql)(records(sql`
          SELECT ${sql.literal(columns)}
          FROM audit_records
          WHERE ${conditions(organization_id, filters)}
          ORDER BY at DESC, id DESC
          LIMIT ${limit}
        `))
        ),
      purge: purge(sql, "audit_records", "at")
    })
  })
)
