import { Channels } from "@messaging-crm/core/Channels"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import * as Responses from "../middleware/Responses.ts"
import { requiring } from "./Requirements.ts"

/** Layer that serves `/channels`. */
export const layer = HttpApiBuilder.group(
  Api,
  "channels",
  Effect.fnUntraced(function*(handlers) {
    const channels = yield* Channels

    return handlers.handleAll({
      list: ({ endpoint }) => Effect.flatMap(channels.list, Responses.complete(endpoint))
    })
  })
).pipe(requiring(Channels))
