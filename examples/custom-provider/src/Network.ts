/** A simulation of Courier: a server on this machine that keeps messages in memory. */
import { NodeHttpServer, NodeHttpServerRequest } from "@effect/platform-node"
import { Context, Effect, Layer, Redacted, Ref, Schema } from "effect"
import { FetchHttpClient, HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"
import * as Courier from "./Courier.ts"

const Message = Schema.Struct({ client_reference: Schema.String, to: Schema.String, text: Schema.String })
type Message = typeof Message.Type

/** Controls the simulated network. */
export class Network extends Context.Service<Network, {
  readonly url: string
  /** The accepted messages, with their IDs at Courier. */
  readonly accepted: Effect.Effect<ReadonlyArray<Message & { readonly id: string }>>
  readonly breakCatalog: Effect.Effect<void>
}>()("example/Network") {}

const template = (id: string, live: boolean) => ({ id, title: id, lang: "en", body: "Hello {{1}}", live })

/** The catalog of every account, in pages. */
const pages = [[template("greeting", true), template("farewell", true)], [template("draft", false)]]

const respond = HttpServerResponse.jsonUnsafe

const make = Effect.gen(function*() {
  const messages = yield* Ref.make<ReadonlyMap<string, Message>>(new Map())
  const broken = yield* Ref.make(false)
  const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
  const router = yield* HttpRouter.HttpRouter

  const hangUp = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    NodeHttpServerRequest.toIncomingMessage(request).socket.destroy()
    return Effect.never
  })

  /** Accepts or rejects a message by the last digit of its number, so that a test can choose the outcome. */
  const receive = Effect.gen(function*() {
    const message = yield* HttpServerRequest.schemaBodyJson(Message)
    if (message.to.endsWith("1")) return respond({ error: "unknown_number" }, { status: 422 })
    if (message.to.endsWith("2")) {
      return respond({ error: "slow_down" }, { status: 429, headers: { "retry-after": "2" } })
    }
    // A repeated reference adds no message.
    yield* Ref.update(messages, (all) => new Map(all).set(message.client_reference, message))
    if (message.to.endsWith("3")) return yield* hangUp
    return respond({ id: `courier.${message.client_reference}` }, { status: 202 })
  })

  const catalog = Effect.gen(function*() {
    const { cursor } = yield* HttpServerRequest.schemaSearchParams(Schema.Struct({ cursor: Schema.String }))
    const index = Number(cursor)
    if (index > 0 && (yield* Ref.get(broken))) return HttpServerResponse.empty({ status: 500 })
    return respond({ templates: pages[index], next: index + 1 < pages.length ? String(index + 1) : null })
  })

  yield* router.add("POST", "/messages", receive)
  yield* router.add("GET", "/accounts/:account/templates", catalog)

  return Network.of({
    url,
    accepted: Effect.map(
      Ref.get(messages),
      (all) => Array.from(all.values(), (message) => ({ ...message, id: `courier.${message.client_reference}` }))
    ),
    breakCatalog: Ref.set(broken, true)
  })
})

/** Layer for the network on a free port of 127.0.0.1, and for the provider that speaks to it. */
export const layer = Layer.unwrap(
  Network.use(({ url }) => Effect.succeed(Courier.layer({ url, token: Redacted.make("example") })))
).pipe(
  Layer.provideMerge(
    HttpRouter.serve(Layer.effect(Network, make), { disableLogger: true, disableListenLog: true })
  ),
  Layer.provide([NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 }), FetchHttpClient.layer])
)
