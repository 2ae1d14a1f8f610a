import { type MemberColumns, type MemberRow, MemberRows, MemberStore, toMember } from "@messaging-crm/core/Members"
import { Layer, Option, Struct } from "effect"
import { byAge } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

const toRow = (row: Table.Row<MemberColumns>): MemberRow => Struct.omit(row, ["email_key"])

/** Layer that keeps members in the in-memory world. */
export const layer = Layer.effect(
  MemberStore,
  World.useSync(({ read }) =>
    MemberStore.of({
      find: (organization_id, id) =>
        read(({ tables }) => Option.map(Table.get(tables, MemberRows, organization_id, id), toRow)),
      list: (organization_id) =>
        read(({ tables }) =>
          Table.all(tables, MemberRows, organization_id)
            .filter(({ left_at }) => left_at === null)
            .toSorted(byAge)
            .map((row) => toMember(toRow(row)))
        )
    })
  )
)
