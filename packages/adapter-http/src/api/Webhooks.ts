import { WebhookId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { CreatedWebhook, CreateWebhook, Webhook, WebhookStatus } from "@messaging-crm/core/Webhooks"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { List, Single } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Examples from "./Examples.ts"
import { keyHeaderOf, Runs } from "./Pipeline.ts"

/** The filter of the list (contract §14.4). */
const status = Schema.optionalKey(
  Schema.Literals(["all", ...WebhookStatus.literals]).annotate({
    description: "Webhooks with this status.",
    default: "all",
    examples: ["active"]
  })
)

/** `/webhooks`: list, create and disable (contract §14). */
export class WebhooksGroup extends HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.get("list", "/webhooks", {
      query: { status },
      success: List(Webhook)
    })
      .annotate(Runs, "webhooks.list")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listWebhooks",
          summary: "List webhooks",
          description:
            `Returns the ${limits.webhook_list_size} most recent webhooks, newest first, without their secrets. All active ones are among those with \`status=active\`.`
        })
      )
      .annotate(Examples.Example, { answer: Examples.all(Examples.webhook) }),
    HttpApiEndpoint.post("create", "/webhooks", {
      headers: keyHeaderOf("webhooks.create"),
      payload: CreateWebhook,
      success: Single(CreatedWebhook),
      error: Errors.Conflict
    })
      .annotate(Runs, "webhooks.create")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "createWebhook",
          summary: "Create a webhook",
          description:
            `Subscribes a public https endpoint to events. Store \`signing_secret\`: it is not shown again. A retry without an \`Idempotency-Key\` creates a second webhook. An organization has at most ${limits.webhooks_active_max} active webhooks; a further one fails with \`conflict\`.`
        })
      )
      .annotate(Examples.Example, {
        requests: { webhook: Examples.createWebhook },
        answer: Examples.one(Examples.createdWebhook),
        conflict: {
          message:
            `The organization has reached its limit of ${limits.webhooks_active_max} active webhooks. Disable one first.`,
          param: null
        }
      }),
    HttpApiEndpoint.delete("disable", "/webhooks/:webhook_id", {
      headers: keyHeaderOf("webhooks.disable"),
      params: { webhook_id: WebhookId },
      success: Single(Webhook),
      error: Errors.NotFound
    })
      .annotate(Runs, "webhooks.disable")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "disableWebhook",
          summary: "Disable a webhook",
          description:
            "Disables the webhook permanently. Its pending deliveries fail, and it stays in the list. Disabling it again changes nothing."
        })
      )
      .annotate(Examples.Example, { answer: Examples.one(Examples.disabledWebhook) })
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Webhooks",
      description: "Subscriptions to events. The service posts each event, signed according to Standard Webhooks.",
      externalDocs: { url: "https://www.standardwebhooks.com", description: "Standard Webhooks and its libraries" }
    })
  )
{}
