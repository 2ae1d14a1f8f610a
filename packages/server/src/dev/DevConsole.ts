/**
 * The console of `dev`: the page at `/console`, which shows what happens in this process.
 *
 * The console of `serve --console` is in `../console`. The page gets no key: `@messaging-crm/console` calls the REST API for it, with a key that is
 * revoked when the process ends.
 */
import { type ConsoleOptions, makeConsole, Monitor } from "@messaging-crm/console"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey, Scope } from "@messaging-crm/core/ApiKeys"
import type * as Crm from "@messaging-crm/core/Crm"
import { MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import { Inbound, ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import { DateTime, Deferred, Effect, type Layer, Redacted, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Provider } from "../Provider.ts"
import * as Taps from "./Taps.ts"

const path = "/console"
/** The beginning of the request IDs of the console's own calls. */
const own = "console."

/** Returns whether a socket at this address is reached from this machine only. */
export const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/.test(host)

/** Returns whether the request is the console's own: for its page, or one of its reads. */
const isOwn = ({ headers, method, url }: HttpServerRequest.HttpServerRequest): boolean =>
  url.startsWith(path) || (method === "GET" && (headers["x-request-id"] ?? "").startsWith(own))

const CustomerMessage = Schema.Struct({
  channel_id: ProviderMessageReceived.fields.channel_id,
  from: ProviderMessageReceived.fields.from.fields.external_id,
  name: ProviderMessageReceived.fields.from.fields.display_name,
  text: ProviderMessageReceived.fields.text
})

/** Receives a message as if a network had delivered it. */
const writeAsCustomer = Effect.fnUntraced(function*(input: unknown) {
  const { channel_id, from, name, text } = yield* Schema.decodeUnknownEffect(CustomerMessage)(input)
  yield* Inbound.use(({ receive }) =>
    Effect.flatMap(DateTime.now, (sent_at) =>
      receive({
        event: "message_received",
        channel_id,
        provider_message_id: `${own}${globalThis.crypto.randomUUID()}`,
        from: { external_id: from, display_name: name, username: null },
        type: "text",
        text,
        media: null,
        sent_at
      }))
  )
})

interface Options {
  readonly address: string
  /** The organization of the inbox; null without the demo organization, when there is no console. */
  readonly organization_id: string | null
  readonly member_id: string | null
  /** Whether messages can be written in a customer's name: only on a simulated network. */
  readonly is_simulated: boolean
}

type Handle = (request: Request) => Promise<Response>

const absent: Handle = async () =>
  new Response("The console requires the demo organization. Restart without the flag --no-demo.", { status: 404 })

/** Layer for the console's paths. Their requests wait until the handler is known. */
const routesTo = (handler: Deferred.Deferred<Handle>) =>
  HttpRouter.use((router) =>
    // It matches the path itself too.
    router.add(
      "*",
      `${path}/*`,
      Effect.gen(function*() {
        const request = yield* Effect.orDie(HttpServerRequest.toWeb(yield* HttpServerRequest.HttpServerRequest))
        const handle = yield* Deferred.await(handler)
        return HttpServerResponse.fromWeb(yield* Effect.promise(() => handle(request)))
      })
    )
  )

/** Creates the console's API key, which is revoked when the scope closes. */
const acquireKey = Effect.fnUntraced(function*(organization_id: string, member_id: string) {
  const keys = yield* ApiKeys
  const created_by = MemberId.make(member_id)
  const input = CreateApiKey.make({ created_by, name: "console", scopes: Scope.literals, expires: "90d" })
  const actor = { organization_id: OrganizationId.make(organization_id), member_id: created_by }
  const { key } = yield* Effect.acquireRelease(
    Effect.orDie(keys.create(input)),
    ({ api_key }) => Effect.ignore(keys.revoke(api_key.id))
  ).pipe(Effect.provideService(CurrentActor, actor))
  return Redacted.value(key)
})

/** Sends a request of the console's own. */
const fetchAsConsole: NonNullable<ConsoleOptions["fetch"]> = (url, init) =>
  globalThis.fetch(url, {
    ...init,
    headers: { ...init.headers, "x-request-id": `${own}${globalThis.crypto.randomUUID()}` }
  })

/** Makes the console: its taps and its routes. The routes respond once `start` has run. */
export const make = Effect.gen(function*() {
  const monitor = new Monitor()
  const handler = yield* Deferred.make<Handle>()
  /** The organization whose changes are shown; null for all of them, while the demo is created. */
  let only: string | null = null

  /** Opens the console until the scope closes, and returns its address. */
  const start = Effect.fnUntraced(function*({ address, is_simulated, member_id, organization_id }: Options) {
    if (organization_id === null || member_id === null) {
      yield* Deferred.succeed(handler, absent)
      return null
    }
    only = organization_id
    const run = Effect.runPromiseWith(yield* Effect.context<Inbound>())
    const devConsole = makeConsole({
      apiKey: yield* acquireKey(organization_id, member_id),
      baseUrl: `${address}/v1`,
      path,
      hosts: ["localhost", "127.0.0.1", "[::1]"],
      title: "Messaging CRM console",
      fetch: fetchAsConsole,
      development: {
        monitor,
        writeAsCustomer: is_simulated ? (message) => run(Effect.orDie(writeAsCustomer(message))) : null
      }
    })
    yield* Deferred.succeed(handler, devConsole.handle)
    // The streams of open pages would delay the server's shutdown.
    yield* Effect.addFinalizer(() => Effect.sync(devConsole.close))
    return `${address}${path}`
  })

  return {
    middleware: Taps.middleware(monitor, isOwn),
    outbound: (provider: Provider["outbound"]) => Taps.outbound(monitor, provider),
    routes: routesTo(handler),
    start,
    storage: (ports: Layer.Layer<Crm.StoragePorts>) =>
      Taps.storage(monitor, (organization_id) => only === null || only === organization_id, ports)
  }
})
