import { Webhooks } from "@messaging-crm/core/Webhooks"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import * as Errors from "../api/Errors.ts"

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
          Effect.map((data) => ({ data })),
          Effect.catchTag("WebhookUrlRefused", ({ reason }) => Errors.invalid("url", reason))
        ),
      disable: ({ params }) =>
        webhooks.disable(params.webhook_id).pipe(
          Effect.map((data) => ({ data })),
          Effect.catchTag("WebhookNotFound", Errors.absent("webhook"))
        )
    })
  })
)
