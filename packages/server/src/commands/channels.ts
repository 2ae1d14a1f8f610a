import { Channel, Channels, ChannelType, ConnectChannel } from "@messaging-crm/core/Channels"
import { AccountCheck } from "@messaging-crm/provider-cloud/AccountCheck"
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import * as Admin from "../Admin.ts"
import * as Print from "../Print.ts"
import * as Providers from "../Providers.ts"

const toJson = Schema.encodeSync(Channel)

const connect = Command.make(
  "connect",
  {
    organization: Admin.organization,
    type: Flag.Literals("type", ChannelType.literals).pipe(Flag.withDescription("The type of the channel")),
    name: Flag.String("name").pipe(Flag.withDescription("The name of the channel")),
    address: Flag.String("address").pipe(Flag.withDescription("Its number, account or page")),
    business_account: Flag.String("business-account").pipe(
      Flag.optional,
      Flag.withDescription("The business account of a phone_messaging channel")
    ),
    json: Print.json
  },
  Effect.fnUntraced(function*({ business_account, json, organization, ...flags }) {
    const phone_messaging_business_account_id = Option.getOrNull(business_account)
    const input = yield* Admin.typed(ConnectChannel, { ...flags, phone_messaging_business_account_id })
    const channel = yield* Admin.asOperator(organization, Channels.use((channels) => channels.connect(input))).pipe(
      Effect.catchTags({
        BusinessAccountMismatch: Admin.refuse(
          "A phone_messaging channel needs --business-account; no other channel has one."
        ),
        ChannelAddressTaken: Admin.refuse("A channel of this type and address is connected already.")
      })
    )
    yield* Print.result(json, toJson(channel), `Channel ${channel.id} (${channel.type}, ${channel.address}).`)
  })
).pipe(Command.withDescription("Connect a channel"))

const list = Command.make(
  "list",
  {
    organization: Admin.organization,
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, organization }) {
    const found = yield* Admin.asOperator(organization, Channels.use((channels) => channels.list))
    const rows = found.map((row) => toJson(row))
    yield* Print.result(json, rows, Print.table(rows))
  })
).pipe(Command.withDescription("List the channels"))

const check = Command.make(
  "check",
  {
    organization: Admin.organization,
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, organization }) {
    const found = yield* Admin.asOperator(organization, Channels.use((channels) => channels.list))
    const rows = yield* Effect.forEach(
      found,
      (channel) =>
        Effect.map(AccountCheck.use(({ check }) => check(channel)), (account) => ({
          id: channel.id,
          type: channel.type,
          address: channel.address,
          account
        })),
      { concurrency: 4 }
    ).pipe(Effect.provide(Providers.accountCheck))
    yield* Print.result(json, rows, Print.table(rows))
    const bad = rows.filter(({ account }) => account !== "ok")
    if (bad.length > 0) yield* Admin.refuse(`${bad.length} of ${rows.length} channels cannot send.`)()
  })
).pipe(
  Command.withDescription("Ask the networks whether each channel's account in CLOUD_ACCOUNTS works; sends nothing")
)

export const channels = Command.make("channels").pipe(
  Command.withDescription("Channels of an organization"),
  Command.withSubcommands([connect, list, check])
)
