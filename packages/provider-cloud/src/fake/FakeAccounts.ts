import type { Channel } from "@messaging-crm/core/Channels"
import { ChannelId } from "@messaging-crm/core/Ids"
import { Effect, Layer, Option, type Redacted, Schema } from "effect"
import { type CloudAccount, CloudAccounts, type CloudApp } from "../CloudAccounts.ts"

const decodeChannelId = Schema.decodeUnknownOption(ChannelId)

/** An account without a channel: reading templates requires a token, but no number. */
const anyChannel = ChannelId.make("01990000-0000-7000-8000-000000000001")

/** Layer for one app, and an account for every channel: its ID on the network is the channel's own. */
export const layer = (app: CloudApp, token: Redacted.Redacted) => {
  const accountOf = ({ id, type }: Pick<Channel, "id" | "type">): CloudAccount => {
    const fields = { channel_id: id, app_id: app.id, token }
    switch (type) {
      case "phone_messaging":
        return { type, ...fields, phone_number_id: id, business_account_id: "acme" }
      case "page_messaging":
        return { type, ...fields, page_id: id }
      case "photo_social":
        return { type, ...fields, account_id: id, page_id: null }
    }
  }

  return Layer.succeed(CloudAccounts, {
    apps: Effect.succeed([app]),
    accountOfChannel: (channel) => Effect.succeed(Option.some(accountOf(channel))),
    accountOfBusinessAccount: (business_account_id) =>
      Effect.succeed(Option.some({
        type: "phone_messaging" as const,
        channel_id: anyChannel,
        app_id: app.id,
        token,
        phone_number_id: "1",
        business_account_id
      })),
    accountOfKey: (app_id, { id, type }) =>
      Effect.succeed(
        app_id === app.id
          ? Option.map(decodeChannelId(id), (channel_id) => accountOf({ id: channel_id, type }))
          : Option.none()
      ),
    channelOfKey: (app_id, { id }) => Effect.succeed(app_id === app.id ? decodeChannelId(id) : Option.none())
  })
}
