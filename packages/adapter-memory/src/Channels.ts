import { ChannelAddressTaken, ChannelStore } from "@messaging-crm/core/Channels"
import { Effect, HashMap, Layer, Option } from "effect"
import { byAge } from "./Order.ts"
import * as Table from "./Table.ts"
import { World } from "./World.ts"

/** Layer that keeps channels in the in-memory world. */
export const layer = Layer.effect(
  ChannelStore,
  Effect.gen(function*() {
    const world = yield* World

    return ChannelStore.of({
      insert: (organization_id, channel) =>
        world.modify((rows) => {
          const taken = Table.all(rows.channels, organization_id)
            .some(({ address, type }) => type === channel.type && address === channel.address)
          if (taken) return [false, rows]
          return [true, {
            ...rows,
            channels: Table.set(rows.channels, organization_id, channel.id, channel),
            channel_owners: HashMap.set(rows.channel_owners, channel.id, organization_id)
          }]
        }).pipe(
          Effect.flatMap((inserted) => inserted ? Effect.void : new ChannelAddressTaken({ address: channel.address }))
        ),
      list: (organization_id) =>
        world.read((rows) =>
          Table.all(rows.channels, organization_id).toSorted((a, b) =>
            byAge({ id: a.id, created_at: a.connected_at }, { id: b.id, created_at: b.connected_at })
          )
        ),
      find: (organization_id, id) => world.read((rows) => Table.get(rows.channels, organization_id, id)),
      locate: (id) =>
        world.read((rows) =>
          Option.flatMap(
            HashMap.get(rows.channel_owners, id),
            (organization_id) =>
              Option.map(Table.get(rows.channels, organization_id, id), (channel) => ({ organization_id, channel }))
          )
        )
    })
  })
)
