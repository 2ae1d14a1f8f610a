import { type AccountIds, ChannelAccounts, type ChannelToken } from "@messaging-crm/core/ChannelAccounts"
import { type ChannelHold, ChannelHolds, isPause } from "@messaging-crm/core/ChannelHolds"
import { Channel, Channels, ChannelType, ConnectChannel } from "@messaging-crm/core/Channels"
import { ChannelId } from "@messaging-crm/core/Ids"
import { AccountCheck } from "@messaging-crm/provider-cloud/AccountCheck"
import { CloudAccounts } from "@messaging-crm/provider-cloud/CloudAccounts"
import { accountIdsOf, accountOf } from "@messaging-crm/provider-cloud/StoredAccounts"
import { DateTime, Effect, Option, Struct } from "effect"
import { Command, Flag } from "effect/cli"
import * as AccountFlags from "../cli/AccountFlags.ts"
import * as Admin from "../cli/Admin.ts"
import * as Flags from "../cli/Flags.ts"
import * as Print from "../cli/Print.ts"
import { readRequired, settings } from "../settings/Config.ts"

const toJson = Print.encoded(Channel)

const rejections = {
  AccountTaken: Admin.reject("Another channel is already connected to this account. Choose another --account."),
  AccountUnknown: Admin.reject("The channel has no account yet. Add --account and --app."),
  ChannelAddressTaken: Admin.reject(
    "A channel with this type and address is already connected. Choose another --address."
  ),
  ChannelNotFound: Admin.reject(
    "No channel of this organization has this ID. Find the ID with: messaging-crm channels list."
  )
}

/** Returns an account that no channel has yet, for a check. */
const candidate = (
  { phone_messaging_business_account_id, type }: Pick<ConnectChannel, "phone_messaging_business_account_id" | "type">,
  account_ids: AccountIds,
  token: ChannelToken,
  channel_id = ChannelId.make("00000000-0000-7000-8000-000000000000")
) =>
  accountOf({
    channel_id,
    channel_type: type,
    ...account_ids,
    business_account_id: phone_messaging_business_account_id,
    token
  })

/** Connects a channel together with its account, once the network has not rejected it. */
const connectAccount = Effect.fnUntraced(function*(
  input: ConnectChannel,
  account_ids: Option.Option<AccountIds>,
  token_file: string
) {
  if (Option.isNone(account_ids)) return yield* rejections.AccountUnknown()
  const token = yield* AccountFlags.readToken(token_file)
  yield* AccountFlags.requireGood(candidate(input, account_ids.value, token))
  yield* AccountFlags.requireDatabaseKey
  return yield* ChannelAccounts.use((accounts) => accounts.connect(input, account_ids.value, token))
}, Effect.provide(AccountFlags.accountCheck))

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
        : yield* connectAccount(input, account_ids, token_file.value)
    })
    const channel = yield* Admin.asOperator(organization, connecting).pipe(
      Effect.catchTags({
        ...Struct.pick(rejections, ["AccountTaken", "ChannelAddressTaken"]),
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

/** Returns the IDs of a channel's account, even if its stored token is unreadable. One of CLOUD_ACCOUNTS is stored from now on. */
const knownIds = Effect.fnUntraced(function*(channel: Channel) {
  const stored = yield* ChannelAccounts.use((accounts) => accounts.find(channel.id))
  return Option.isSome(stored)
    ? Option.some<AccountIds>(Struct.pick(stored.value, ["account_id", "app_id", "page_id"]))
    : Option.map(yield* CloudAccounts.use((accounts) => accounts.accountOfChannel(channel)), accountIdsOf)
})

/** Replaces the token of a channel, once the network has not rejected it. Returns whether the channel was paused. */
const replaceToken = Effect.fnUntraced(function*(
  id: ChannelId,
  account_ids: Option.Option<AccountIds>,
  token: ChannelToken
) {
  const channel = (yield* Channels.use((channels) => channels.list)).find((each) => each.id === id)
  if (channel === undefined) return yield* rejections.ChannelNotFound()
  const kept = Option.isSome(account_ids) ? account_ids : yield* knownIds(channel)
  if (Option.isNone(kept)) return yield* rejections.AccountUnknown()
  yield* AccountFlags.requireGood(candidate(channel, kept.value, token, id))
  yield* AccountFlags.requireDatabaseKey
  const holds = yield* ChannelHolds.use(({ list }) => list)
  yield* ChannelAccounts.use((accounts) => accounts.setToken(id, token, kept))
  return holds.some((hold) => hold.channel_id === id && isPause(hold))
}, Effect.provide(AccountFlags.accountCheck))

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
    const resumed = yield* Admin.asOperator(organization, replaceToken(channel, account_ids, token)).pipe(
      Effect.catchTags(Struct.pick(rejections, ["AccountTaken", "AccountUnknown", "ChannelNotFound"]))
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

/** Checks the account of a channel, and resumes a paused one that passes. */
const checkOne = Effect.fnUntraced(function*(channel: Channel) {
  const account = yield* AccountCheck.use(({ check }) => check(channel))
  const resumed = account === "ok" && (yield* ChannelHolds.use(({ resume }) => resume(channel.id)))
  return { ...Struct.pick(channel, ["id", "type", "address"]), account, resumed }
})

const checkAll = Channels.use((channels) => channels.list).pipe(
  Effect.flatMap((found) => Effect.forEach(found, checkOne, { concurrency: 4 })),
  Effect.provide(AccountFlags.accountCheck)
)

const check = Command.make(
  "check",
  {
    organization: Admin.organization,
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, organization }) {
    yield* readRequired(settings.secret_key)
    const rows = yield* Admin.asOperator(organization, checkAll)
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
