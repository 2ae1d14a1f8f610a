import { CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import { Sends } from "@messaging-crm/core/Sends"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { paging } from "../api/Envelope.ts"
import * as ErrorMapping from "../api/ErrorMapping.ts"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import * as Responses from "../middleware/Responses.ts"
import { requiring } from "./Requirements.ts"

/** Layer that serves `/conversations`. */
export const layer = HttpApiBuilder.group(
  Api,
  "conversations",
  Effect.fnUntraced(function*(handlers) {
    const conversations = yield* Conversations
    const sends = yield* Sends

    return handlers.handleAll({
      list: ({ endpoint, query: { status, unassigned, ...query } }) =>
        unassigned !== undefined && query.assigned_user_id !== undefined
          ? Errors.failWith(Texts.unassignedExcluded)
          : conversations.list({
            ...query,
            ...paging(query),
            status: status === undefined || status === "all" ? null : status,
            unassigned: unassigned === undefined ? null : true
          }).pipe(
            Effect.flatMap(Responses.page(endpoint)),
            ErrorMapping.translate
          ),
      start: ({ endpoint, payload }) =>
        Responses.written(endpoint)((respond) => sends.start(payload, respond)).pipe(
          Effect.catchTag("ChannelTypeUnsuited", () => Errors.failWith(Texts.templateChannelRequired))
        ),
      get: ({ endpoint, params }) =>
        conversations.get(params.conversation_id).pipe(
          Effect.flatMap(Responses.single(endpoint)),
          ErrorMapping.translate
        ),
      assign: ({ endpoint, params, payload }) =>
        Responses.written(endpoint)((respond) => conversations.assign(params.conversation_id, payload, respond)),
      close: ({ endpoint, params, payload }) =>
        Responses.written(endpoint)((respond) =>
          conversations.close(params.conversation_id, payload ?? CloseConversation.make({}), respond)
        ),
      reopen: ({ endpoint, params }) =>
        Responses.written(endpoint)((respond) => conversations.reopen(params.conversation_id, respond))
    })
  })
).pipe(requiring(Conversations, Sends))
