/** Account checks: whether a channel's account exists on its network, and its token can read it. */
import type { Channel } from "@messaging-crm/core/Channels"
import type { FailureReason } from "@messaging-crm/core/MessagingProvider"
import { traced } from "@messaging-crm/core/Traces"
import { Context, Effect, Layer, Option } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { accountKeyOf, type CloudAccount, CloudAccounts } from "./CloudAccounts.ts"
import { CloudSettings } from "./CloudSettings.ts"
import { reasonOf } from "./ErrorCodes.ts"
import { baseUrlOf, call } from "./GraphClient.ts"

/**
 * `ok`; `not_connected`: no account is set for the channel; `unreachable`: the
 * network did not respond; otherwise the reason for which sends would fail.
 */
export type AccountStatus = "ok" | "not_connected" | "unreachable" | FailureReason

/** A field of an account on each network, so that the response is small. */
const fieldOf = ({ type }: CloudAccount): string => {
  switch (type) {
    case "phone_messaging":
      return "display_phone_number"
    case "page_messaging":
      return "name"
    case "photo_social":
      return "username"
  }
}

export class AccountCheck extends Context.Service<AccountCheck, {
  /** Asks the network for the channel's account. It changes nothing there, and sends nothing. */
  readonly check: (channel: Channel) => Effect.Effect<AccountStatus>
  /** The same for an account that no channel has yet. */
  readonly checkAccount: (account: CloudAccount) => Effect.Effect<Exclude<AccountStatus, "not_connected">>
}>()("@messaging-crm/provider-cloud/AccountCheck") {
  static readonly layer = Layer.effect(
    AccountCheck,
    Effect.gen(function*() {
      const accounts = yield* CloudAccounts
      const client = yield* HttpClient.HttpClient
      const settings = yield* CloudSettings

      const checkAccount = (account: CloudAccount) => {
        const url = `${baseUrlOf(settings, account)}/${encodeURIComponent(accountKeyOf(account).id)}`
        const request = HttpClientRequest.get(url, { urlParams: { fields: fieldOf(account) } })
        return call(client, account, request).pipe(
          Effect.timeout(settings.deliver_time_max),
          Effect.match({
            onSuccess: () => "ok" as const,
            onFailure: (error) => error._tag === "Rejected" ? reasonOf(error.reported) : "unreachable" as const
          })
        )
      }

      const check = traced("AccountCheck.check")(function*(channel: Channel) {
        const found = Option.filter(yield* accounts.accountOfChannel(channel), ({ type }) => type === channel.type)
        return Option.isNone(found) ? "not_connected" as const : yield* checkAccount(found.value)
      }, Effect.catchTag("SecretUnreadable", () => Effect.succeed("provider_auth" as const)))

      return AccountCheck.of({ check, checkAccount })
    })
  )
}
