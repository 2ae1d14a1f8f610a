import { MediaRows, MediaStore } from "@messaging-crm/core/Media"
import { Layer, Option } from "effect"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

/** Layer that keeps the files of messages in the in-memory world. */
export const layer = Layer.effect(
  MediaStore,
  World.useSync(({ read }) =>
    MediaStore.of({
      find: (organization_id, id) =>
        read(({ tables }) => Option.map(Table.get(tables, MediaRows, organization_id, id), Table.plain))
    })
  )
)
