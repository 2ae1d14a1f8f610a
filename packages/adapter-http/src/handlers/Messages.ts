import { Messages } from "@messaging-crm/core/Messages"
import { Sends } from "@messaging-crm/core/Sends"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { givenCursor } from "../api/Envelope.ts"
import * as Errors from "../api/Errors.ts"
import * as Refusals from "./Refusals.ts"

/** Layer that answers `/conversations/{conversation_id}/messages`. */
export const layer = HttpApiBuilder.group(
  Api,
  "messages",
  Effect.fnUntraced(function*(handlers) {
    const messages = yield* Messages
    const sends = yield* Sends

    return handlers.handleAll({
      list: ({ params, query }) =>
        messages.list(params.conversation_id, givenCursor(query.cursor)).pipe(
          Effect.catchTags({
            ConversationNotFound: Errors.absent("conversation"),
            CursorInvalid: Refusals.cursorInvalid
          })
        ),
      get: ({ params }) =>
        messages.get(params.conversation_id, params.message_id).pipe(
          Effect.map((data) => ({ data })),
          Effect.catchTag("MessageNotFound", Errors.absent("message"))
        ),
      send: ({ params, payload }) =>
        sends.send(params.conversation_id, payload).pipe(
          Effect.map((data) => ({ data })),
          Effect.catchTags({
            ...Refusals.template,
            ChannelTypeUnsuited: () =>
              Errors.invalid("type", "Templates can be sent on phone_messaging channels only; send a text."),
            ConversationNotFound: Errors.absent("conversation"),
            ReplyWindowClosed: () =>
              Errors.fail(
                "conflict",
                "The contact has not written in the last 24 hours, so only a template may be sent.",
                "type"
              )
          })
        )
    })
  })
)
