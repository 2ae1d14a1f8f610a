import { Client, idempotencyKey } from "@messaging-crm/adapter-http/Client"
import { Event, EventType } from "@messaging-crm/core/Events"
import { Ids, WebhookId } from "@messaging-crm/core/Ids"
import { CreateWebhook, Webhook, Webhooks, WebhookStatus } from "@messaging-crm/core/Webhooks"
import { verify } from "@messaging-crm/core/WebhookSignature"
import { DateTime, Effect, Layer, Option, Predicate, Redacted, Ref, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { FetchHttpClient, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { styleText } from "node:util"
import * as Admin from "../Admin.ts"
import { readOr, readRequired, settings } from "../Config.ts"
import * as Layers from "../Layers.ts"
import * as Logging from "../Logging.ts"
import * as Print from "../Print.ts"
import { oneLine } from "../Visible.ts"

const decode = Schema.decodeEffect(Schema.fromJsonString(Event))

const colours = {
  "message.received": "cyan",
  "message.sent": "green",
  "message.updated": "blue",
  "send.failed": "red",
  "conversation.closed": "magenta"
} as const satisfies Record<EventType, string>

const type_width = Math.max(...EventType.literals.map((type) => type.length))

const wordsOf = ({ data, timestamp, type }: Event, isRepeat: boolean): string =>
  [
    styleText("dim", DateTime.formatIso(timestamp)),
    styleText(colours[type], type.padEnd(type_width)),
    Object.entries(data).map(([name, value]) => `${styleText("dim", `${name}=`)}${oneLine(String(value))}`).join(" "),
    ...(isRepeat ? [styleText("yellow", "(again)")] : [])
  ].join("  ")

/** Returns the reason of a failed request, for the user. */
const reasonOf = (error: unknown): string => {
  const body = Predicate.hasProperty(error, "error") ? error.error : error
  const message = Predicate.hasProperty(body, "message") ? String(body.message) : String(body)
  const isUrl = Predicate.hasProperty(body, "param") && body.param === "url"
  return isUrl ? `${message} To reach this machine it must run with WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8.` : message
}

/** Creates a webhook, which is disabled when the scope closes. */
const subscribed = Effect.fnUntraced(function*(input: CreateWebhook) {
  const { webhooks } = yield* Client
  const create = Effect.mapError(
    webhooks.create({ headers: {}, payload: input }),
    (error) => new Admin.Refused({ message: `The service refused the subscription: ${reasonOf(error)}` })
  )
  const disable = Effect.fnUntraced(function*(webhook_id: WebhookId) {
    yield* Effect.ignore(webhooks.disable({ headers: yield* idempotencyKey, params: { webhook_id } }))
  })
  return (yield* Effect.acquireRelease(create, ({ data }) => disable(data.id))).data
})

/** Makes a handler that prints each event with a valid signature, and refuses everything else. */
const receiving = Effect.fnUntraced(function*(secret: Redacted.Redacted, asJson: boolean) {
  const seen = yield* Ref.make<ReadonlySet<string>>(new Set())

  return Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const body = yield* request.text
    if (!(yield* verify(secret, request.headers, body))) {
      yield* Print.note("A request without a valid signature was refused.")
      return HttpServerResponse.empty({ status: 401 })
    }
    const event = yield* decode(body)
    const isRepeat = yield* Ref.modify(seen, (ids) => [ids.has(event.id), new Set(ids).add(event.id)])
    yield* asJson ? Print.line(JSON.stringify(JSON.parse(body))) : Print.styled(wordsOf(event, isRepeat))
    return HttpServerResponse.empty()
  })
})

const listen = Command.make(
  "listen",
  {
    url: Flag.String("url").pipe(Flag.optional, Flag.withDescription("BASE_URL")),
    api_key: Flag.String("api-key").pipe(Flag.optional, Flag.withDescription("API_KEY, with webhooks:manage")),
    port: Flag.Int("port").pipe(Flag.withDefault(0), Flag.withDescription("The port to listen on, at 127.0.0.1")),
    receive_at: Flag.String("receive-at").pipe(
      Flag.optional,
      Flag.withDescription("The URL under which the service reaches this port, such as a tunnel's")
    ),
    event_types: Flag.Literals("event-type", EventType.literals).pipe(
      Flag.atLeast(0),
      Flag.withDescription("May be given several times; without it, all")
    ),
    json: Flag.Boolean("json").pipe(Flag.withDefault(false), Flag.withDescription("Print each event as a line of JSON"))
  },
  Effect.fnUntraced(function*(flags) {
    const base_url = yield* readOr(settings.base_url, "http://127.0.0.1:3000/v1", flags.url)
    const api_key = yield* readRequired(settings.api_key, flags.api_key)
    const client = Client.layer({ base_url, api_key }).pipe(
      Layer.provide(FetchHttpClient.layer),
      Layer.provideMerge(Ids.layer)
    )

    return yield* Effect.gen(function*() {
      const address = yield* HttpServer.addressFormattedWith(Effect.succeed)
      const input = yield* Admin.typed(CreateWebhook, {
        url: Option.getOrElse(flags.receive_at, () => `${address}/`),
        event_types: flags.event_types.length === 0 ? EventType.literals : flags.event_types
      })
      const webhook = yield* subscribed(input)
      const receive = yield* receiving(Redacted.make(webhook.signing_secret), flags.json)
      yield* HttpServer.serveEffect(receive)
      yield* Print.note(`Listening for ${webhook.event_types.join(", ")} at ${webhook.url}`)
      return yield* Effect.never
    }).pipe(Effect.provide([client, Layers.listen({ host: "127.0.0.1", port: flags.port })]), Effect.scoped)
  }, Effect.provide(Logging.layer))
).pipe(
  Command.withDescription("Subscribe to a service's events, print them as they arrive, and unsubscribe at the end")
)

const toJson = Schema.encodeSync(Webhook)

const list = Command.make(
  "list",
  {
    organization: Admin.organization,
    status: Flag.Literals("status", WebhookStatus.literals).pipe(
      Flag.optional,
      Flag.withDescription("only webhooks with this status")
    ),
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, organization, status }) {
    const found = Webhooks.use((webhooks) => webhooks.list({ status: Option.getOrNull(status) }))
    const rows = (yield* Admin.asOperator(organization, found)).map((webhook) => toJson(webhook))
    yield* Print.result(json, rows, Print.table(rows))
  })
).pipe(Command.withDescription("List the 100 most recent webhooks, newest first"))

const disable = Command.make(
  "disable",
  {
    organization: Admin.organization,
    webhook: Flag.String("webhook").pipe(Flag.withSchema(WebhookId), Flag.withDescription("The id of the webhook")),
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, organization, webhook }) {
    const disabled = yield* Admin.asOperator(organization, Webhooks.use((webhooks) => webhooks.disable(webhook))).pipe(
      Effect.catchTag("WebhookNotFound", Admin.refuse("The organization has no such webhook."))
    )
    yield* Print.result(json, toJson(disabled), `Webhook ${disabled.id} (${disabled.url}) is disabled.`)
  })
).pipe(Command.withDescription("Disable a webhook: nothing is posted to it any more"))

export const webhooks = Command.make("webhooks").pipe(
  Command.withDescription("Webhooks of an organization, and their events on this machine"),
  Command.withSubcommands([list, disable, listen])
)
