/** The adapter, its ingress, and the fake Graph API on one free port, over any core. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Downloads from "@messaging-crm/adapter-http/Downloads"
import { CallbackInbox } from "@messaging-crm/core/CallbackInbox"
import type * as Crm from "@messaging-crm/core/Crm"
import { Decide } from "@messaging-crm/core/Decide"
import { Ids } from "@messaging-crm/core/Ids"
import { Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import type { FileUnavailable } from "@messaging-crm/core/Media"
import type { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import { SecretCanary } from "@messaging-crm/core/SecretCanary"
import { Secrets } from "@messaging-crm/core/Secrets"
import { StorageUse } from "@messaging-crm/core/StorageUse"
import { WorkSignal } from "@messaging-crm/core/WorkQueue"
import * as Cloud from "@messaging-crm/provider-cloud"
import { CallbackProcessor } from "@messaging-crm/provider-cloud/CallbackProcessor"
import { CloudAccounts, type CloudApp } from "@messaging-crm/provider-cloud/CloudAccounts"
import * as CloudSettings from "@messaging-crm/provider-cloud/CloudSettings"
import * as Ingress from "@messaging-crm/provider-cloud/Ingress"
import { MediaLoader } from "@messaging-crm/provider-cloud/MediaLoader"
import { Context, DateTime, Effect, Exit, Layer, Redacted, Ref, References, Stream } from "effect"
import { FetchHttpClient, HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"
import * as FakeAccounts from "../src/fake/FakeAccounts.ts"
import * as FakeGraph from "../src/fake/FakeGraph.ts"

export const app: CloudApp = {
  id: "app",
  secret: Redacted.make("the app's secret"),
  verify_token: Redacted.make("the app's word")
}

const token = Redacted.make("the channel's token")

/** Another app, which has no account. It comes first, so that a test notices what only the first app can do. */
export const otherApp: CloudApp = {
  id: "other",
  secret: Redacted.make("the other app's secret"),
  verify_token: Redacted.make("the other app's word")
}

/** Layer for two apps, and for an account of every channel. */
export const accounts = Layer.effect(
  CloudAccounts,
  CloudAccounts.useSync((found) => CloudAccounts.of({ ...found, apps: Effect.succeed([otherApp, app]) }))
).pipe(Layer.provide(FakeAccounts.layer(app, token)))

/** Layer for the settings with the URL of the listening server. */
const settings = Layer.unwrap(
  HttpServer.addressFormattedWith((url) =>
    Effect.succeed(CloudSettings.layer({ base_url: url, photo_social_base_url: url }))
  )
)

const listen = NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0, gracefulShutdownTimeout: 0 })

const fake = FakeGraph.layer({ token, app_secret: app.secret })

/** Layer for an inbox that is always empty: `store` processes a body immediately, and dies if the processing dies. */
const noInbox = Layer.effect(
  CallbackInbox,
  CallbackProcessor.useSync(({ process }) =>
    CallbackInbox.of({
      store: (source, parts) =>
        Effect.flatMap(DateTime.now, (received_at) =>
          Effect.forEach(parts, ({ body }) =>
            Effect.exit(process({ id: null, source, attempt: 1, body, is_ordered: true, received_at })))).pipe(
            Effect.flatMap(Exit.asVoidAll)
          ),
      runOnce: () =>
        Effect.succeed(0),
      run: () =>
        Effect.never,
      measure: Effect.void
    })
  )
).pipe(Layer.provide(CallbackProcessor.layer))

/** Layer for downloads from the fake Graph API. */
const fakeDownloads = Downloads.layer({ allowed: (address) => address === "127.0.0.1" })

/** Layer for the provider over the fake Graph API, and for an ingress that passes its events to a core. */
export const over = <A, E>(core: Layer.Layer<Inbound | A, E, MessagingProvider>, downloads = fakeDownloads) =>
  overInbox(core, noInbox, downloads)

/** Layer for the inbox and its processing over a storage. */
export const inboxOver = <A, E>(storage: Layer.Layer<A | Crm.StoragePorts, E>) =>
  Layer.merge(CallbackInbox.layer, CallbackProcessor.layer).pipe(
    Layer.provide(Layer.merge(Decide.layer, SecretCanary.layer)),
    Layer.provide(Layer.mergeAll(Secrets.layer, StorageUse.layer, WorkSignal.layer)),
    Layer.provideMerge(storage),
    Layer.provide(Ids.layer)
  )

/** Layer for the same over an inbox. */
export const overInbox = <A, E, B>(
  core: Layer.Layer<Inbound | A, E, MessagingProvider>,
  inbox: Layer.Layer<B, never, A | CloudAccounts | Inbound | MediaLoader>,
  downloads = fakeDownloads
) =>
  HttpRouter.serve(Layer.merge(Ingress.layer, fake), { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provideMerge(inbox),
    Layer.provideMerge(core),
    Layer.provideMerge(Layer.merge(Cloud.layer, MediaLoader.layer)),
    Layer.provide([accounts, settings, downloads, FetchHttpClient.layer]),
    Layer.provide([listen, Layer.succeed(References.MinimumLogLevel, "None")])
  )

/** The events that reached core. */
export class Received extends Context.Service<Received, {
  readonly events: Effect.Effect<ReadonlyArray<ProviderEvent>>
  /** The events since the last call. */
  readonly clear: Effect.Effect<ReadonlyArray<ProviderEvent>>
  /** Makes core die on matching events, or fail as given, until the next call. */
  readonly breakOn: (
    matches: (event: ProviderEvent) => boolean,
    failure?: Effect.Effect<never, FileUnavailable>
  ) => Effect.Effect<void>
}>()("@messaging-crm/provider-cloud/test/Received") {}

/** Returns the event with its file in memory, as core would store it. */
const withFile = Effect.fnUntraced(function*(event: ProviderEvent) {
  if (event.event !== "message_received" || event.media === null || !Stream.isStream(event.media.bytes)) return event
  const bytes = yield* Stream.runCollect(event.media.bytes).pipe(
    Effect.map((chunks) => new Uint8Array(Buffer.concat(chunks))),
    Effect.catchTag("FileAbsent", () => Effect.succeed(null))
  )
  return { ...event, media: { ...event.media, bytes } }
})

/** Layer for a core that only records the events it receives. */
export const recorder = Layer.effectContext(Effect.gen(function*() {
  const events = yield* Ref.make<ReadonlyArray<ProviderEvent>>([])
  const isBroken = yield* Ref.make<(event: ProviderEvent) => boolean>(() => false)
  const failure = yield* Ref.make<Effect.Effect<never, FileUnavailable>>(Effect.die("broken"))
  const receive = Effect.fnUntraced(function*(event: ProviderEvent) {
    if ((yield* Ref.get(isBroken))(event)) return yield* Effect.flatten(Ref.get(failure))
    const stored = yield* withFile(event)
    yield* Ref.update(events, (all) => [...all, stored])
  })
  return Context.make(Inbound, { receive, organizationOf: () => Effect.succeed(null) }).pipe(
    Context.add(Received, {
      events: Ref.get(events),
      clear: Ref.getAndSet(events, []),
      breakOn: (matches, given = Effect.die("broken")) =>
        Effect.andThen(Ref.set(failure, given), Ref.set(isBroken, matches))
    })
  )
}))
