/** The settings of the core and the API that an operator may change. */
import * as Http from "@messaging-crm/adapter-http"
import { RequestsPerMinute } from "@messaging-crm/core/ApiKeys"
import { AuditAgeMax } from "@messaging-crm/core/Audit"
import { PublicUrl } from "@messaging-crm/core/Media"
import { MessageAgeMax } from "@messaging-crm/core/MessageRetention"
import { RootKeys } from "@messaging-crm/core/Secrets"
import { StorageBudget } from "@messaging-crm/core/StorageUse"
import { AllowedAddresses } from "@messaging-crm/core/WebhookTransport"
import { Duration, Effect, Layer, Option } from "effect"
import { read, readOr, readWithDefault, settings } from "./Config.ts"

/** Layer for the settings that are given. Others have their defaults. */
export const layer = Layer.unwrap(Effect.gen(function*() {
  const requests = yield* readWithDefault(settings.rate_limit_per_minute)
  const at_once = yield* readWithDefault(settings.requests_at_once)
  const storage_mb = yield* readWithDefault(settings.storage_budget_mb)
  const audit_days = yield* readWithDefault(settings.audit_days)
  const message_days = yield* readOr(settings.message_retention_days, Infinity)
  const keys = yield* read(settings.secret_key)
  const public_url = yield* read(settings.public_url)
  const docs_url = yield* read(settings.docs_url)
  const networks = yield* read(settings.webhook_allowed_networks)
  const proxies = yield* read(settings.trusted_proxies)
  return Layer.mergeAll(
    Layer.succeed(RequestsPerMinute, requests),
    Layer.succeed(Http.RequestsAtOnce, at_once),
    Layer.succeed(StorageBudget, storage_mb * 1_000_000),
    Layer.succeed(MessageAgeMax, Duration.days(message_days)),
    Layer.succeed(AuditAgeMax, Duration.days(audit_days)),
    Option.isNone(keys) ? Layer.empty : Layer.succeed(RootKeys, keys.value),
    Option.isNone(public_url) ? Layer.empty : Layer.succeed(PublicUrl, public_url.value),
    Option.isNone(docs_url) ? Layer.empty : Layer.succeed(Http.ErrorHelp, `${docs_url.value}/contract.html#error-`),
    Option.isNone(proxies) ? Layer.empty : Layer.succeed(Http.TrustedProxies, proxies.value),
    Option.isNone(networks) ? Layer.empty : Layer.succeed(AllowedAddresses, networks.value)
  )
}))
