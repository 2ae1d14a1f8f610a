import { Events } from "@messaging-crm/core/Events"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { paging } from "../api/Envelope.ts"
import * as ErrorMapping from "../api/ErrorMapping.ts"
import * as Responses from "../middleware/Responses.ts"
import { requiring } from "./Requirements.ts"

/** Layer that serves `/events`. */
export const layer = HttpApiBuilder.group(
  Api,
  "events",
  Effect.fnUntraced(function*(handlers) {
    const events = yield* Events

    return handlers.handleAll({
      list: ({ endpoint, query }) =>
        events.list({ ...query, ...paging(query) }).pipe(
          Effect.flatMap(Responses.body(endpoint)),
          Effect.catchTag("CursorInvalid", ErrorMapping.cursorInvalid)
        )
    })
  })
).pipe(requiring(Events))
