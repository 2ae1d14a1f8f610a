/** The adapter, its ingress and the fake network on one free port, over any core. */
import { NodeHttpServer } from "@effect/platform-node"
import { CallbackInbox } from "@messaging-crm/core/CallbackInbox"
import type { Channel } from "@messaging-crm/core/Channels"
import { ChannelId } from "@messaging-crm/core/Ids"
import { Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import type { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import * as Cloud from "@messaging-crm/provider-cloud"
import { type CloudAccount, CloudAccounts, type CloudApp } from "@messaging-crm/provider-cloud/CloudAccounts"
import * as CloudSettings from "@messaging-crm/provider-cloud/CloudSettings"
import * as Ingress from "@messaging-crm/provider-cloud/Ingress"
import { Intake } from "@messaging-crm/provider-cloud/Intake"
import { MediaLoader } from "@messaging-crm/provider-cloud/MediaLoader"
import { Context, DateTime, Effect, Layer, Option, Redacted, Ref, References, Schema } from "effect"
import { FetchHttpClient, HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"
import * as FakeGraph from "../testing/FakeGraph.ts"

export const app: CloudApp = {
  id: "app",
  secret: Redacted.make("the app's secret"),
  verify_token: Redacted.make("the app's word")
}

const token = Redacted.make("the channel's token")

/** An account whose id on the network is the channel's own, so that every channel is connected. */
const accountOf = ({ id, type }: Pick<Channel, "id" | "type">): CloudAccount => {
  const common = { channel_id: id, app_id: app.id, token }
  switch (type) {
    case "phone_messaging":
      return { type, ...common, phone_number_id: id, business_account_id: "acme" }
    case "page_messaging":
      return { type, ...common, page_id: id }
    case "photo_social":
      return { type, ...common, account_id: id, page_id: null }
  }
}

const decodeChannelId = Schema.decodeUnknownOption(ChannelId)

/** Layer for accounts of every channel there is. */
export const accounts = Layer.succeed(CloudAccounts, {
  apps: Effect.succeed([app]),
  find: (channel) => Effect.succeed(Option.some(accountOf(channel))),
  findByBusinessAccount: (business_account_id) =>
    Effect.succeed(
      Option.some({
        type: "phone_messaging" as const,
        channel_id: ChannelId.make("01990000-0000-7000-8000-000000000001"),
        app_id: app.id,
        token,
        phone_number_id: "1",
        business_account_id
      })
    ),
  locate: (app_id, { id, type }) =>
    Effect.succeed(
      app_id === app.id
        ? Option.map(decodeChannelId(id), (channel_id) => accountOf({ id: channel_id, type }))
        : Option.none()
    )
})

/** Layer for the settings that lead to the server that listens. */
const settings = Layer.unwrap(
  HttpServer.addressFormattedWith((url) =>
    Effect.succeed(CloudSettings.layer({ base_url: url, photo_social_base_url: url }))
  )
)

const listen = NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0, gracefulShutdownTimeout: 0 })

const fake = FakeGraph.layer({ token, app_secret: app.secret })

/** Layer for an inbox that is always empty: a body is taken in while its network waits, and dies where that does. */
const noInbox = Layer.effect(
  CallbackInbox,
  Intake.useSync(({ take }) =>
    CallbackInbox.of({
      store: (source, body) => Effect.flatMap(DateTime.now, (now) => take(source, body, now)),
      runOnce: () => Effect.succeed(0),
      run: () => Effect.never,
      measure: Effect.void
    })
  )
).pipe(Layer.provide(Intake.layer))

/** Layer for the provider over the fake network, and for an ingress that tells a core of it. */
export const over = <A, E>(core: Layer.Layer<Inbound | A, E, MessagingProvider>) => overInbox(core, noInbox)

/** The same, over an inbox. */
export const overInbox = <A, E, B>(
  core: Layer.Layer<Inbound | A, E, MessagingProvider>,
  inbox: Layer.Layer<CallbackInbox | B, never, CloudAccounts | Inbound | MediaLoader>
) =>
  HttpRouter.serve(Layer.merge(Ingress.layer, fake), { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provideMerge(inbox),
    Layer.provideMerge(core),
    Layer.provideMerge(Layer.merge(Cloud.layer, MediaLoader.layer)),
    Layer.provide([accounts, settings, FetchHttpClient.layer]),
    Layer.provide([listen, Layer.succeed(References.MinimumLogLevel, "None")])
  )

/** What reached core. */
export class Received extends Context.Service<Received, {
  readonly events: Effect.Effect<ReadonlyArray<ProviderEvent>>
  /** Everything since the last time. */
  readonly clear: Effect.Effect<ReadonlyArray<ProviderEvent>>
  /** Makes core die on events that fit, until it is set otherwise. */
  readonly breakOn: (fits: (event: ProviderEvent) => boolean) => Effect.Effect<void>
}>()("@messaging-crm/provider-cloud/test/Received") {}

/** Layer for a core that only writes down what it is told. */
export const recorder = Layer.effectContext(Effect.gen(function*() {
  const events = yield* Ref.make<ReadonlyArray<ProviderEvent>>([])
  const broken = yield* Ref.make<(event: ProviderEvent) => boolean>(() => false)
  const receive = Effect.fnUntraced(function*(event: ProviderEvent) {
    if ((yield* Ref.get(broken))(event)) return yield* Effect.die("broken")
    yield* Ref.update(events, (all) => [...all, event])
  })
  return Context.make(Inbound, { receive }).pipe(
    Context.add(Received, {
      events: Ref.get(events),
      clear: Ref.getAndSet(events, []),
      breakOn: (fits) => Ref.set(broken, fits)
    })
  )
}))
