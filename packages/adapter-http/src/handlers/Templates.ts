import { Templates } from "@messaging-crm/core/Templates"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import * as Errors from "../api/Errors.ts"

/** Layer that answers `/templates`. */
export const layer = HttpApiBuilder.group(
  Api,
  "templates",
  Effect.fnUntraced(function*(handlers) {
    const templates = yield* Templates

    return handlers.handleAll({
      list: () =>
        templates.list.pipe(
          Effect.map((data) => ({ data, next_cursor: null })),
          Effect.catchTag("ProviderUnavailable", Errors.providerUnavailable)
        )
    })
  })
)
