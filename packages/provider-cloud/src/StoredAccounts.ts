/** Stored accounts: the accounts that core stores, with encrypted tokens, and apps from the setting. */
import { type AccountIds, ChannelAccounts, type OpenedAccount } from "@messaging-crm/core/ChannelAccounts"
import { Effect, Layer, Option, type Redacted } from "effect"
import {
  accountKeyOf,
  type CloudAccount,
  CloudAccounts,
  fromSetting,
  isWhatsApp,
  readSetting
} from "./CloudAccounts.ts"

/** Returns the network's IDs of an account as core stores them. */
export const accountIdsOf = (account: CloudAccount): AccountIds => ({
  app_id: account.app_id,
  account_id: accountKeyOf(account).id,
  page_id: account.type === "photo_social" ? account.page_id : null
})

/** Returns a stored account with the network's names of its IDs. */
export const accountOf = (stored: Omit<OpenedAccount, "token_set_at">): CloudAccount => {
  const { account_id, app_id, business_account_id, channel_id, channel_type, page_id, token } = stored
  const fields = { channel_id, app_id, token }
  switch (channel_type) {
    case "phone_messaging":
      // Every WhatsApp channel has a business account.
      return {
        type: channel_type,
        ...fields,
        phone_number_id: account_id,
        business_account_id: business_account_id ?? ""
      }
    case "page_messaging":
      return { type: channel_type, ...fields, page_id: account_id }
    case "photo_social":
      return { type: channel_type, ...fields, account_id, page_id }
  }
}

/** Returns the stored account, or else that of the setting. It is looked up first: if it is stored meanwhile, it is found then. */
const orElse = <A, B extends A, E>(
  stored: Effect.Effect<Option.Option<B>, E>,
  given: Effect.Effect<Option.Option<A>, E>
): Effect.Effect<Option.Option<A>, E> =>
  Effect.flatMap(given, (otherwise) => Effect.map(stored, Option.orElse(() => otherwise)))

const make = Effect.fnUntraced(function*(json: Redacted.Redacted) {
  const stored = yield* ChannelAccounts
  const isUsed = ({ channel_id }: CloudAccount) => Effect.map(stored.find(channel_id), Option.isNone)
  const given = fromSetting(yield* readSetting(json), isUsed)

  return CloudAccounts.of({
    apps: given.apps,
    accountOfChannel: (channel) =>
      orElse(Effect.map(stored.open(channel.id), Option.map(accountOf)), given.accountOfChannel(channel)),
    accountOfBusinessAccount: (id) =>
      orElse(
        Effect.map(
          stored.openByBusinessAccount(id),
          Option.flatMap((account) => Option.liftPredicate(isWhatsApp)(accountOf(account)))
        ),
        given.accountOfBusinessAccount(id)
      ),
    accountOfKey: (app_id, key) =>
      orElse(
        Effect.map(
          stored.openByAccount(key.type, key.id),
          (found) => Option.filter(Option.map(found, accountOf), (account) => account.app_id === app_id)
        ),
        given.accountOfKey(app_id, key)
      ),
    channelOfKey: (app_id, key) =>
      orElse(stored.channelOf(key.type, { account_id: key.id, app_id }), given.channelOfKey(app_id, key))
  })
})

/**
 * Layer for the stored accounts, and for apps from JSON. An account in the JSON is used only while none is stored for its
 * channel. Invalid JSON prevents the startup.
 */
export const layer = (json: Redacted.Redacted) => Layer.effect(CloudAccounts, make(json))
