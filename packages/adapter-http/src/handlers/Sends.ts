import { Sends } from "@messaging-crm/core/Sends"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { paging } from "../api/Envelope.ts"
import * as ErrorMapping from "../api/ErrorMapping.ts"
import * as Responses from "../middleware/Responses.ts"
import { requiring } from "./Requirements.ts"

/** Layer that serves `/sends`. */
export const layer = HttpApiBuilder.group(
  Api,
  "sends",
  Effect.fnUntraced(function*(handlers) {
    const sends = yield* Sends

    return handlers.handleAll({
      list: ({ endpoint, query }) =>
        sends.list({ ...query, ...paging(query) }).pipe(
          Effect.flatMap(Responses.page(endpoint)),
          ErrorMapping.translate
        ),
      get: ({ endpoint, params }) =>
        sends.get(params.send_id).pipe(
          Effect.flatMap(Responses.single(endpoint)),
          ErrorMapping.translate
        )
    })
  })
).pipe(requiring(Sends))
