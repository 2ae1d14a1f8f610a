/** The flags for the account of a channel at WhatsApp, Messenger, or Instagram: its IDs, and a file with its token. */
import { AccountIds, ChannelToken } from "@messaging-crm/core/ChannelAccounts"
import { type ChannelType, networkOf } from "@messaging-crm/core/Channels"
import { SecretCanary } from "@messaging-crm/core/SecretCanary"
import { AccountCheck } from "@messaging-crm/provider-cloud/AccountCheck"
import { type CloudAccount, CloudAccounts } from "@messaging-crm/provider-cloud/CloudAccounts"
import { Effect, FileSystem, Layer, Option, Schema, Stdio, Stream } from "effect"
import { Flag } from "effect/cli"
import { readRequired, settings } from "../settings/Config.ts"
import * as Admin from "./Admin.ts"
import * as Flags from "./Flags.ts"
import * as Print from "./Print.ts"

const account = "The network's ID of the phone number, page, or account"
const app = "ID of the Meta app that receives the callbacks"
const page = Flag.String("page").pipe(
  Flags.optional("ID of the page to which a photo_social account is connected", "none")
)

/** The IDs of a new channel's account. */
export const newIds = {
  account: Flag.String("account").pipe(Flags.optional(`${account}; required with --token-file`, "none")),
  app: Flag.String("app").pipe(Flags.optional(`${app}; required with --token-file`, "none")),
  page
}

/** The IDs of the account of a channel that can have one already. */
export const ids = {
  account: Flag.String("account").pipe(Flags.optional(account, "the stored account")),
  app: Flag.String("app").pipe(Flags.optional(app, "the stored app")),
  page
}

/** Layer for accounts and for checks of them at their networks. It is loaded when a command needs it. */
export const accountCheck = Layer.unwrap(
  Effect.map(Effect.promise(() => import("../BuiltInProviders.ts")), (providers) => providers.accountCheck)
)

/** A token is never a flag itself: flags stay in the shell's history, and every user of the host can list them. */
export const token_file = Flag.String("token-file").pipe(
  Flag.withDescription("File with the token of the account, or - for stdin")
)

type GivenIds = { readonly [Name in keyof typeof ids]: Option.Option<string> }

/** Returns the account IDs, or `Option.none()` if no flag is set. */
export const readAccountIds = Effect.fnUntraced(function*({ account, app, page }: GivenIds) {
  if ([account, app, page].every(Option.isNone)) return Option.none<AccountIds>()
  if (Option.isNone(account) || Option.isNone(app)) {
    const missing = Option.isNone(account) ? "--account" : "--app"
    return yield* new Admin.Rejected({ message: `${missing} is missing. Set --account and --app together.` })
  }
  const input = { account_id: account.value, app_id: app.value, page_id: Option.getOrNull(page) }
  return Option.some(yield* Admin.typed(AccountIds, input))
})

const decodeToken = Schema.decodeOption(ChannelToken)

/** Reads a token. It can only be stored under `SECRET_KEY`. */
export const readToken = Effect.fnUntraced(function*(file: string) {
  yield* readRequired(settings.secret_key)
  const text = file === "-"
    ? yield* Stream.mkString(Stream.decodeText((yield* Stdio.Stdio).stdin))
    : yield* (yield* FileSystem.FileSystem).readFileString(file)
  const token = decodeToken(text.trim())
  return Option.isSome(token)
    ? token.value
    : yield* new Admin.Rejected({
      message: "The token file must contain only the token: 1 to 4096 visible ASCII characters."
    })
})

/** Rejects an app that the service does not have: it would reject the callbacks of the channel. Without any app, no ID can be checked. */
export const requireApp = Effect.fnUntraced(function*({ app_id }: Pick<AccountIds, "app_id">) {
  const apps = yield* CloudAccounts.use((accounts) => accounts.apps)
  if (apps.length > 0 && !apps.some(({ id }) => id === app_id)) {
    return yield* new Admin.Rejected({
      message: "CLOUD_ACCOUNTS has no app with the ID of --app. Nothing was changed. Check the ID, or add the app."
    })
  }
})

/** Rejects an account that the network rejects. If the network does not respond, the account is accepted with a note. */
export const requireGood = Effect.fnUntraced(function*(account: CloudAccount) {
  const verdict = yield* AccountCheck.use(({ checkAccount }) => checkAccount(account))
  if (verdict === "unreachable") {
    return yield* Print.note("The network does not respond, so the token was not verified.")
  }
  if (verdict !== "ok") {
    return yield* new Admin.Rejected({
      message: `The network rejected this account (${verdict}). Nothing was changed. Check the token and the IDs.`
    })
  }
})

/** Rejects a key under which the service cannot read the token. In a database without a canary, the key becomes its key. */
export const requireDatabaseKey = Effect.gen(function*() {
  if (yield* SecretCanary.use(({ check }) => check)) return
  return yield* new Admin.Rejected({
    message: "SECRET_KEY is not the key of this database. Nothing was changed. Set the SECRET_KEY of the service."
  })
})

/** Rejects a business account of a channel whose type has none, and the lack of one. */
export const businessAccountMismatch = (type: ChannelType) =>
  new Admin.Rejected({
    message: networkOf(type).has_templates
      ? "A phone_messaging channel requires --business-account."
      : "--business-account is only for phone_messaging channels. Remove it."
  })
