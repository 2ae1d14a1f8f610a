import { Templates } from "@messaging-crm/core/Templates"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import * as ErrorMapping from "../api/ErrorMapping.ts"
import * as Responses from "../middleware/Responses.ts"
import { requiring } from "./Requirements.ts"

/** Layer that serves `/templates`. */
export const layer = HttpApiBuilder.group(
  Api,
  "templates",
  Effect.fnUntraced(function*(handlers) {
    const templates = yield* Templates

    return handlers.handleAll({
      list: ({ endpoint }) =>
        templates.list.pipe(
          Effect.flatMap(Responses.complete(endpoint)),
          ErrorMapping.translate
        )
    })
  })
).pipe(requiring(Templates))
