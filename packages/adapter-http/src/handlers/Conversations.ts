import { Conversations } from "@messaging-crm/core/Conversations"
import { Sends } from "@messaging-crm/core/Sends"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import * as Errors from "../api/Errors.ts"
import * as Refusals from "./Refusals.ts"

/** Layer that answers `/conversations`. */
export const layer = HttpApiBuilder.group(
  Api,
  "conversations",
  Effect.fnUntraced(function*(handlers) {
    const conversations = yield* Conversations
    const sends = yield* Sends

    return handlers.handleAll({
      start: ({ payload }) =>
        sends.start(payload).pipe(
          Effect.map((data) => ({ data })),
          Effect.catchTags({
            ...Refusals.template,
            ChannelTypeUnsuited: () =>
              Errors.invalid("channel_id", "channel_id must be a phone_messaging channel. See GET /channels."),
            ReferenceUnknown: Refusals.referenceUnknown
          })
        ),
      get: ({ params }) =>
        conversations.get(params.conversation_id).pipe(
          Effect.map((data) => ({ data })),
          Effect.catchTag("ConversationNotFound", Errors.absent("conversation"))
        )
    })
  })
)
