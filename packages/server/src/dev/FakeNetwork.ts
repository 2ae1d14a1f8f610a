import * as Downloads from "@messaging-crm/adapter-http/Downloads"
import * as Control from "@messaging-crm/provider-cloud/fake/Control"
import * as FakeAccounts from "@messaging-crm/provider-cloud/fake/FakeAccounts"
import * as FakeGraph from "@messaging-crm/provider-cloud/fake/FakeGraph"
import * as CloudIngress from "@messaging-crm/provider-cloud/Ingress"
import { Effect, Layer, Redacted } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import * as BuiltInProviders from "../BuiltInProviders.ts"
import * as Listener from "../http/Listener.ts"

/** The app on the fake network, its verify token, and the token of every account there. */
const [app_id, verify_token, token] = ["dev", "verify-me", "fake"]

/** Layer for downloads from public addresses, and from this machine. */
const downloads = Downloads.layer({ allowed: (address) => address === "127.0.0.1" })

/**
 * Starts a fake Graph API on a free port of this machine, which calls the
 * service back, and returns the provider that uses it. Every channel has an
 * account there, under the channel's own id. Callbacks are signed with a random
 * secret; the token is known, because it opens nothing but this network.
 */
export const start = Effect.fnUntraced(function*(service_url: string) {
  const app_secret = yield* Effect.sync(() => Redacted.make(globalThis.crypto.randomUUID()))
  const callback_urls = [`${service_url}${CloudIngress.path}`]
  const fake = FakeGraph.layer({ token: Redacted.make(token), app_secret, callback_urls })
  const network = HttpRouter.serve(
    Layer.merge(Control.layer, Control.layerCallbacks).pipe(Layer.provide(fake)),
    { disableLogger: true, disableListenLog: true }
  ).pipe(Layer.provideMerge(Listener.layer({ host: "127.0.0.1", port: 0 })))
  // Its routes are not the service's.
  const running = yield* Layer.build(Layer.fresh(network))
  const network_url = yield* Effect.provideContext(HttpServer.addressFormattedWith(Effect.succeed), running)
  const accounts = FakeAccounts.layer(
    { id: app_id, secret: app_secret, verify_token: Redacted.make(verify_token) },
    Redacted.make(token)
  )
  const addresses = { base_url: network_url, photo_social_base_url: network_url }
  const provider = BuiltInProviders.cloudOver(accounts, addresses, downloads)
  return { provider, network: { url: network_url, verify_token } }
})
