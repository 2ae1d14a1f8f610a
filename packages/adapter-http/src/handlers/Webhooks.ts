import { Webhooks } from "@messaging-crm/core/Webhooks"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import * as ErrorMapping from "../api/ErrorMapping.ts"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import * as Responses from "../middleware/Responses.ts"
import { requiring } from "./Requirements.ts"

const cannotChange = () => Errors.failWith(Texts.webhookNotChanged)

/** Layer that serves `/webhooks`. */
export const layer = HttpApiBuilder.group(
  Api,
  "webhooks",
  Effect.fnUntraced(function*(handlers) {
    const webhooks = yield* Webhooks

    return handlers.handleAll({
      list: ({ endpoint, query }) =>
        webhooks.list({ status: query.status === undefined || query.status === "all" ? null : query.status }).pipe(
          Effect.flatMap(Responses.complete(endpoint))
        ),
      create: ({ endpoint, payload }) => Responses.written(endpoint)((respond) => webhooks.create(payload, respond)),
      get: ({ endpoint, params }) =>
        webhooks.get(params.webhook_id).pipe(
          Effect.flatMap(Responses.single(endpoint)),
          ErrorMapping.translate
        ),
      update: ({ endpoint, params, payload }) =>
        Responses.written(endpoint)((respond) => webhooks.update(params.webhook_id, payload, respond)).pipe(
          Effect.catchTag("WebhookDisabled", cannotChange)
        ),
      rotateSecret: ({ endpoint, params }) =>
        Responses.written(endpoint)((respond) => webhooks.rotateSecret(params.webhook_id, respond)).pipe(
          Effect.catchTag("WebhookDisabled", cannotChange)
        ),
      disable: ({ endpoint, params }) =>
        Responses.written(endpoint)((respond) => webhooks.disable(params.webhook_id, respond))
    })
  })
).pipe(requiring(Webhooks))
