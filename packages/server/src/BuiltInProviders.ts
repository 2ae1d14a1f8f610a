/** The providers that come with the service, composed for each of its commands. */
import * as HttpDownloads from "@messaging-crm/adapter-http/Downloads"
import type { ChannelAccounts } from "@messaging-crm/core/ChannelAccounts"
import type { Downloads } from "@messaging-crm/core/Downloads"
import { MessagingProvider, ProviderBusy, ProviderUnavailable } from "@messaging-crm/core/MessagingProvider"
import * as Cloud from "@messaging-crm/provider-cloud"
import { AccountCheck } from "@messaging-crm/provider-cloud/AccountCheck"
import { CallbackProcessor } from "@messaging-crm/provider-cloud/CallbackProcessor"
import type { CloudAccounts } from "@messaging-crm/provider-cloud/CloudAccounts"
import * as CloudSettings from "@messaging-crm/provider-cloud/CloudSettings"
import * as CloudIngress from "@messaging-crm/provider-cloud/Ingress"
import { MediaLoader } from "@messaging-crm/provider-cloud/MediaLoader"
import * as Profiles from "@messaging-crm/provider-cloud/Profiles"
import * as StoredAccounts from "@messaging-crm/provider-cloud/StoredAccounts"
import * as Mock from "@messaging-crm/provider-mock"
import * as Callbacks from "@messaging-crm/provider-mock/Callbacks"
import { Duration, Effect, Layer, Option, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import type { Provider } from "./Provider.ts"
import { read, readOr, readRequired, readWithDefault, settings, type StartupRejected } from "./settings/Config.ts"

/** The mock provider in this process. */
export const mock: Provider = {
  outbound: Mock.layer,
  // Its callbacks are not HTTP requests, so there is no route.
  ingress: Layer.empty,
  background: Callbacks.layer.pipe(Layer.provide(Mock.layer))
}

/** WhatsApp, Messenger, and Instagram over the Graph API, with the given accounts and settings. */
export const cloudOver = (
  accounts: Layer.Layer<CloudAccounts, Error, ChannelAccounts>,
  cloudSettings: Parameters<typeof CloudSettings.layer>[0],
  downloads: Layer.Layer<Downloads, Error>
): Provider => {
  const environment = Layer.mergeAll(accounts, FetchHttpClient.layer, CloudSettings.layer(cloudSettings))
  return {
    outbound: Cloud.layer.pipe(Layer.provide(environment)),
    ingress: CloudIngress.layer.pipe(Layer.provide(environment)),
    background: CallbackProcessor.layerLoop.pipe(
      Layer.provide([MediaLoader.layer, Profiles.layer]),
      Layer.provide([environment, downloads])
    )
  }
}

const graphSettings = Effect.gen(function*() {
  const base_url = yield* read(settings.graph_url)
  const version = yield* readWithDefault(settings.graph_version)
  const seconds = yield* read(settings.graph_timeout_seconds)
  return {
    version,
    ...Option.isSome(seconds) && { deliver_time_max: Duration.seconds(seconds.value) },
    ...Option.isSome(base_url) && { base_url: base_url.value, photo_social_base_url: base_url.value }
  }
})

/** Layer for downloads of files from public addresses, and from the networks that are set. */
const downloads = Layer.unwrap(
  Effect.map(
    read(settings.media_allowed_networks),
    (networks) => HttpDownloads.layer({ allowed: Option.getOrNull(networks) })
  )
)

/** The Graph API with the apps of `CLOUD_ACCOUNTS` and the accounts of the storage. */
export const cloud = Effect.gen(function*() {
  const accounts = StoredAccounts.layer(yield* readRequired(settings.cloud_accounts))
  return cloudOver(accounts, yield* graphSettings, downloads)
})

/** A check needs no app, because nothing is received. */
const withoutApps = Redacted.make(JSON.stringify({ apps: [] }))

/** The mock provider has no accounts to verify. */
const unchecked = Layer.succeed(AccountCheck, {
  check: () => Effect.succeed("ok"),
  checkAccount: () => Effect.succeed("ok")
})

/** Layer for accounts, and for checks of them: over the Graph API, unless the provider is the mock provider. */
export const accountCheck = Layer.unwrap(Effect.gen(function*() {
  const isMock = Option.contains(yield* read(settings.provider), "mock")
  const apps = isMock ? Option.none() : yield* read(settings.cloud_accounts)
  const accounts = StoredAccounts.layer(Option.getOrElse(apps, () => withoutApps))
  const checks: Layer.Layer<AccountCheck, never, CloudAccounts> = isMock ? unchecked : AccountCheck.layer.pipe(
    Layer.provide([FetchHttpClient.layer, CloudSettings.layer(yield* graphSettings)])
  )
  return Layer.provideMerge(checks, accounts)
}))

type Name = "cloud" | "mock"

const named = (name: Name): Effect.Effect<Provider, StartupRejected> => name === "mock" ? Effect.succeed(mock) : cloud

/** The provider that `PROVIDER` names. */
export const chosen = Effect.flatMap(readRequired(settings.provider), named)

/** The provider that `PROVIDER` names, or else another. */
export const chosenOr = (defaultName: Name) => Effect.flatMap(readOr(settings.provider, defaultName), named)

/** No provider: for commands that send no messages, and so need no settings of a provider. */
export const absent: Pick<Provider, "outbound"> = {
  outbound: Layer.succeed(MessagingProvider, {
    dedup: "none",
    deliver: () => Effect.fail(new ProviderBusy({ reason: "provider_unavailable", retry_after_seconds: null })),
    templates: () => Effect.fail(new ProviderUnavailable())
  })
}
