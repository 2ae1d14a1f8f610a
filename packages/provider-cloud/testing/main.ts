/**
 * The fake Graph API as a process of its own: `node packages/provider-cloud/testing/main.ts`.
 *
 * `CALLBACK_URL` gets the callbacks, or several such URLs with commas between, in turn. `APP_SECRET` signs them,
 * `ACCESS_TOKEN` is the token that requests must carry, and `PORT` is where it listens (4020).
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Config, Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"
import * as Control from "../src/fake/Control.ts"
import * as FakeGraph from "../src/fake/FakeGraph.ts"

const settings = Config.all({
  port: Config.withDefault(Config.Int("PORT"), 4020),
  callback_urls: Config.map(Config.String("CALLBACK_URL"), (urls) => urls.split(",")),
  app_secret: Config.Redacted("APP_SECRET"),
  token: Config.Redacted("ACCESS_TOKEN")
})

const network = Layer.unwrap(Effect.map(settings, ({ port, ...options }) =>
  HttpRouter.serve(
    Layer.merge(Control.layer, Control.layerCallbacks).pipe(Layer.provideMerge(FakeGraph.layer(options))),
    { disableLogger: true, disableListenLog: true }
  ).pipe(
    Layer.merge(Layer.effectDiscard(HttpServer.logAddress)),
    Layer.provide(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port }))
  )))

NodeRuntime.runMain(Layer.launch(network))
