import { Channel, ChannelAddressTaken, ChannelStore } from "@messaging-crm/core/Channels"
import { ChannelId, OrganizationId } from "@messaging-crm/core/Ids"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { At, date } from "./Columns.ts"

const Row = Schema.Struct({ ...Channel.fields, connected_at: At })

/** Layer that keeps channels in PostgreSQL. */
export const layer = Layer.effect(
  ChannelStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const list = SqlSchema.findAll({
      Request: OrganizationId,
      Result: Row,
      execute: (organization_id) =>
        sql`
          SELECT id, type, name, address, phone_messaging_business_account_id, connected_at
          FROM channels
          WHERE organization_id = ${organization_id}
          ORDER BY connected_at, id
        `
    })

    const find = SqlSchema.findOneOption({
      Request: Schema.Struct({ organization_id: OrganizationId, id: ChannelId }),
      Result: Row,
      execute: ({ id, organization_id }) =>
        sql`
          SELECT id, type, name, address, phone_messaging_business_account_id, connected_at
          FROM channels
          WHERE organization_id = ${organization_id} AND id = ${id}
        `
    })

    const locate = SqlSchema.findOneOption({
      Request: ChannelId,
      Result: Schema.Struct({ ...Row.fields, organization_id: OrganizationId }),
      execute: (id) =>
        sql`
          SELECT organization_id, id, type, name, address, phone_messaging_business_account_id, connected_at
          FROM channels
          WHERE id = ${id}
        `
    })

    return ChannelStore.of({
      insert: (organization_id, channel) =>
        sql`
          INSERT INTO channels ${sql.insert({ ...channel, organization_id, connected_at: date(channel.connected_at) })}
          ON CONFLICT ON CONSTRAINT channels_address_unique DO NOTHING
          RETURNING id
        `.pipe(
          Effect.orDie,
          Effect.flatMap((inserted) =>
            inserted.length === 1 ? Effect.void : new ChannelAddressTaken({ address: channel.address })
          )
        ),
      list: (organization_id) => Effect.orDie(list(organization_id)),
      find: (organization_id, id) => Effect.orDie(find({ organization_id, id })),
      locate: (id) =>
        locate(id).pipe(
          Effect.map(Option.map(({ organization_id, ...channel }) => ({ organization_id, channel }))),
          Effect.orDie
        )
    })
  })
)
