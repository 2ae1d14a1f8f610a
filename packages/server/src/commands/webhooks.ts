import { encoder } from "@messaging-crm/core/Codecs"
import { EventType } from "@messaging-crm/core/Events"
import { WebhookId } from "@messaging-crm/core/Ids"
import { CreatedWebhook, CreateWebhook, Webhook, Webhooks, WebhookStatus } from "@messaging-crm/core/Webhooks"
import { Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import * as Admin from "../cli/Admin.ts"
import * as Flags from "../cli/Flags.ts"
import * as Print from "../cli/Print.ts"
import * as Logging from "../observability/Logging.ts"
import { check, readRequired, readWithDefault, settings } from "../settings/Config.ts"

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** A flag that takes a secret in the form of Standard Webhooks. */
const signingSecret = Flag.String("signing-secret").pipe(
  Flag.filter(
    (value) => /^whsec_(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value),
    () => "Expected whsec_ and base64"
  ),
  Flag.map(Redacted.make)
)

const listen = Command.make(
  "listen",
  {
    url: Flags.forSetting("url", settings.base_url),
    api_key: Flags.forSetting("api-key", settings.api_key),
    forward_to: Flags.webUrl("forward-to").pipe(
      Flags.optional("URL on this machine to which the command posts each event, signed as webhooks are", "none")
    ),
    allow_remote: Flag.Boolean("allow-remote").pipe(
      Flags.withDefault(false, "Accept a --forward-to on another machine")
    ),
    signing_secret: signingSecret.pipe(
      Flags.optional("Secret that signs the events: whsec_ and base64", "a new one, which the command shows")
    ),
    event_types: Flag.Literals("event-type", EventType.literals).pipe(Flags.repeated("Event type", "all")),
    after: Flag.String("after").pipe(
      Flags.withDefault("now", "Where to start: now, start, or the cursor that the command shows when it stops")
    ),
    event: Flag.String("event").pipe(
      Flag.filter((value) => uuid.test(value), () => "Expected the ID of an event"),
      Flags.optional("ID of a stored event; the command posts it and exits", "none")
    ),
    json: Flag.Boolean("json").pipe(Flags.withDefault(false, "Print each event as a line of JSON"))
  },
  Effect.fnUntraced(function*({ api_key, url, ...flags }) {
    yield* check(["api_key"], { base_url: url, api_key })
    const options = {
      ...flags,
      base_url: yield* readWithDefault(settings.base_url, url),
      api_key: yield* readRequired(settings.api_key, api_key)
    }
    const WebhookListener = yield* Effect.promise(() => import("../cli/WebhookListener.ts"))
    return yield* WebhookListener.listen(options)
  }, Effect.provide(Logging.layer))
).pipe(
  Command.withDescription(
    "Print the events of a service, and post them to an endpoint on this machine, without a tunnel"
  ),
  Command.withExamples([
    { command: "API_KEY=… messaging-crm webhooks listen --url https://crm.example.com/v1" },
    { command: "API_KEY=… messaging-crm webhooks listen --forward-to http://127.0.0.1:8080/webhook" },
    { command: "API_KEY=… messaging-crm webhooks listen --forward-to http://127.0.0.1:8080/webhook --event $EVENT_ID" }
  ])
)

const toJson = encoder(Webhook)

const list = Command.make(
  "list",
  {
    organization: Admin.organization,
    status: Flag.Literals("status", WebhookStatus.literals).pipe(
      Flags.optional("Only webhooks with this status", "all")
    ),
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, organization, status }) {
    const found = Webhooks.use((webhooks) => webhooks.list({ status: Option.getOrNull(status) }))
    const rows = (yield* Admin.asOperator(organization, found)).map((webhook) => toJson(webhook))
    yield* Print.result(json, rows, Print.table(rows))
  })
).pipe(
  Command.withDescription("List the 100 most recent webhooks, newest first"),
  Command.withExamples([
    { command: "messaging-crm webhooks list --organization $ORGANIZATION_ID" },
    { command: "messaging-crm webhooks list --organization $ORGANIZATION_ID --status disabled --json" }
  ])
)

const toCreatedJson = encoder(CreatedWebhook)

const create = Command.make(
  "create",
  {
    organization: Admin.organization,
    url: Flag.String("url").pipe(
      Flag.withDescription("URL that receives events: https://…, or nats://SUBJECT if NATS_SERVERS is set")
    ),
    event_types: Flag.Literals("event-type", EventType.literals).pipe(
      Flag.atLeast(1),
      Flag.withDescription("Event type; repeatable")
    ),
    include_resource: Flag.Boolean("include-resource").pipe(
      Flags.withDefault(false, "Add the message, conversation, or contact to each event")
    ),
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, organization, ...flags }) {
    const input = yield* Admin.typed(CreateWebhook, flags)
    const created = yield* Admin.asOperator(organization, Webhooks.use((webhooks) => webhooks.create(input))).pipe(
      Effect.catchTags({
        WebhookUrlRejected: ({ reason }) => Admin.reject(reason)(),
        TooManyWebhooks: ({ limit }) => Admin.reject(`The organization has ${limit} active webhooks. Disable one.`)(),
        InsufficientScope: Effect.die
      })
    )
    yield* Print.result(
      json,
      toCreatedJson(created),
      `${created.signing_secret}\nThe signing secret is not shown again. The ID of the webhook is ${created.id}.`
    )
  })
).pipe(
  Command.withDescription("Create a webhook and print its signing secret once"),
  Command.withExamples([
    {
      command:
        "messaging-crm webhooks create --organization $ORGANIZATION_ID --url https://shop.example/crm --event-type message.received"
    },
    {
      command:
        "messaging-crm webhooks create --organization $ORGANIZATION_ID --url nats://crm.acme --event-type message.received --event-type send.failed --json"
    }
  ])
)

const disable = Command.make(
  "disable",
  {
    organization: Admin.organization,
    webhook: Flags.id("webhook", WebhookId, "ID of the webhook"),
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, organization, webhook }) {
    const disabled = yield* Admin.asOperator(organization, Webhooks.use((webhooks) => webhooks.disable(webhook))).pipe(
      Effect.catchTag(
        "WebhookNotFound",
        Admin.reject("No webhook of this organization has this ID. Find the ID with: messaging-crm webhooks list.")
      )
    )
    yield* Print.result(json, toJson(disabled), `Webhook ${disabled.id} (${disabled.url}) is disabled.`)
  })
).pipe(
  Command.withDescription("Disable a webhook; its pending deliveries fail with `webhook_disabled`"),
  Command.withExamples([
    { command: "messaging-crm webhooks disable --organization $ORGANIZATION_ID --webhook $WEBHOOK_ID" },
    { command: "messaging-crm webhooks disable --organization $ORGANIZATION_ID --webhook $WEBHOOK_ID --json" }
  ])
)

export const webhooks = Command.make("webhooks").pipe(
  Command.withDescription("Create, list, and disable webhooks, and receive their events on this machine"),
  Command.withSubcommands([create, list, disable, listen])
)
