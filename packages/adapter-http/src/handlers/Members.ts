import { Members } from "@messaging-crm/core/Members"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import * as Responses from "../middleware/Responses.ts"
import { requiring } from "./Requirements.ts"

/** Layer that serves `/members`. */
export const layer = HttpApiBuilder.group(
  Api,
  "members",
  Effect.fnUntraced(function*(handlers) {
    const members = yield* Members

    return handlers.handleAll({
      list: ({ endpoint }) => Effect.flatMap(members.list, Responses.complete(endpoint))
    })
  })
).pipe(requiring(Members))
