import { type AuditFilters, type AuditRecord, AuditStore } from "@messaging-crm/core/Audit"
import { DateTime, Layer } from "effect"
import { page } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"
import { AuditRows } from "./PrivateTables.ts"

const passes = ({ before, key_id, member_id, resource_id }: AuditFilters) => (record: AuditRecord): boolean =>
  (resource_id === null || record.resource_id === resource_id) &&
  (key_id === null || record.key_id === key_id) &&
  (member_id === null || record.member_id === member_id) &&
  (before === null || DateTime.isLessThan(record.at, before))

/** Layer that keeps audit records in the in-memory world. */
export const layer = Layer.effect(
  AuditStore,
  World.useSync(({ modify, read }) =>
    AuditStore.of({
      list: (organization_id, filters, size) =>
        read(({ tables }) =>
          page(
            Table.all(tables, AuditRows, organization_id).filter(passes(filters)),
            { after: null, size },
            ({ at, id }) => ({ at, id })
          ).map(Table.plain)
        ),
      purge: (before, limit) =>
        modify((state) => {
          const [old, tables] = Table.purge(state.tables, AuditRows, ({ at }) => at, before, limit)
          return [old.length, { ...state, tables }]
        })
    })
  )
)
