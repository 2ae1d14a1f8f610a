/** Callbacks of the mock provider, signed with the secret key of a cluster. */
import type { ProviderEvent } from "@messaging-crm/core/Inbound"
import { RootKeys, Secrets } from "@messaging-crm/core/Secrets"
import * as Protocol from "@messaging-crm/provider-mock/http/Protocol"
import { Effect, Layer, Option, Schema } from "effect"
import { settings } from "../../src/settings/Config.ts"
import type { Environment } from "./Processes.ts"
import type { Server } from "./Servers.ts"

const encodeCallback = Schema.encodeEffect(Schema.fromJsonString(Protocol.Callback))

/** Makes a function that posts signed callbacks to a server, as the mock provider does, and returns the status. */
export const makeSender = Effect.fnUntraced(function*(environment: Environment) {
  const keys = Option.getOrThrow(settings.secret_key.parse(environment["SECRET_KEY"] ?? ""))
  const secrets = yield* Effect.provide(Secrets, Secrets.layer.pipe(Layer.provide(Layer.succeed(RootKeys, keys))))
  return Effect.fnUntraced(function*({ url }: Server, events: ReadonlyArray<ProviderEvent>) {
    const body = yield* Effect.orDie(encodeCallback({ events }))
    const signature = yield* Effect.provideService(Protocol.sign(body), Secrets, secrets)
    const headers = { "content-type": "application/json", [Protocol.signature_header]: signature }
    return yield* Effect.promise(async () => {
      const response = await fetch(`${url}/ingress/mock`, { method: "POST", headers, body })
      await response.arrayBuffer()
      return response.status
    })
  })
})
