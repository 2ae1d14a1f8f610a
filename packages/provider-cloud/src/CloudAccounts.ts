/**
 * Cloud accounts: the ID and token of each channel on its network, and the apps
 * for which the networks post callbacks. The README (Terms) has the names of each network.
 */
import type { Channel, ChannelType } from "@messaging-crm/core/Channels"
import { ChannelId } from "@messaging-crm/core/Ids"
import type { SecretUnreadable } from "@messaging-crm/core/Secrets"
import { Context, Effect, Layer, Option, Redacted, Schema } from "effect"

// ---------------------------------------------------------------- data

const Secret = Schema.RedactedFromValue(Schema.NonEmptyString)

const accountFields = {
  channel_id: ChannelId,
  /** The app whose secret signs the callbacks of the channel. */
  app_id: Schema.NonEmptyString,
  token: Secret
}

/** The account of a `phone_messaging` channel: a phone number on WhatsApp. */
export const WhatsAppAccount = Schema.Struct({
  type: Schema.Literal("phone_messaging"),
  ...accountFields,
  /** The network's ID of the phone number, not the number itself. */
  phone_number_id: Schema.NonEmptyString,
  /** The business account whose templates can be sent. */
  business_account_id: Schema.NonEmptyString
})
export interface WhatsAppAccount extends Schema.Schema.Type<typeof WhatsAppAccount> {}

/** The account of a `page_messaging` channel: a page on Messenger. */
const MessengerAccount = Schema.Struct({
  type: Schema.Literal("page_messaging"),
  ...accountFields,
  page_id: Schema.NonEmptyString
})
interface MessengerAccount extends Schema.Schema.Type<typeof MessengerAccount> {}

/** The account of a `photo_social` channel: an Instagram account. */
const InstagramAccount = Schema.Struct({
  type: Schema.Literal("photo_social"),
  ...accountFields,
  account_id: Schema.NonEmptyString,
  /** The page that it is connected to; null for an account with a login of its own. */
  page_id: Schema.NullOr(Schema.NonEmptyString)
})
interface InstagramAccount extends Schema.Schema.Type<typeof InstagramAccount> {}

export const CloudAccount = Schema.Union([WhatsAppAccount, MessengerAccount, InstagramAccount])
export type CloudAccount = typeof CloudAccount.Type

/** An app that is registered with the networks. */
export const CloudApp = Schema.Struct({
  id: Schema.NonEmptyString,
  /** Signs callbacks. */
  secret: Secret,
  /** The text that the network sends when a callback URL is registered, to prove that the app's owner does it. */
  verify_token: Secret
})
export interface CloudApp extends Schema.Schema.Type<typeof CloudApp> {}

/** Schema for the setting with all apps, and with the accounts that are not stored. */
export const CloudAccountsSetting = Schema.Struct({
  apps: Schema.Array(CloudApp),
  channels: Schema.optionalKey(Schema.Array(CloudAccount))
})

/** The identification of an account in callbacks. */
export interface AccountKey {
  readonly type: ChannelType
  readonly id: string
}

/** Returns the identification of an account in callbacks. */
export const accountKeyOf = (account: CloudAccount): AccountKey => {
  switch (account.type) {
    case "phone_messaging":
      return { type: account.type, id: account.phone_number_id }
    case "page_messaging":
      return { type: account.type, id: account.page_id }
    case "photo_social":
      return { type: account.type, id: account.account_id }
  }
}

// -------------------------------------------------------------- errors

/** The JSON with the apps and accounts is invalid. The message describes the expected shape and contains no secret. */
export class AccountsUnreadable extends Schema.TaggedError<AccountsUnreadable>()("AccountsUnreadable", {
  message: Schema.String
}) {}

const decodeSetting = Schema.decodeEffect(Schema.fromJsonString(CloudAccountsSetting))

const unreadable =
  "The accounts must be JSON with `apps` (id, secret, verify_token). For channels whose accounts are not stored in the database, add `channels` (channel_id, type, app_id, token, and the IDs that this type of channel requires)."

/** Reads the JSON of the setting. */
export const readSetting = (json: Redacted.Redacted) =>
  Effect.mapError(decodeSetting(Redacted.value(json)), () => new AccountsUnreadable({ message: unreadable }))

// ---------------------------------------------------------------- port

/** Returns whether an account is on WhatsApp. Only such an account has templates. */
export const isWhatsApp = (account: CloudAccount): account is WhatsAppAccount => account.type === "phone_messaging"

/** Returns the accounts of a setting that are used. */
export const fromSetting = (
  { apps, channels = [] }: typeof CloudAccountsSetting.Type,
  isUsed: (account: CloudAccount) => Effect.Effect<boolean> = () => Effect.succeed(true)
): CloudAccounts["Service"] => {
  const findWhere = <A extends CloudAccount>(holds: (account: CloudAccount) => account is A) =>
    Effect.findFirst(channels.filter(holds), isUsed)
  const findFirst = (holds: (account: CloudAccount) => boolean) =>
    findWhere((account): account is CloudAccount => holds(account))

  const accountOfKey = (app_id: string, { id, type }: AccountKey) =>
    findFirst((account) => account.app_id === app_id && account.type === type && accountKeyOf(account).id === id)

  return {
    apps: Effect.succeed(apps),
    accountOfChannel: ({ id }) => findFirst(({ channel_id }) => channel_id === id),
    accountOfBusinessAccount: (id) =>
      findWhere((account): account is WhatsAppAccount => isWhatsApp(account) && account.business_account_id === id),
    accountOfKey,
    channelOfKey: (app_id, key) => Effect.map(accountOfKey(app_id, key), Option.map(({ channel_id }) => channel_id))
  }
}

/**
 * Port: where apps and accounts are read.
 *
 * **Contract** (checked by `provider-cloud/test/CloudAccounts.test.ts`)
 *
 * - `apps` returns every app whose callbacks are accepted.
 * - `accountOfChannel` returns the account of a channel, or none if the channel is not connected to the network.
 * - `accountOfBusinessAccount` returns an account whose token may read the business account's templates, or none if there is
 *   no such account.
 * - `accountOfKey` returns the account of a callback, if it belongs to the app whose
 *   secret signed the callback. An app must not send events for another app's channels.
 * - `channelOfKey` returns the channel of that account, even if its token cannot be decrypted.
 *
 * The others fail with `SecretUnreadable` if the account's token cannot be decrypted.
 */
export class CloudAccounts extends Context.Service<CloudAccounts, {
  readonly apps: Effect.Effect<ReadonlyArray<CloudApp>>
  readonly accountOfChannel: (channel: Channel) => Effect.Effect<Option.Option<CloudAccount>, SecretUnreadable>
  readonly accountOfBusinessAccount: (id: string) => Effect.Effect<Option.Option<WhatsAppAccount>, SecretUnreadable>
  readonly accountOfKey: (
    app_id: string,
    key: AccountKey
  ) => Effect.Effect<Option.Option<CloudAccount>, SecretUnreadable>
  readonly channelOfKey: (app_id: string, key: AccountKey) => Effect.Effect<Option.Option<ChannelId>>
}>()("@messaging-crm/provider-cloud/CloudAccounts") {
  /** Layer for apps and accounts that do not change. */
  static readonly layer = (setting: typeof CloudAccountsSetting.Type) =>
    Layer.succeed(CloudAccounts, fromSetting(setting))

  /** Layer for apps and accounts from JSON, such as a setting or a file. Invalid JSON prevents the startup. */
  static readonly layerJson = (json: Redacted.Redacted) =>
    Layer.unwrap(Effect.map(readSetting(json), CloudAccounts.layer))
}
