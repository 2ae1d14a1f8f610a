import { Members } from "@messaging-crm/core/Members"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import * as Answers from "../middleware/Answers.ts"
import { requiring } from "./Requirements.ts"

/** Layer that answers `/members`. */
export const layer = HttpApiBuilder.group(
  Api,
  "members",
  Effect.fnUntraced(function*(handlers) {
    const members = yield* Members

    return handlers.handleAll({
      list: ({ endpoint }) => Effect.flatMap(members.list, Answers.complete(endpoint))
    })
  })
).pipe(requiring(Members))
