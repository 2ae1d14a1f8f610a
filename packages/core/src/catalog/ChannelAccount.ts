/** A channel account: the IDs of a channel at its network, and its token there. */
import { Schema } from "effect"
import { ChannelId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { line, trimmedText } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import { declareRows, type OwnedRow } from "../work/Rows.ts"
import { ChannelType } from "./Channels.ts"

// ---------------------------------------------------------------- data

/** A token as it stands in an HTTP header: 1 to 4,096 visible ASCII characters. */
export const ChannelToken = Schema.RedactedFromValue(Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,4096}$/)))
export type ChannelToken = typeof ChannelToken.Type

/** The network's IDs of a channel. */
export const AccountIds = Schema.Struct({
  /** The app whose secret signs the callbacks of the channel. */
  app_id: trimmedText({ min: 1, max: limits.name_chars_max }),
  /** The network's ID of the number, page or account. It is not the number itself. */
  account_id: trimmedText({ min: 1, max: limits.name_chars_max }),
  /** The page that a photo account is connected to; null for one with a login of its own, and on other channels. */
  page_id: line(limits.name_chars_max)
})
export interface AccountIds extends Schema.Schema.Type<typeof AccountIds> {}

export const ChannelAccount = Schema.Struct({
  channel_id: ChannelId,
  channel_type: ChannelType,
  app_id: Schema.String,
  account_id: Schema.String,
  page_id: Schema.NullOr(Schema.String),
  /** The channel's `phone_messaging_business_account_id`, whose templates the token may read. */
  business_account_id: Schema.NullOr(Schema.String),
  /** When the token was set. */
  token_set_at: Timestamp
})
export interface ChannelAccount extends Schema.Schema.Type<typeof ChannelAccount> {}

/** An account with its decrypted token. */
export interface OpenedAccount extends ChannelAccount {
  readonly token: ChannelToken
}

/** The columns of an account. `sealed_token` is the token, encrypted. */
export const ChannelAccountColumns = Schema.Struct({ ...ChannelAccount.fields, sealed_token: Schema.String })
export interface ChannelAccountColumns extends Schema.Schema.Type<typeof ChannelAccountColumns> {}

/** An account with the organization that owns its channel. */
export type OwnedAccount = OwnedRow<ChannelAccountColumns>

export const ChannelAccountRows = declareRows(ChannelAccountColumns)({
  name: "channel_accounts",
  key: { channel_id: "uuid" },
  unique: { columns: ["channel_type", "account_id"], within: "service" },
  list: { order: ["token_set_at", "channel_id"] }
})

// -------------------------------------------------------------- errors

export class ChannelNotFound extends Schema.TaggedError<ChannelNotFound>()("ChannelNotFound", {}) {}

/** Another channel is connected to this account of the network. */
export class AccountTaken extends Schema.TaggedError<AccountTaken>()("AccountTaken", {}) {}

/** The channel has no account yet, so the account's IDs are required together with the token. */
export class AccountUnknown extends Schema.TaggedError<AccountUnknown>()("AccountUnknown", {}) {}
