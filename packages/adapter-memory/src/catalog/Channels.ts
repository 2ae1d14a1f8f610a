import { ChannelRows, ChannelStore } from "@messaging-crm/core/Channels"
import { Layer, Option } from "effect"
import { oldestFirst } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

/** Layer that keeps channels in the in-memory world. */
export const layer = Layer.effect(
  ChannelStore,
  World.useSync(({ read }) =>
    ChannelStore.of({
      list: (organization_id) =>
        read(({ tables }) =>
          Table.all(tables, ChannelRows, organization_id).map(Table.plain)
            .toSorted(oldestFirst(({ connected_at: at, id }) => ({ at, id })))
        ),
      find: (organization_id, id) =>
        read(({ tables }) => Option.map(Table.get(tables, ChannelRows, organization_id, id), Table.plain)),
      locate: (id) =>
        read(({ tables }) =>
          Option.map(Table.locateByKey(tables, ChannelRows, id), ({ organization_id, row }) => ({
            organization_id,
            channel: Table.plain(row)
          }))
        )
    })
  )
)
