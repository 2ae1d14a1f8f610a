import { AssignConversation, CloseConversation, Conversation } from "@messaging-crm/core/Conversations"
import { ConversationId, MemberId } from "@messaging-crm/core/Ids"
import { Send, StartConversation } from "@messaging-crm/core/Sends"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { cursor, List, page_size, Single } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { IdempotencyPolicy, OptionalBody, ReadsTemplates, RequiredIdempotencyKey, RequiredScope } from "./Pipeline.ts"

/** What a list of conversations can be narrowed by (spec §4.1). */
const filters = {
  status: Schema.optionalKey(Schema.Literals(["all", "open", "closed"])),
  assigned_user_id: Schema.optionalKey(MemberId)
}

/** `/conversations`: list, start, get, assign, close and reopen (spec §4, §4.3, §4.5, §4.6). */
export class ConversationsGroup extends HttpApiGroup.make("conversations")
  .add(
    HttpApiEndpoint.get("list", "/conversations", {
      query: { cursor, page_size, ...filters },
      success: List(Conversation)
    })
      .annotate(RequiredScope, "conversations:read")
      .annotate(OpenApi.Summary, "List conversations"),
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
      .annotate(OpenApi.Summary, "Get a conversation"),
    HttpApiEndpoint.patch("assign", "/conversations/:conversation_id/assignment", {
      headers: RequiredIdempotencyKey,
      params: { conversation_id: ConversationId },
      payload: AssignConversation,
      success: Single(Conversation),
      error: Errors.NotFound
    })
      .annotate(RequiredScope, "conversations:write")
      .annotate(IdempotencyPolicy, "required")
      .annotate(OpenApi.Summary, "Assign a conversation"),
    HttpApiEndpoint.post("close", "/conversations/:conversation_id/close", {
      headers: RequiredIdempotencyKey,
      params: { conversation_id: ConversationId },
      payload: [CloseConversation, Schema.Null],
      success: Single(Conversation),
      error: Errors.NotFound
    })
      .annotate(RequiredScope, "conversations:write")
      .annotate(IdempotencyPolicy, "required")
      .annotate(OptionalBody, true)
      .annotate(OpenApi.Summary, "Close a conversation"),
    HttpApiEndpoint.post("reopen", "/conversations/:conversation_id/reopen", {
      headers: RequiredIdempotencyKey,
      params: { conversation_id: ConversationId },
      success: Single(Conversation),
      error: Errors.NotFound
    })
      .annotate(RequiredScope, "conversations:write")
      .annotate(IdempotencyPolicy, "required")
      .annotate(OpenApi.Summary, "Reopen a conversation")
  )
{}
