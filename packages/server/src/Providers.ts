/** The providers that come with the service: the only file that names them. */
import { MessagingProvider, ProviderBusy, ProviderUnavailable } from "@messaging-crm/core/MessagingProvider"
import * as Cloud from "@messaging-crm/provider-cloud"
import { AccountCheck } from "@messaging-crm/provider-cloud/AccountCheck"
import { CloudAccounts } from "@messaging-crm/provider-cloud/CloudAccounts"
import * as CloudSettings from "@messaging-crm/provider-cloud/CloudSettings"
import * as CloudIngress from "@messaging-crm/provider-cloud/Ingress"
import { Intake } from "@messaging-crm/provider-cloud/Intake"
import { MediaLoader } from "@messaging-crm/provider-cloud/MediaLoader"
import * as Mock from "@messaging-crm/provider-mock"
import * as Callbacks from "@messaging-crm/provider-mock/Callbacks"
import * as MockIngress from "@messaging-crm/provider-mock/http/Ingress"
import * as MockNetwork from "@messaging-crm/provider-mock/http/Network"
import * as RemoteMock from "@messaging-crm/provider-mock/http/RemoteMock"
import { Effect, Layer, Option } from "effect"
import { FetchHttpClient, HttpRouter } from "effect/http"
import { read, readOr, readRequired, settings, type WrongSetting } from "./Config.ts"
import type { Provider } from "./Provider.ts"

/** The mock provider in this process, or in the one that `PROVIDER_URL` names. */
export const mock = Effect.map(read(settings.provider_url), (url): Provider =>
  Option.isSome(url)
    ? { outbound: RemoteMock.layer(url.value), ingress: MockIngress.layer, background: Layer.empty }
    : {
      outbound: Mock.layer,
      // It calls back without a request, so there is nothing to answer.
      ingress: Layer.empty,
      background: Callbacks.layer.pipe(Layer.provide(Mock.layer))
    })

/** The real networks, over accounts and settings of theirs. */
export const cloudOver = (
  accounts: Layer.Layer<CloudAccounts, Error>,
  cloudSettings: Parameters<typeof CloudSettings.layer>[0]
): Provider => {
  const settled = Layer.mergeAll(accounts, FetchHttpClient.layer, CloudSettings.layer(cloudSettings))
  return {
    outbound: Cloud.layer.pipe(Layer.provide(settled)),
    ingress: CloudIngress.layer.pipe(Layer.provide(settled)),
    background: Intake.layerLoop.pipe(Layer.provide(MediaLoader.layer), Layer.provide(settled))
  }
}

const cloudGiven = Effect.gen(function*() {
  const accounts = CloudAccounts.layerJson(yield* readRequired(settings.cloud_accounts))
  const base_url = yield* read(settings.graph_url)
  const version = yield* readOr(settings.graph_version, CloudSettings.cloudSettings.version)
  return {
    accounts,
    cloudSettings: {
      version,
      ...Option.isSome(base_url) && { base_url: base_url.value, photo_social_base_url: base_url.value }
    }
  }
})

/** The real networks, with the accounts of `CLOUD_ACCOUNTS`. */
export const cloud = Effect.map(cloudGiven, ({ accounts, cloudSettings }) => cloudOver(accounts, cloudSettings))

/** Layer that checks the accounts of `CLOUD_ACCOUNTS`. */
export const accountCheck = Layer.unwrap(
  Effect.map(cloudGiven, ({ accounts, cloudSettings }) =>
    AccountCheck.layer.pipe(
      Layer.provide([accounts, FetchHttpClient.layer, CloudSettings.layer(cloudSettings)])
    ))
)

type Name = "cloud" | "mock"

const named = (name: Name): Effect.Effect<Provider, WrongSetting> => name === "mock" ? mock : cloud

/** The provider that `PROVIDER` names. */
export const chosen = Effect.flatMap(readRequired(settings.provider), named)

/** The provider that `PROVIDER` names, or else another. */
export const chosenOr = (fallback: Name) => Effect.flatMap(readOr(settings.provider, fallback), named)

/** No provider: for commands that hand no message over, and so need no provider's settings. */
export const absent: Pick<Provider, "outbound"> = {
  outbound: Layer.succeed(MessagingProvider, {
    dedup: "none",
    deliver: () => Effect.fail(new ProviderBusy({ reason: "provider_unavailable", retry_after_seconds: null })),
    templates: () => Effect.fail(new ProviderUnavailable())
  })
}

/** Layer for a mock provider in a process of its own. */
export const mockNetwork = (callback_urls: ReadonlyArray<string>) =>
  HttpRouter.serve(MockNetwork.layer, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.merge(MockNetwork.layerCallbacks(callback_urls)),
    Layer.provide(Mock.layer)
  )
