import { type TagColumns, TagRows, TagStore } from "@messaging-crm/core/Tags"
import { byCodePoint } from "@messaging-crm/core/Text"
import { Layer, Option, Struct } from "effect"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

const sortByName = (rows: ReadonlyArray<Table.Row<TagColumns>>) =>
  rows.toSorted((a, b) => byCodePoint(a.name_key, b.name_key)).map(Struct.omit(["name_key", "version"]))

/** Layer that keeps tags in the in-memory world. */
export const layer = Layer.effect(
  TagStore,
  World.useSync(({ read }) =>
    TagStore.of({
      findMany: (organization_id, ids) =>
        read(({ tables }) =>
          sortByName(
            Array.from(new Set(ids)).flatMap((id) => Option.toArray(Table.get(tables, TagRows, organization_id, id)))
          )
        ),
      list: (organization_id) => read(({ tables }) => sortByName(Table.all(tables, TagRows, organization_id)))
    })
  )
)
