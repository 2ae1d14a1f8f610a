import { ChannelHoldRows, ChannelHoldStore, isPause } from "@messaging-crm/core/ChannelHolds"
import { Layer } from "effect"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

/** Layer that counts holds of channels in the in-memory world. */
export const layer = Layer.effect(
  ChannelHoldStore,
  World.useSync(({ read }) =>
    ChannelHoldStore.of({
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
