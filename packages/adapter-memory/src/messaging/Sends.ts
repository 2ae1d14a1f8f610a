import { SendRows, SendStore } from "@messaging-crm/core/Sends"
import { Layer } from "effect"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

/** Layer that keeps sends in the in-memory world. */
export const layer = Layer.effect(
  SendStore,
  World.useSync(({ read }) =>
    SendStore.of({
      find: (organization_id, id) => read(({ tables }) => Table.get(tables, SendRows, organization_id, id))
    })
  )
)
