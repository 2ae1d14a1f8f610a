import { Effect, Layer } from "effect"
import { Command, Flag } from "effect/cli"
import * as Flags from "../cli/Flags.ts"
import * as Print from "../cli/Print.ts"
import * as Logging from "../observability/Logging.ts"
import { check, readWithDefault, settings } from "../settings/Config.ts"
import { withDefault } from "../settings/Settings.ts"

const portSetting = withDefault(4010, {
  ...settings.port,
  description: "Port of the mock provider; 0 selects a free port"
})

export const mockProvider = Command.make("mock-provider", {
  port: Flags.forSetting("port", portSetting),
  callback_urls: Flags.webUrl("callback-url").pipe(
    Flag.atLeast(1),
    Flag.withDescription(
      "URL to send callbacks to: /ingress/mock of a service. Repeat the flag for several URLs; each retry uses the next one"
    )
  ),
  json: Print.json
}, (flags) =>
  Effect.gen(function*() {
    yield* check(["secret_key"], { port: flags.port })
    const port = yield* readWithDefault(portSetting, flags.port)
    const [Layers, Listener, BuiltInProviders] = yield* Effect.promise(() =>
      Promise.all([import("../Layers.ts"), import("../http/Listener.ts"), import("../BuiltInProviders.ts")])
    )
    const announce = Print.announce(flags.json, (address) => ({ provider_url: address }))
    const network = Layer.merge(BuiltInProviders.mockNetwork(flags.callback_urls), announce).pipe(
      Layer.provide(Listener.layer({ host: "127.0.0.1", port }))
    )
    yield* Layer.launch(network.pipe(Layer.provide(Layers.tuning)))
  }).pipe(Effect.provide(Logging.layer))).pipe(
    Command.withDescription("Run the mock provider in its own process; to use it, set PROVIDER_URL in the service"),
    Command.withExamples([
      { command: "messaging-crm mock-provider --callback-url http://127.0.0.1:3000/ingress/mock" },
      { command: "messaging-crm mock-provider --port 4011 --callback-url http://127.0.0.1:3000/ingress/mock --json" }
    ])
  )
