import { Effect, Layer } from "effect"
import { Command, Flag } from "effect/cli"
import { readOr, readRequired, settings } from "../Config.ts"
import * as Layers from "../Layers.ts"
import * as Logging from "../Logging.ts"
import * as Print from "../Print.ts"
import * as Providers from "../Providers.ts"

export const mockProvider = Command.make("mock-provider", {
  port: Flag.String("port").pipe(Flag.optional, Flag.withDescription("PORT")),
  callback_urls: Flag.String("callback-url").pipe(
    Flag.atLeast(1),
    Flag.withDescription(
      "Where callbacks go: …/ingress/mock of a service. May be given several times; each try goes to the next"
    )
  ),
  json: Print.json
}, (flags) =>
  Effect.gen(function*() {
    yield* readRequired(settings.secret_key)
    const listen = Layers.listen({ host: "127.0.0.1", port: yield* readOr(settings.port, 4010, flags.port) })
    const announce = Print.announce(flags.json, (address) => ({ provider_url: address }))
    const network = Layer.merge(Providers.mockNetwork(flags.callback_urls), announce).pipe(Layer.provide(listen))
    yield* Layer.launch(network.pipe(Layer.provide(Layers.tuning)))
  }).pipe(Effect.provide(Logging.layer))).pipe(
    Command.withDescription("Run the mock provider as a process of its own; servers reach it with PROVIDER_URL")
  )
