import { AssignConversation, CloseConversation, Conversation } from "@messaging-crm/core/Conversations"
import { ChannelId, ContactId, ConversationId, MemberId } from "@messaging-crm/core/Ids"
import { Send, StartConversation } from "@messaging-crm/core/Sends"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import * as ConversationExamples from "./ConversationExamples.ts"
import { cursor, List, page_size, Single } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Examples from "./Examples.ts"
import { keyHeaderOf, OptionalBody, Runs } from "./Pipeline.ts"

/** The filters of the list of conversations (contract §10.6). */
const filters = {
  status: Schema.optionalKey(
    Schema.Literals(["all", "open", "closed"]).annotate({
      description: "Conversations in this state.",
      default: "all",
      examples: ["open"]
    })
  ),
  assigned_user_id: Schema.optionalKey(
    MemberId.pipe(Schema.annotateEncoded({ description: "Conversations that are assigned to this member." }))
  ),
  unassigned: Schema.optionalKey(
    Schema.Literal("true").annotate({
      description: "Unassigned conversations. Cannot be combined with `assigned_user_id`.",
      examples: ["true"]
    })
  ),
  contact_id: Schema.optionalKey(
    ContactId.pipe(Schema.annotateEncoded({ description: "Conversations with this contact." }))
  ),
  channel_id: Schema.optionalKey(
    ChannelId.pipe(Schema.annotateEncoded({ description: "Conversations on this channel." }))
  )
}

/** `/conversations`: list, start, get, assign, close and reopen (contract §10). */
export class ConversationsGroup extends HttpApiGroup.make("conversations")
  .add(
    HttpApiEndpoint.get("list", "/conversations", {
      query: { cursor, page_size, ...filters },
      success: List(Conversation)
    })
      .annotate(Runs, "conversations.list")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listConversations",
          summary: "List conversations",
          description: "Returns conversations, latest activity first. A conversation must match all filters."
        })
      )
      .annotate(Examples.Example, { response: Examples.page(ConversationExamples.conversation) }),
    HttpApiEndpoint.post("start", "/conversations", {
      headers: keyHeaderOf("sends.start"),
      payload: StartConversation,
      success: Single(Send).pipe(HttpApiSchema.status(202)),
      error: [Errors.Conflict, Errors.ProviderUnavailable]
    })
      .annotate(Runs, "sends.start")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "startConversation",
          summary: "Start a conversation",
          description:
            "Sends a template to a phone number. Finds or creates the contact, and reuses the number's conversation on the channel. The response is a queued send; poll its status with `getSend`."
        })
      )
      .annotate(Examples.Example, {
        requests: { template: ConversationExamples.startConversation },
        response: Examples.one(ConversationExamples.send)
      }),
    HttpApiEndpoint.get("get", "/conversations/:conversation_id", {
      params: { conversation_id: ConversationId },
      success: Single(Conversation),
      error: Errors.NotFound
    })
      .annotate(Runs, "conversations.get")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getConversation",
          summary: "Get a conversation",
          description: "Returns a conversation, with its contact's name and ID on the channel."
        })
      )
      .annotate(Examples.Example, { response: Examples.one(ConversationExamples.conversation) }),
    HttpApiEndpoint.patch("assign", "/conversations/:conversation_id/assignment", {
      headers: keyHeaderOf("conversations.assign"),
      params: { conversation_id: ConversationId },
      payload: AssignConversation,
      success: Single(Conversation),
      error: [Errors.NotFound, Errors.Conflict]
    })
      .annotate(Runs, "conversations.assign")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "assignConversation",
          summary: "Assign a conversation",
          description:
            "Assigns the conversation to a member, or unassigns it. Assigning makes the member the contact's owner too, unless `sync_contact_owner` is false."
        })
      )
      .annotate(Examples.Example, {
        requests: {
          assign: ConversationExamples.assignConversation,
          unassign: ConversationExamples.unassignConversation
        },
        response: Examples.one(ConversationExamples.conversation)
      }),
    HttpApiEndpoint.post("close", "/conversations/:conversation_id/close", {
      headers: keyHeaderOf("conversations.close"),
      params: { conversation_id: ConversationId },
      payload: [CloseConversation, Schema.Null],
      success: Single(Conversation),
      error: [Errors.NotFound, Errors.Conflict]
    })
      .annotate(Runs, "conversations.close")
      .annotate(OptionalBody, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "closeConversation",
          summary: "Close a conversation",
          description:
            "Closes a conversation. Closing a closed one changes nothing. The next message from the contact reopens it."
        })
      )
      .annotate(Examples.Example, {
        requests: { category: ConversationExamples.closeConversation },
        response: Examples.one(ConversationExamples.closedConversation)
      }),
    HttpApiEndpoint.post("reopen", "/conversations/:conversation_id/reopen", {
      headers: keyHeaderOf("conversations.reopen"),
      params: { conversation_id: ConversationId },
      success: Single(Conversation),
      error: [Errors.NotFound, Errors.Conflict]
    })
      .annotate(Runs, "conversations.reopen")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "reopenConversation",
          summary: "Reopen a conversation",
          description: "Reopens a closed conversation. Reopening an open one changes nothing."
        })
      )
      .annotate(Examples.Example, { response: Examples.one(ConversationExamples.conversation) })
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Conversations",
      description: "Threads between one contact and the organization on one channel."
    })
  )
{}
