/**
 * The whole API over memory and the mock network, called with real requests.
 *
 * Every response is checked against the OpenAPI document, so each test also tests the contract.
 */
import * as Http from "@messaging-crm/adapter-http"
import * as Memory from "@messaging-crm/adapter-memory"
import * as WebhookTransport from "@messaging-crm/adapter-memory/WebhookTransport"
import { messageReceived } from "@messaging-crm/conformance/Fixtures"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey, Scope } from "@messaging-crm/core/ApiKeys"
import { Channels, ConnectChannel } from "@messaging-crm/core/Channels"
import * as Crm from "@messaging-crm/core/Crm"
import type { ChannelId } from "@messaging-crm/core/Ids"
import { Inbound, type ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { Worker } from "@messaging-crm/core/Worker"
import * as Mock from "@messaging-crm/provider-mock"
import { Context, DateTime, Effect, Layer, ManagedRuntime, Option, Queue, Redacted, References } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { judge } from "./Document.ts"

export interface TestResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body of a success, of a page, or of an error. A test knows which of them its request gets. */
  readonly body: {
    // `judge` has checked it against the OpenAPI document, which has the shape of each operation's data.
    // oxlint-disable-next-line typescript/no-explicit-any
    readonly data: any
    readonly next_cursor: string | null
    readonly error: {
      readonly code: string
      readonly message: string
      readonly param: string | null
      readonly request_id: string
    }
  }
}

const createKey = (actor: CurrentActor["Service"], scopes: ReadonlyArray<Scope>) =>
  ApiKeys.use((keys) =>
    keys.create(CreateApiKey.make({
      created_by: Option.getOrThrow(Option.fromNullOr(actor.member_id)),
      name: "test",
      scopes,
      expires: "90d"
    }))
  ).pipe(Effect.map(({ key }) => Redacted.value(key)), Effect.provideService(CurrentActor, actor))

/** Creates an organization with its owner, two channels, and a key with every scope. */
const createOrganization = Effect.fn(function*(name: string) {
  const organizations = yield* Organizations
  const { organization, owner } = yield* organizations.create(CreateOrganization.make({
    name,
    owner_name: "Ada",
    owner_email: "ada@acme.example"
  }))
  const actor = { organization_id: organization.id, member_id: owner.id }
  const connect = (channel: typeof ConnectChannel["~type.make.in"]) =>
    Channels.use((channels) => channels.connect(ConnectChannel.make(channel))).pipe(
      Effect.provideService(CurrentActor, actor)
    )
  const channel = yield* connect({
    type: "phone_messaging",
    name: "Support",
    address: "+4930123456",
    phone_messaging_business_account_id: `account-${organization.id}`
  })
  const social = yield* connect({
    type: "photo_social",
    name: "Photos",
    address: "@acme",
    phone_messaging_business_account_id: null
  })
  return { organization, owner, channel, social, key: yield* createKey(actor, Scope.literals) }
})

export interface Options {
  /** Replaces services for requests only. */
  readonly instead?: Layer.Layer<never, never, Crm.Services>
  readonly provider?: typeof Mock.layer
  readonly storage?: Layer.Layer<Crm.StoragePorts>
  /** Applies to the operations. */
  readonly tuning?: Layer.Layer<never>
}

/** All operations over a storage, with a provider and a transport of webhooks that tests can control. */
const crmOver = ({ provider = Mock.layer, storage = Memory.layer, tuning = Layer.empty }: Options) =>
  Crm.layer.pipe(
    Layer.provide(tuning),
    Layer.provideMerge(Layer.mergeAll(storage, provider, WebhookTransport.layer))
  )

export type Services = Layer.Success<ReturnType<typeof crmOver>>

/** The operations of a service, and its API as a function. */
export interface Composition {
  readonly runtime: ManagedRuntime.ManagedRuntime<Services, never>
  readonly handler: (request: Request, context: never) => Promise<Response>
  readonly dispose: () => Promise<void>
}

const quiet = Layer.succeed(References.MinimumLogLevel, "None")

/** Composes a separate service with its own memory. */
const composeOne = (options: Options): Composition => {
  const runtime = ManagedRuntime.make(Layer.mergeAll(crmOver(options), quiet))
  const app = Layer.provideMerge(options.instead ?? Layer.empty, Layer.effectContext(runtime.contextEffect))
  const { dispose, handler } = HttpRouter.toWebHandler(
    Http.layer.pipe(Layer.provideMerge(app), Layer.provide(HttpServer.layerServices)),
    { routerConfig: Http.routerConfig, disableLogger: true }
  )
  return { runtime, handler, dispose }
}

/** How services are composed, unless a test names a storage. The project `cells` replaces it. */
let compose: (options: Options) => Composition = composeOne

export const composeBy = (composition: typeof compose): void => {
  compose = composition
}

/** Starts a separate service. */
export const start = (options: Options = {}) =>
  serviceOf((options.storage === undefined ? compose : composeOne)(options))

/** Returns functions that call a service. */
export const serviceOf = ({ dispose, handler, runtime }: Composition) => {
  /** Sends a request as a client on the network does, with nothing added. */
  const fetch = (url: string, init: RequestInit = {}): Promise<Response> =>
    handler(new Request(url, init), Context.empty() as never)

  const request = async (method: string, path: string, options: {
    readonly key?: string
    readonly json?: unknown
    readonly text?: string | Uint8Array<ArrayBuffer> | ReadableStream
    readonly headers?: Record<string, string>
  } = {}): Promise<TestResponse> => {
    const body = options.text ?? (options.json === undefined ? undefined : JSON.stringify(options.json))
    const headers = new Headers(options.headers)
    if (options.key !== undefined) headers.set("authorization", `Bearer ${options.key}`)
    if (body !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json")
    if (typeof body === "string") headers.set("content-length", String(new TextEncoder().encode(body).byteLength))
    const init = { method, headers, ...(body === undefined ? {} : { body, duplex: "half" }) }
    const response = await fetch(`http://localhost${path}`, init)
    const text = await response.text()
    const { headers: received, status } = response
    judge({ method, path }, { status, headers: received, text })
    return { status, headers: received, text, body: text === "" ? undefined : JSON.parse(text) }
  }

  const organization = (name = "Acme") => runtime.runPromise(createOrganization(name))

  const keyWith = (actor: CurrentActor["Service"], scopes: ReadonlyArray<Scope>) =>
    runtime.runPromise(createKey(actor, scopes))

  /** Runs the worker and the network, with all delayed callbacks, until a condition holds. */
  const until = async (holds: () => Promise<boolean>): Promise<void> => {
    for (let round = 0; round < 20; round++) {
      if (await holds()) return
      await runtime.runPromise(Effect.gen(function*() {
        yield* Worker.use((worker) => worker.runOnce)
        const { callbacks, settled } = yield* Mock.MockProvider
        yield* settled
        for (const event of yield* Queue.clear(callbacks)) yield* Inbound.use((inbound) => inbound.receive(event))
      }))
    }
    throw new Error("The condition was never met.")
  }

  /** Kim writes to a channel: a text, unless the fields say otherwise. */
  const receive = (channel_id: ChannelId, said: Partial<ProviderMessageReceived> = {}) =>
    runtime.runPromise(Effect.gen(function*() {
      const message = messageReceived({
        channel_id,
        provider_message_id: globalThis.crypto.randomUUID(),
        from: { external_id: "+4915112345678", display_name: "Kim", username: null },
        sent_at: yield* DateTime.now,
        ...said
      })
      yield* Inbound.use((inbound) => inbound.receive(message))
    }))

  const stop = async () => {
    await dispose()
    await runtime.dispose()
  }

  return { fetch, request, organization, keyWith, receive, until, stop, runtime }
}

/** A text, as a message or as a parameter of a template. */
export const text = (value: string) => ({ type: "text" as const, text: value })

/** The mock network's template `order_ready` with values for its parameters: a name, and the number of the order. */
export const orderReady = (
  { phone_messaging_business_account_id }: { readonly phone_messaging_business_account_id: string | null },
  order = "7"
) => ({
  id: `${phone_messaging_business_account_id}.order_ready`,
  components: [
    { type: "header" as const, parameters: [text(order)] },
    { type: "body" as const, parameters: [text("Kim"), text(order)] },
    { type: "button" as const, sub_type: "url" as const, index: 0, parameters: [text(order)] }
  ]
})

/** Options with an idempotency key: the given one, or a new one. */
export const idempotency = (key: string = globalThis.crypto.randomUUID()) => ({ headers: { "idempotency-key": key } })
