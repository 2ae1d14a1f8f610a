import { Members } from "@messaging-crm/core/Members"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"

/** Layer that answers `/members`. */
export const layer = HttpApiBuilder.group(
  Api,
  "members",
  Effect.fnUntraced(function*(handlers) {
    const members = yield* Members

    return handlers.handleAll({
      list: () => Effect.map(members.list, (data) => ({ data, next_cursor: null }))
    })
  })
)
