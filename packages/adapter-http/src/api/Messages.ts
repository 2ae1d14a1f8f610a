import { ConversationId, MessageId } from "@messaging-crm/core/Ids"
import { LinkedMessage } from "@messaging-crm/core/Messages"
import { Send, SendMessage } from "@messaging-crm/core/Sends"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { cursor, List, Single } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { IdempotencyPolicy, ReadsTemplates, RequiredIdempotencyKey, RequiredScope } from "./Pipeline.ts"

/** `/conversations/{conversation_id}/messages`: list, get and send (spec §4, §4.4). */
export class MessagesGroup extends HttpApiGroup.make("messages")
  .add(
    HttpApiEndpoint.get("list", "/conversations/:conversation_id/messages", {
      params: { conversation_id: ConversationId },
      query: { cursor },
      success: List(LinkedMessage),
      error: Errors.NotFound
    })
      .annotate(RequiredScope, "conversations:read")
      .annotate(OpenApi.Summary, "List messages"),
    HttpApiEndpoint.get("get", "/conversations/:conversation_id/messages/:message_id", {
      params: { conversation_id: ConversationId, message_id: MessageId },
      success: Single(LinkedMessage),
      error: Errors.NotFound
    })
      .annotate(RequiredScope, "conversations:read")
      .annotate(OpenApi.Summary, "Get a message"),
    HttpApiEndpoint.post("send", "/conversations/:conversation_id/messages", {
      headers: RequiredIdempotencyKey,
      params: { conversation_id: ConversationId },
      payload: SendMessage,
      success: Single(Send).pipe(HttpApiSchema.status(202)),
      error: [Errors.NotFound, Errors.Conflict, Errors.ProviderUnavailable]
    })
      .annotate(RequiredScope, "messages:send")
      .annotate(IdempotencyPolicy, "required")
      .annotate(ReadsTemplates, true)
      .annotate(OpenApi.Summary, "Send a message")
  )
{}
