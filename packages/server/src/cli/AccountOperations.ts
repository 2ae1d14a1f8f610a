/** The operations on the account of a channel at its network: connecting it, replacing its token, and checking it. */
import { type AccountIds, ChannelAccounts, type ChannelToken } from "@messaging-crm/core/ChannelAccounts"
import { ChannelHolds, isPause } from "@messaging-crm/core/ChannelHolds"
import { type Channel, Channels, type ChannelType, type ConnectChannel } from "@messaging-crm/core/Channels"
import { ChannelId, nil } from "@messaging-crm/core/Ids"
import { AccountCheck } from "@messaging-crm/provider-cloud/AccountCheck"
import { CloudAccounts } from "@messaging-crm/provider-cloud/CloudAccounts"
import { accountIdsOf, accountOf } from "@messaging-crm/provider-cloud/StoredAccounts"
import { Effect, Option, Struct } from "effect"
import { read, settings } from "../settings/Config.ts"
import * as AccountFlags from "./AccountFlags.ts"
import * as Admin from "./Admin.ts"

/** The messages of the errors that the commands of channels translate. */
export const rejections = {
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
  channel_id = ChannelId.make(nil)
) =>
  accountOf({
    channel_id,
    channel_type: type,
    ...account_ids,
    business_account_id: phone_messaging_business_account_id,
    token
  })

/**
 * Rejects an account that a channel of another cell has. Within a cell, the store does. Two concurrent commands in two cells are not
 * detected.
 */
const requireFree = Effect.fnUntraced(function*(type: ChannelType, account_ids: AccountIds, own: ChannelId | null) {
  if (Option.isNone(yield* read(settings.cells))) return
  const asked = Admin.inEachCell(() => ChannelAccounts.use(({ channelOf }) => channelOf(type, account_ids)))
  const found = yield* Effect.mapError(asked, ({ message }) => new Admin.Rejected({ message }))
  if (found.some(Option.exists((id) => id !== own))) return yield* rejections.AccountTaken()
})

/** Connects a channel together with its account, once the network has not rejected it. */
export const connect = Effect.fnUntraced(function*(
  input: ConnectChannel,
  account_ids: Option.Option<AccountIds>,
  token_file: string
) {
  if (Option.isNone(account_ids)) return yield* rejections.AccountUnknown()
  const token = yield* AccountFlags.readToken(token_file)
  yield* AccountFlags.requireApp(account_ids.value)
  yield* AccountFlags.requireGood(candidate(input, account_ids.value, token))
  yield* AccountFlags.requireDatabaseKey
  yield* requireFree(input.type, account_ids.value, null)
  return yield* ChannelAccounts.use((accounts) => accounts.connect(input, account_ids.value, token))
}, Effect.provide(AccountFlags.accountCheck))

/** Returns the IDs of a channel's account, even if its stored token is unreadable. One of CLOUD_ACCOUNTS is stored from now on. */
const knownIds = Effect.fnUntraced(function*(channel: Channel) {
  const stored = yield* ChannelAccounts.use((accounts) => accounts.find(channel.id))
  return Option.isSome(stored)
    ? Option.some<AccountIds>(Struct.pick(stored.value, ["account_id", "app_id", "page_id"]))
    : Option.map(yield* CloudAccounts.use((accounts) => accounts.accountOfChannel(channel)), accountIdsOf)
})

/** Replaces the token of a channel, once the network has not rejected it. Returns whether the channel was paused. */
export const replaceToken = Effect.fnUntraced(function*(
  id: ChannelId,
  account_ids: Option.Option<AccountIds>,
  token: ChannelToken
) {
  const channel = (yield* Channels.use((channels) => channels.list)).find((each) => each.id === id)
  if (channel === undefined) return yield* rejections.ChannelNotFound()
  const kept = Option.isSome(account_ids) ? account_ids : yield* knownIds(channel)
  if (Option.isNone(kept)) return yield* rejections.AccountUnknown()
  if (Option.isSome(account_ids)) yield* AccountFlags.requireApp(account_ids.value)
  yield* AccountFlags.requireGood(candidate(channel, kept.value, token, id))
  yield* AccountFlags.requireDatabaseKey
  yield* requireFree(channel.type, kept.value, id)
  const holds = yield* ChannelHolds.use(({ list }) => list)
  yield* ChannelAccounts.use((accounts) => accounts.setToken(id, token, kept))
  return holds.some((hold) => hold.channel_id === id && isPause(hold))
}, Effect.provide(AccountFlags.accountCheck))

/** Checks the account of a channel, and resumes a paused one that passes. */
const checkOne = Effect.fnUntraced(function*(channel: Channel) {
  const account = yield* AccountCheck.use(({ check }) => check(channel))
  const resumed = account === "ok" && (yield* ChannelHolds.use(({ resume }) => resume(channel.id)))
  return { ...Struct.pick(channel, ["id", "type", "address"]), account, resumed }
})

/** Checks the accounts of all channels of the organization, and resumes the paused ones that pass. */
export const checkAll = Channels.use((channels) => channels.list).pipe(
  Effect.flatMap((found) => Effect.forEach(found, checkOne, { concurrency: 4 })),
  Effect.provide(AccountFlags.accountCheck)
)
