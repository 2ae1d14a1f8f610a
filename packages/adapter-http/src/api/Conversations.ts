import { Conversation } from "@messaging-crm/core/Conversations"
import { ConversationId } from "@messaging-crm/core/Ids"
import { Send, StartConversation } from "@messaging-crm/core/Sends"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Single } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { IdempotencyPolicy, ReadsTemplates, RequiredIdempotencyKey, RequiredScope } from "./Pipeline.ts"

/** `/conversations`: start and get (spec §4, §4.3). */
export class ConversationsGroup extends HttpApiGroup.make("conversations")
  .add(
    HttpApiEndpoint.post("start", "/conversations", {
      headers: RequiredIdempotencyKey,
      payload: StartConversation,
      success: Single(Send).pipe(HttpApiSchema.status(202)),
      error: Errors.ProviderUnavailable
    })
      .annotate(RequiredScope, "messages:send")
      .annotate(IdempotencyPolicy, "required")
      .annotate(ReadsTemplates, true)
      .annotate(OpenApi.Summary, "Start a conversation"),
    HttpApiEndpoint.get("get", "/conversations/:conversation_id", {
      params: { conversation_id: ConversationId },
      success: Single(Conversation),
      error: Errors.NotFound
    })
      .annotate(RequiredScope, "conversations:read")
      .annotate(OpenApi.Summary, "Get a conversation")
  )
{}
