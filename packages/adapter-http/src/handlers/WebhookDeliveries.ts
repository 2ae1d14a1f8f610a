import { WebhookDeliveries } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookReplays } from "@messaging-crm/core/WebhookReplays"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import * as ErrorMapping from "../api/ErrorMapping.ts"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import * as Responses from "../middleware/Responses.ts"
import { requiring } from "./Requirements.ts"

const cannotPost = () => Errors.failWith(Texts.nothingPosted)

/** Layer that serves `/webhooks/{webhook_id}/deliveries`. */
export const layer = HttpApiBuilder.group(
  Api,
  "webhook_deliveries",
  Effect.fnUntraced(function*(handlers) {
    const deliveries = yield* WebhookDeliveries
    const replays = yield* WebhookReplays

    return handlers.handleAll({
      list: ({ endpoint, params }) =>
        deliveries.list(params.webhook_id).pipe(
          Effect.flatMap(Responses.complete(endpoint)),
          ErrorMapping.translate
        ),
      retry: ({ endpoint, params }) =>
        Responses.written(endpoint)((respond) => deliveries.retry(params.webhook_id, params.delivery_id, respond)).pipe(
          Effect.catchTag("WebhookDisabled", () => Errors.failWith(Texts.deliveryNotRetried))
        ),
      test: ({ endpoint, params }) =>
        Responses.written(endpoint)((respond) => deliveries.test(params.webhook_id, respond)).pipe(
          Effect.catchTag("WebhookDisabled", cannotPost)
        ),
      replay: ({ endpoint, params, payload }) =>
        Responses.written(endpoint)((respond) => replays.start(params.webhook_id, payload, respond)).pipe(
          Effect.catchTag("WebhookDisabled", cannotPost)
        )
    })
  })
).pipe(requiring(WebhookDeliveries, WebhookReplays))
