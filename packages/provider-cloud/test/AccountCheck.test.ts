/** Tests of the check of an account, before anything is sent under it. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, it } from "@effect/vitest"
import type { Channel } from "@messaging-crm/core/Channels"
import { ChannelId } from "@messaging-crm/core/Ids"
import { AccountCheck } from "@messaging-crm/provider-cloud/AccountCheck"
import { CloudAccounts } from "@messaging-crm/provider-cloud/CloudAccounts"
import * as CloudSettings from "@messaging-crm/provider-cloud/CloudSettings"
import { DateTime, Effect, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpRouter } from "effect/http"
import { createServer } from "node:http"
import * as FakeAccounts from "../src/fake/FakeAccounts.ts"
import * as FakeGraph from "../src/fake/FakeGraph.ts"
import { app } from "./Network.ts"

const channel = (type: Channel["type"]): Channel => ({
  id: ChannelId.make("01990000-0000-7000-8000-000000000007"),
  type,
  name: "Support",
  address: "an address",
  phone_messaging_business_account_id: null,
  connected_at: DateTime.makeUnsafe("2026-01-01T00:00:00Z")
})

const types = ["phone_messaging", "page_messaging", "photo_social"] as const

/** Returns the result of the check of a channel of each type. */
const verdicts = (accounts: Layer.Layer<CloudAccounts>, base_url: string) =>
  Effect.forEach(types, (type) => AccountCheck.use(({ check }) => check(channel(type)))).pipe(
    Effect.provide(AccountCheck.layer.pipe(
      Layer.provide([accounts, FetchHttpClient.layer]),
      Layer.provide(CloudSettings.layer({ base_url, photo_social_base_url: base_url }))
    ))
  )

const network = HttpRouter.serve(
  FakeGraph.layer({ token: Redacted.make("right"), app_secret: app.secret }),
  { disableLogger: true, disableListenLog: true }
).pipe(Layer.provide(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0, gracefulShutdownTimeout: 0 })))

const under = (token: string) => FakeAccounts.layer(app, Redacted.make(token))

it.layer(network)("AccountCheck", (it) => {
  it.effect("reports a valid token, an invalid token, and a missing account", () =>
    Effect.gen(function*() {
      const { url } = yield* FakeGraph.FakeGraph
      assert.deepStrictEqual(yield* verdicts(under("right"), url), ["ok", "ok", "ok"])
      assert.deepStrictEqual(yield* verdicts(under("wrong"), url), ["provider_auth", "provider_auth", "provider_auth"])
      const none = CloudAccounts.layer({ apps: [app], channels: [] })
      assert.deepStrictEqual(yield* verdicts(none, url), ["not_connected", "not_connected", "not_connected"])
    }))

  it.effect("reports an unreachable network", () =>
    Effect.gen(function*() {
      const found = yield* verdicts(under("right"), "http://127.0.0.1:9")
      assert.deepStrictEqual(found, ["unreachable", "unreachable", "unreachable"])
    }))
})
