import { ContactFieldRows, ContactFieldStore } from "@messaging-crm/core/ContactFields"
import { Layer } from "effect"
import { byAge } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

/** Layer that keeps contact fields in the in-memory world. */
export const layer = Layer.effect(
  ContactFieldStore,
  World.useSync(({ read }) =>
    ContactFieldStore.of({
      list: (organization_id) =>
        read(({ tables }) => Table.all(tables, ContactFieldRows, organization_id).toSorted(byAge).map(Table.plain))
    })
  )
)
