/** `webhooks listen`: subscribes to a service's events, prints them, and forwards them. */
import { Client, idempotencyKey } from "@messaging-crm/adapter-http/Client"
import { type AnyEventType, Event, EventType } from "@messaging-crm/core/Events"
import { Ids, type WebhookId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { CreateWebhook } from "@messaging-crm/core/Webhooks"
import { verify } from "@messaging-crm/core/WebhookSignature"
import { ByteSize, DateTime, Effect, Layer, Option, Predicate, Redacted, Schema } from "effect"
import {
  FetchHttpClient,
  HttpClient,
  HttpClientError,
  HttpClientRequest,
  HttpIncomingMessage,
  HttpServer,
  HttpServerRequest,
  HttpServerResponse
} from "effect/http"
import { styleText } from "node:util"
import * as Listener from "../http/Listener.ts"
import * as Admin from "./Admin.ts"
import * as Print from "./Print.ts"
import { oneLine } from "./Visible.ts"

export interface Options {
  readonly base_url: string
  readonly api_key: Redacted.Redacted
  readonly port: number
  readonly receive_at: Option.Option<string>
  readonly forward_to: Option.Option<string>
  readonly event_types: ReadonlyArray<EventType>
  readonly json: boolean
}

const decode = Schema.decodeEffect(Schema.fromJsonString(Event))

const colors = {
  "message.received": "cyan",
  "message.sent": "green",
  "message.updated": "blue",
  "send.failed": "red",
  "conversation.closed": "magenta",
  "conversation.opened": "magenta",
  "conversation.assigned": "magenta",
  "contact.created": "yellow",
  "contact.updated": "yellow",
  "webhook.disabled": "red",
  "webhook.test": "gray"
} as const satisfies Record<AnyEventType, string>

/** The first types, up to the maximum of a webhook: the events of messages, sends, and closed conversations. */
const default_types = EventType.literals.slice(0, limits.webhook_event_types_max)

const type_width = Math.max(...EventType.literals.map((type) => type.length))

/** Returns the line that shows an event, on one line whatever its values are. */
export const wordsOf = ({ data, timestamp, type }: Event, isRepeat: boolean): string =>
  [
    styleText("dim", DateTime.formatIso(timestamp)),
    styleText(colors[type], type.padEnd(type_width)),
    Object.entries(data).map(([name, value]) => `${styleText("dim", `${name}=`)}${oneLine(String(value))}`).join(" "),
    ...(isRepeat ? [styleText("yellow", "(again)")] : [])
  ].join("  ")

/** Returns the reason of a failed request, for the user. */
const reasonOf = (error: unknown, base_url: string): string => {
  if (HttpClientError.isHttpClientError(error) && error.response === undefined) {
    return `The service at ${base_url} does not respond. Start it, or choose another --url.`
  }
  const body = Predicate.hasProperty(error, "error") ? error.error : error
  const message = Predicate.hasProperty(body, "message") ? String(body.message) : String(body)
  const isUrl = Predicate.hasProperty(body, "param") && body.param === "url"
  const hint = " To reach this machine, start the service with WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8."
  return `The service rejected the subscription: ${message}${isUrl ? hint : ""}`
}

/** Creates a webhook, which is disabled when the scope closes. */
const subscribed = Effect.fnUntraced(function*(input: CreateWebhook, base_url: string) {
  const { webhooks } = yield* Client
  const create = Effect.mapError(
    webhooks.create({ headers: {}, payload: input }),
    (error) => new Admin.Rejected({ message: reasonOf(error, base_url) })
  )
  const disable = Effect.fnUntraced(function*(webhook_id: WebhookId) {
    yield* Effect.ignore(webhooks.disable({ headers: yield* idempotencyKey, params: { webhook_id } }))
  })
  return (yield* Effect.acquireRelease(create, ({ data }) => disable(data.id))).data
})

const forwarded_headers = ["content-type", "user-agent", "webhook-id", "webhook-signature", "webhook-timestamp"]

/** The sender is not authenticated before the body is read. Events are smaller than this. */
const body_size_max = ByteSize.kibibytes(64)

/** Posts a delivery, signature included, to another URL. Returns its status, or 502 without a response. */
export const forward = (url: string, headers: Readonly<Record<string, string | undefined>>, body: string) =>
  HttpClient.execute(
    HttpClientRequest.post(url).pipe(
      HttpClientRequest.bodyText(body, "application/json"),
      HttpClientRequest.setHeaders(
        forwarded_headers.flatMap((name): ReadonlyArray<[string, string]> => {
          const value = headers[name]
          return value === undefined ? [] : [[name, value]]
        })
      )
    )
  ).pipe(
    Effect.timeout("15 seconds"),
    Effect.map(({ status }) => status),
    Effect.catch(() => Effect.as(Print.note(`${url} does not respond.`), 502)),
    // As for every webhook, a redirect is a response.
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    Effect.provide(FetchHttpClient.layer)
  )

/** How many events are remembered, to show which are posted again. */
const remembered_max = 10_000

/** Returns a function that tells whether it was called with an ID before. It forgets the oldest ones. */
const remembering = () => {
  const ids = new Set<string>()
  return (id: string): boolean => {
    if (ids.has(id)) return true
    ids.add(id)
    const [oldest = id] = ids
    if (ids.size > remembered_max) ids.delete(oldest)
    return false
  }
}

/** Makes a handler that prints and forwards each event with a valid signature, and rejects everything else. */
const receiving = (
  secret: Redacted.Redacted,
  { forward_to, json: asJson }: Pick<Options, "forward_to" | "json">
) => {
  const isRepeat = remembering()

  return Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const sent = yield* Effect.option(
      Effect.provideService(request.text, HttpIncomingMessage.MaxBodySize, body_size_max)
    )
    if (Option.isNone(sent)) return HttpServerResponse.empty({ status: 413 })
    const body = sent.value
    if (!(yield* verify(secret, request.headers, body))) {
      yield* Print.note("Rejected a request without a valid signature.")
      return HttpServerResponse.empty({ status: 401 })
    }
    const event = yield* Effect.option(decode(body))
    if (asJson) yield* Print.line(JSON.stringify(JSON.parse(body)))
    // A newer service can have further types of events.
    else if (Option.isNone(event)) yield* Print.line(oneLine(body))
    else yield* Print.styled(wordsOf(event.value, isRepeat(event.value.id)))
    const status = Option.isSome(forward_to) ? yield* forward(forward_to.value, request.headers, body) : 204
    return HttpServerResponse.empty({ status })
  })
}

/** Receives events until it is interrupted. The subscription ends with it. */
export const listen = (options: Options) => {
  const client = Client.layer(options).pipe(Layer.provide(FetchHttpClient.layer), Layer.provideMerge(Ids.layer))
  return Effect.gen(function*() {
    const address = yield* HttpServer.addressFormattedWith(Effect.succeed)
    const input = yield* Admin.typed(CreateWebhook, {
      url: Option.getOrElse(options.receive_at, () => `${address}/`),
      event_types: options.event_types.length === 0 ? default_types : options.event_types
    })
    const webhook = yield* subscribed(input, options.base_url)
    yield* HttpServer.serveEffect(receiving(Redacted.make(webhook.signing_secret), options))
    const target = Option.match(options.forward_to, { onNone: () => "", onSome: (url) => `\nForwarding to ${url}` })
    yield* Print.note(
      `Listening for ${
        webhook.event_types.join(", ")
      } at ${webhook.url}\nSigning secret: ${webhook.signing_secret}${target}`
    )
    return yield* Effect.never
  }).pipe(
    Effect.provide([client, Listener.layer({ host: "127.0.0.1", port: options.port, setting: "--port" })]),
    Effect.scoped
  )
}
