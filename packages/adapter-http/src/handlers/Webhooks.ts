import { Webhooks } from "@messaging-crm/core/Webhooks"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import * as Errors from "../api/Errors.ts"
import { single } from "../middleware/Answers.ts"

/** Layer that answers `/webhooks`. */
export const layer = HttpApiBuilder.group(
  Api,
  "webhooks",
  Effect.fnUntraced(function*(handlers) {
    const webhooks = yield* Webhooks

    return handlers.handleAll({
      list: () => Effect.map(webhooks.list, (data) => ({ data, next_cursor: null })),
      create: ({ payload }) =>
        webhooks.create(payload).pipe(
          Effect.flatMap(single),
          Effect.catchTags({
            TooManyWebhooks: ({ limit }) =>
              Errors.fail(
                "conflict",
                `The organization has ${limit} active webhooks already, as many as it may have. Disable one first.`
              ),
            WebhookUrlRefused: ({ reason }) => Errors.invalid("url", reason)
          })
        ),
      disable: ({ params }) =>
        webhooks.disable(params.webhook_id).pipe(
          Effect.flatMap(single),
          Effect.catchTag("WebhookNotFound", Errors.absent("webhook"))
        )
    })
  })
)
