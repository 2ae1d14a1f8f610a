import { encoder } from "@messaging-crm/core/Codecs"
import { EventType } from "@messaging-crm/core/Events"
import { WebhookId } from "@messaging-crm/core/Ids"
import { Webhook, Webhooks, WebhookStatus } from "@messaging-crm/core/Webhooks"
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as Admin from "../cli/Admin.ts"
import * as Flags from "../cli/Flags.ts"
import * as Print from "../cli/Print.ts"
import * as Logging from "../observability/Logging.ts"
import { check, readRequired, readWithDefault, settings } from "../settings/Config.ts"

const listen = Command.make(
  "listen",
  {
    url: Flags.forSetting("url", settings.base_url),
    api_key: Flags.forSetting("api-key", settings.api_key),
    port: Flags.integer("port", 0, 65_535).pipe(
      Flags.withDefault(0, "Port to listen on at 127.0.0.1; 0 selects a free port")
    ),
    receive_at: Flags.webUrl("receive-at").pipe(
      Flags.optional("URL to which the service posts events, such as the address of a tunnel", "the port at 127.0.0.1")
    ),
    forward_to: Flags.webUrl("forward-to").pipe(
      Flags.optional(
        "URL that receives each event with its signature; the command returns the status of this URL to the service",
        "none"
      )
    ),
    event_types: Flag.Literals("event-type", EventType.literals).pipe(
      Flags.repeated("Event type", "the types of messages and sends, and conversation.closed")
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
  Command.withDescription("Subscribe to a service's events, print them, and unsubscribe on exit"),
  Command.withExamples([
    { command: "messaging-crm webhooks listen --api-key $API_KEY" },
    { command: "messaging-crm webhooks listen --api-key $API_KEY --forward-to http://127.0.0.1:8080/webhook" }
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
  Command.withDescription("List and disable webhooks, and receive their events on this machine"),
  Command.withSubcommands([list, disable, listen])
)
