import { ContactFieldKeyTaken, ContactFieldStore } from "@messaging-crm/core/ContactFields"
import { Effect, Layer } from "effect"
import { byAge } from "./Order.ts"
import * as Table from "./Table.ts"
import { World } from "./World.ts"

/** Layer that keeps contact fields in the in-memory world. */
export const layer = Layer.effect(
  ContactFieldStore,
  Effect.gen(function*() {
    const world = yield* World

    return ContactFieldStore.of({
      insert: (organization_id, field) =>
        world.modify((rows) => {
          const taken = Table.all(rows.contact_fields, organization_id).some(({ key }) => key === field.key)
          if (taken) return [false, rows]
          return [true, {
            ...rows,
            contact_fields: Table.set(rows.contact_fields, organization_id, field.id, field)
          }]
        }).pipe(Effect.flatMap((inserted) => inserted ? Effect.void : new ContactFieldKeyTaken({ key: field.key }))),
      list: (organization_id) => world.read((rows) => Table.all(rows.contact_fields, organization_id).toSorted(byAge))
    })
  })
)
