import { Channels } from "@messaging-crm/core/Channels"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"

/** Layer that answers `/channels`. */
export const layer = HttpApiBuilder.group(
  Api,
  "channels",
  Effect.fnUntraced(function*(handlers) {
    const channels = yield* Channels

    return handlers.handleAll({
      list: () => Effect.map(channels.list, (data) => ({ data, next_cursor: null }))
    })
  })
)
