import { WebhookId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { CreatedWebhook, CreateWebhook, UpdateWebhook, Webhook, WebhookStatus } from "@messaging-crm/core/Webhooks"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { List, Single } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Texts from "./ErrorTexts.ts"
import * as Examples from "./Examples.ts"
import { keyHeaderOf, Runs } from "./Pipeline.ts"
import * as WebhookExamples from "./WebhookExamples.ts"

/** The filter of the list (contract §14.4). */
const status = Schema.optionalKey(
  Schema.Literals(["all", ...WebhookStatus.literals]).annotate({
    description: "Webhooks with this status.",
    default: "all",
    examples: ["active"]
  })
)

const params = { webhook_id: WebhookId }

/** `/webhooks`: list, create, get, update and disable (contract §14). */
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
            `Returns the ${limits.webhook_list_size} most recent webhooks, newest first, without their secrets. With \`status=active\`, returns every active webhook.`
        })
      )
      .annotate(Examples.Example, { response: Examples.all(WebhookExamples.webhook) }),
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
            `Subscribes a public https endpoint to events. Store \`signing_secret\`: it is not shown again. A retry without an \`Idempotency-Key\` creates a second webhook. An organization has at most ${limits.webhooks_active_max} active webhooks; creating another one fails with \`conflict\`.`
        })
      )
      .annotate(Examples.Example, {
        requests: { webhook: WebhookExamples.createWebhook },
        response: Examples.one(WebhookExamples.createdWebhook),
        conflict: Texts.tooManyWebhooks(limits.webhooks_active_max)
      }),
    HttpApiEndpoint.get("get", "/webhooks/:webhook_id", { params, success: Single(Webhook), error: Errors.NotFound })
      .annotate(Runs, "webhooks.get")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getWebhook",
          summary: "Get a webhook",
          description: "Returns the webhook, active or disabled, without its secret."
        })
      )
      .annotate(Examples.Example, { response: Examples.one(WebhookExamples.webhook) }),
    HttpApiEndpoint.patch("update", "/webhooks/:webhook_id", {
      headers: keyHeaderOf("webhooks.update"),
      params,
      payload: UpdateWebhook,
      success: Single(Webhook),
      error: [Errors.NotFound, Errors.Conflict]
    })
      .annotate(Runs, "webhooks.update")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "updateWebhook",
          summary: "Update a webhook",
          description:
            "Changes the URL, the event types, or `include_resource` of an active webhook. Pending deliveries go to the new URL, and the webhook's failures and pause are reset. The secret does not change."
        })
      )
      .annotate(Examples.Example, {
        requests: { event_types: WebhookExamples.updateWebhook },
        response: Examples.one(WebhookExamples.webhook),
        conflict: Texts.webhookNotChanged
      }),
    HttpApiEndpoint.post("rotateSecret", "/webhooks/:webhook_id/rotate_secret", {
      headers: keyHeaderOf("webhooks.rotate_secret"),
      params,
      success: Single(CreatedWebhook),
      error: [Errors.NotFound, Errors.Conflict]
    })
      .annotate(Runs, "webhooks.rotate_secret")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "rotateWebhookSecret",
          summary: "Rotate the signing secret",
          description:
            `Replaces the signing secret. Store \`signing_secret\`: it is not shown again. For 24 hours, each request has signatures of the new and of the old secret, separated by a space. At most ${limits.webhook_secrets_max} secrets sign at a time; another rotation fails with \`conflict\`.`
        })
      )
      .annotate(Examples.Example, {
        response: Examples.one(WebhookExamples.createdWebhook),
        conflict: Texts.tooManySecrets(limits.webhook_secrets_max)
      }),
    HttpApiEndpoint.delete("disable", "/webhooks/:webhook_id", {
      headers: keyHeaderOf("webhooks.disable"),
      params,
      success: Single(Webhook),
      error: [Errors.NotFound, Errors.Conflict]
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
      .annotate(Examples.Example, { response: Examples.one(WebhookExamples.disabledWebhook) })
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Webhooks",
      description: "Subscriptions to events. The service posts each event, signed according to Standard Webhooks.",
      externalDocs: { url: "https://www.standardwebhooks.com", description: "Standard Webhooks and its libraries" }
    })
  )
{}
