import { ChannelHoldRows, ChannelHoldStore, isPause } from "@messaging-crm/core/ChannelHolds"
import { Layer } from "effect"
import { oldestFirst } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

/** Layer that keeps holds of channels in the in-memory world. */
export const layer = Layer.effect(
  ChannelHoldStore,
  World.useSync(({ read }) =>
    ChannelHoldStore.of({
      find: (organization_id, channel_id) =>
        read(({ tables }) => Table.get(tables, ChannelHoldRows, organization_id, channel_id)),
      list: (organization_id) =>
        read(({ tables }) =>
          Table.all(tables, ChannelHoldRows, organization_id).map(Table.plain)
            .toSorted(oldestFirst(({ channel_id: id, held_at: at }) => ({ at, id })))
        ),
      countPaused: read(({ tables }) => {
        const paused = Table.allOfEveryOwner(tables, ChannelHoldRows).filter(({ row }) => isPause(row))
        return Array.from(
          Map.groupBy(paused, ({ row }) => row.reason),
          ([reason, holds]) => ({ reason, count: holds.length })
        )
      })
    })
  )
)
