/**
 * The console of `dev`: the page at `/console`, and the taps that report to it what happens in this process.
 *
 * `serve` has none of it. The page gets no key: `@messaging-crm/console` calls the REST API for it, with a key that is
 * revoked when the process ends.
 */
import { errorCodeOf } from "@messaging-crm/adapter-http/ErrorCode"
import { makeConsole, Monitor, type SendReport } from "@messaging-crm/console"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey, Scope } from "@messaging-crm/core/ApiKeys"
import type { Changes } from "@messaging-crm/core/Changes"
import { Commit } from "@messaging-crm/core/Commit"
import { ContactRows } from "@messaging-crm/core/Contacts"
import { ConversationRows } from "@messaging-crm/core/Conversations"
import type * as Crm from "@messaging-crm/core/Crm"
import { MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import { Inbound, ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import { SendRows } from "@messaging-crm/core/Sends"
import { WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { Clock, DateTime, Deferred, Effect, Layer, Redacted, References, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Provider } from "../Provider.ts"

const path = "/console"
/** The beginning of the request IDs of the console's own calls. */
const own = "console."

/** Returns whether a socket at this address is reached from this machine only. */
export const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/.test(host)

// ----------------------------------------------------------------- taps

const textOf = (value: unknown) => DateTime.isDateTime(value) ? DateTime.formatIso(value) : value

/** Returns what the page shows of the columns of a send. */
const reportOf = (id: string, columns: Readonly<Record<string, unknown>>): SendReport => {
  const { content, conversation_id, created_at, failure_reason, recipient, status } = columns
  const shown = { conversation_id, created_at: textOf(created_at), failure_reason, recipient, status }
  const known = Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined))
  const text = typeof content === "object" && content !== null && "text" in content
    ? { text: String(content.text) }
    : {}
  return { id, ...known, ...text }
}

/** Reports what a commit changed. */
const observe = (monitor: Monitor, { insert = [], raise = [], settle, update = [] }: Changes): void => {
  for (const { rows, table } of insert) {
    for (const row of rows) {
      const id = "id" in row ? String(row.id) : ""
      if (table === SendRows.table) monitor.send(reportOf(id, { ...row }))
      if (table === ConversationRows.table) monitor.change({ conversation_id: id })
    }
  }
  for (const { key, set, table } of update) {
    const id = key["id"] ?? ""
    if (table === SendRows.table) monitor.send(reportOf(id, { ...set }))
    if (table === ConversationRows.table) monitor.change({ conversation_id: id })
    if (table === ContactRows.table) monitor.change({ contact_id: id })
    if (table === WebhookDeliveryRows.table) monitor.delivery({ attempted: "attempt_count" in set })
  }
  if (settle?.outcome === "postpone" && settle.claimed.kind === "send") {
    monitor.send({ id: settle.claimed.ref, next_attempt_at: DateTime.formatIso(settle.due_at) })
  }
  for (const { body } of raise) monitor.event(JSON.parse(body))
}

/** Returns whether the request is the console's own: for its page, or one of its reads. */
const isOwn = ({ headers, method, url }: HttpServerRequest.HttpServerRequest): boolean =>
  url.startsWith(path) || (method === "GET" && (headers["x-request-id"] ?? "").startsWith(own))

/** Pages, files and probes are not shown. */
const isHidden = /^\/(?:$|docs|favicon|health|media|metrics)/

// -------------------------------------------------------------- console

const CustomerMessage = Schema.Struct({
  channel_id: ProviderMessageReceived.fields.channel_id,
  from: ProviderMessageReceived.fields.from.fields.external_id,
  name: ProviderMessageReceived.fields.from.fields.display_name,
  text: ProviderMessageReceived.fields.text
})

/** Receives a message as if a network had delivered it. */
const write = Effect.fnUntraced(function*(input: unknown) {
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
  readonly isSimulated: boolean
}

type Handle = (request: Request) => Promise<Response>

const absent: Handle = async () =>
  new Response("The console requires the demo organization. Restart without the flag --no-demo.", { status: 404 })

/** Makes the taps and the routes. The routes answer once `start` has run. */
export const make = Effect.gen(function*() {
  const monitor = new Monitor()
  const handle = yield* Deferred.make<Handle>()
  let only: string | null = null

  /** Storage whose commits are reported. */
  const storage = (ports: Layer.Layer<Crm.StoragePorts>): Layer.Layer<Crm.StoragePorts> =>
    Layer.effect(
      Commit,
      Effect.map(Commit, ({ commit }) =>
        Commit.of({
          commit: (organization_id, changes) =>
            Effect.tap(commit(organization_id, changes), () =>
              Effect.sync(() => {
                if (only === null || only === organization_id) observe(monitor, changes)
              }))
        }))
    ).pipe(Layer.provideMerge(ports))

  /** A provider whose rejections are reported, with their reasons. */
  const outbound = (provider: Provider["outbound"]): Provider["outbound"] =>
    Layer.effect(
      MessagingProvider,
      Effect.map(MessagingProvider, (provider) => {
        const report = (id: string, waits_for: string | null) => Effect.sync(() => monitor.send({ id, waits_for }))
        return MessagingProvider.of({
          ...provider,
          deliver: (message) =>
            provider.deliver(message).pipe(
              Effect.tapError((error) => report(message.reference, "reason" in error ? error.reason : null))
            )
        })
      })
    ).pipe(Layer.provide(provider))

  /** Reports each request that is answered, and keeps the console's own out of the log. */
  const middleware = <E, R>(answer: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
    Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      if (isOwn(request)) return yield* Effect.provideService(answer, References.MinimumLogLevel, "Warn")
      const started = yield* Clock.currentTimeMillis
      const response = yield* answer
      const duration_ms = (yield* Clock.currentTimeMillis) - started
      const [path = ""] = request.url.split("?")
      if (!isHidden.test(path)) {
        monitor.request({
          method: request.method,
          path,
          status: response.status,
          code: errorCodeOf(response),
          duration_ms
        })
      }
      return response
    })

  const routes = HttpRouter.use(Effect.fnUntraced(function*(router) {
    const answer = Effect.gen(function*() {
      const request = yield* Effect.orDie(HttpServerRequest.toWeb(yield* HttpServerRequest.HttpServerRequest))
      const respond = yield* Deferred.await(handle)
      return HttpServerResponse.fromWeb(yield* Effect.promise(() => respond(request)))
    })
    // It matches the path itself too.
    yield* router.add("*", `${path}/*`, answer)
  }))

  /** Opens the console until the scope closes, and returns its address. */
  const start = Effect.fnUntraced(function*({ address, isSimulated, member_id, organization_id }: Options) {
    if (organization_id === null || member_id === null) {
      yield* Deferred.succeed(handle, absent)
      return null
    }
    only = organization_id
    const created_by = MemberId.make(member_id)
    const actor = { organization_id: OrganizationId.make(organization_id), member_id: created_by }
    const keys = yield* ApiKeys
    const input = CreateApiKey.make({ created_by, name: "console", scopes: Scope.literals, expires: "90d" })
    const { key } = yield* Effect.acquireRelease(
      Effect.orDie(keys.create(input)),
      ({ api_key }) => Effect.ignore(keys.revoke(api_key.id))
    ).pipe(Effect.provideService(CurrentActor, actor))
    const run = Effect.runPromiseWith(yield* Effect.context<Inbound>())
    const console = makeConsole({
      apiKey: Redacted.value(key),
      baseUrl: `${address}/v1`,
      path,
      hosts: ["localhost", "127.0.0.1", "[::1]"],
      title: "Messaging CRM console",
      fetch: (url, init) => {
        const headers = { ...init.headers, "x-request-id": `${own}${globalThis.crypto.randomUUID()}` }
        return globalThis.fetch(url, { ...init, headers })
      },
      development: { monitor, write: isSimulated ? (message) => run(Effect.orDie(write(message))) : null }
    })
    yield* Deferred.succeed(handle, console.handle)
    // The streams of open pages would delay the server's shutdown.
    yield* Effect.addFinalizer(() => Effect.sync(console.close))
    return `${address}${path}`
  })

  return { middleware, outbound, routes, start, storage }
})
