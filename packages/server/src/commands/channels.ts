import { type ChannelHold, ChannelHolds, isPause } from "@messaging-crm/core/ChannelHolds"
import { Channel, Channels, ChannelType, ConnectChannel } from "@messaging-crm/core/Channels"
import { encoder } from "@messaging-crm/core/Codecs"
import { ChannelId } from "@messaging-crm/core/Ids"
import { DateTime, Effect, Option, Struct } from "effect"
import { Command, Flag } from "effect/cli"
import * as AccountFlags from "../cli/AccountFlags.ts"
import * as AccountOperations from "../cli/AccountOperations.ts"
import * as Admin from "../cli/Admin.ts"
import * as Flags from "../cli/Flags.ts"
import * as Print from "../cli/Print.ts"
import { readRequired, settings } from "../settings/Config.ts"

const toJson = encoder(Channel)

const connect = Command.make(
  "connect",
  {
    organization: Admin.organization,
    type: Flag.Literals("type", ChannelType.literals).pipe(
      Flag.withDescription(
        "Type of the channel; phone_messaging is WhatsApp, photo_social is Instagram, page_messaging is Messenger"
      )
    ),
    name: Flag.String("name").pipe(Flag.withDescription("Display name of the channel")),
    address: Flag.String("address").pipe(
      Flag.withDescription("The channel's phone number, or the name of its account or page (not the network's ID)")
    ),
    business_account: Flag.String("business-account").pipe(
      Flags.optional("ID of the business account; required for a phone_messaging channel", "none")
    ),
    ...AccountFlags.newIds,
    token_file: Flag.String("token-file").pipe(
      Flags.optional("File with the token of the account, or - for stdin", "no account is connected")
    ),
    json: Print.json
  },
  Effect.fnUntraced(function*({ business_account, json, organization, token_file, ...flags }) {
    const input = yield* Admin.typed(ConnectChannel, {
      ...Struct.pick(flags, ["address", "name", "type"]),
      phone_messaging_business_account_id: Option.getOrNull(business_account)
    })
    const account_ids = yield* AccountFlags.readAccountIds(flags)
    if (Option.isSome(account_ids) && Option.isNone(token_file)) {
      return yield* new Admin.Rejected({
        message: "--account requires --token-file. Add a file with the token of the account."
      })
    }
    const connecting = Effect.gen(function*() {
      return Option.isNone(token_file)
        ? yield* Channels.use((channels) => channels.connect(input))
        : yield* AccountOperations.connect(input, account_ids, token_file.value)
    })
    const channel = yield* Admin.asOperator(organization, connecting).pipe(
      Effect.catchTags({
        ...Struct.pick(AccountOperations.rejections, ["AccountTaken", "ChannelAddressTaken"]),
        BusinessAccountMismatch: () => AccountFlags.businessAccountMismatch(flags.type)
      })
    )
    yield* Print.result(json, toJson(channel), `Channel ${channel.id} (${channel.type}, ${channel.address}).`)
  })
).pipe(
  Command.withDescription("Add a channel; with --token-file, also verify and store its network account"),
  Command.withExamples([
    {
      command:
        "messaging-crm channels connect --organization $ORGANIZATION_ID --type phone_messaging --name Support --address +493012345678 --business-account 1234"
    },
    {
      command:
        "messaging-crm channels connect --organization $ORGANIZATION_ID --type page_messaging --name Page --address acme --account 5678 --app 9012 --token-file token.txt"
    }
  ])
)

const setToken = Command.make(
  "set-token",
  {
    organization: Admin.organization,
    channel: Flags.id("channel", ChannelId, "ID of the channel"),
    ...AccountFlags.ids,
    token_file: AccountFlags.token_file,
    json: Print.json
  },
  Effect.fnUntraced(function*({ channel, json, organization, token_file, ...flags }) {
    const account_ids = yield* AccountFlags.readAccountIds(flags)
    const token = yield* AccountFlags.readToken(token_file)
    const resumed = yield* Admin.asOperator(organization, AccountOperations.replaceToken(channel, account_ids, token))
      .pipe(
        Effect.catchTags(
          Struct.pick(AccountOperations.rejections, ["AccountTaken", "AccountUnknown", "ChannelNotFound"])
        )
      )
    const more = resumed ? " It is resumed; its queued sends follow within two minutes." : ""
    yield* Print.result(json, { id: channel, resumed }, `Channel ${channel} has a new token.${more}`)
  })
).pipe(
  Command.withDescription("Replace the token of a channel's network account"),
  Command.withExamples([
    {
      command:
        "messaging-crm channels set-token --organization $ORGANIZATION_ID --channel $CHANNEL_ID --token-file token.txt"
    },
    {
      command:
        "pass show token | messaging-crm channels set-token --organization $ORGANIZATION_ID --channel $CHANNEL_ID --token-file -"
    }
  ])
)

const stateOf = (hold: ChannelHold | undefined) => ({
  state: hold === undefined ? "open" : isPause(hold) ? "paused" : "throttled",
  reason: hold?.reason ?? null,
  since: hold === undefined ? null : DateTime.formatIso(hold.held_at)
})

const list = Command.make(
  "list",
  {
    organization: Admin.organization,
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, organization }) {
    const all = Effect.all({
      channels: Channels.use((channels) => channels.list),
      holds: ChannelHolds.use((holds) => holds.list)
    })
    const { channels, holds } = yield* Admin.asOperator(organization, all)
    const rows = channels.map((row) => ({
      ...toJson(row),
      ...stateOf(holds.find(({ channel_id }) => channel_id === row.id))
    }))
    yield* Print.result(json, rows, Print.table(rows))
  })
).pipe(
  Command.withDescription("List the channels with their state: open, paused, or throttled"),
  Command.withExamples([
    { command: "messaging-crm channels list --organization $ORGANIZATION_ID" },
    { command: "messaging-crm channels list --organization $ORGANIZATION_ID --json" }
  ])
)

const check = Command.make(
  "check",
  {
    organization: Admin.organization,
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, organization }) {
    yield* readRequired(settings.secret_key)
    const rows = yield* Admin.asOperator(organization, AccountOperations.checkAll)
    yield* Print.result(json, rows, Print.table(rows))
    const bad = rows.filter(({ account }) => account !== "ok")
    if (bad.length > 0) {
      return yield* new Admin.Rejected({ message: `${bad.length} of ${rows.length} channels cannot send.` })
    }
  })
).pipe(
  Command.withDescription(
    "Verify each channel's account without sending a message, and resume paused channels whose account works"
  ),
  Command.withExamples([
    { command: "messaging-crm channels check --organization $ORGANIZATION_ID" },
    { command: "messaging-crm channels check --organization $ORGANIZATION_ID --json" }
  ])
)

export const channels = Command.make("channels").pipe(
  Command.withDescription("Manage the channels of an organization"),
  Command.withSubcommands([connect, setToken, list, check])
)
