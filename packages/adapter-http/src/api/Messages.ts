import { ConversationId, MessageId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { LinkedMessage } from "@messaging-crm/core/Messages"
import { Send, SendMessage } from "@messaging-crm/core/Sends"
import { Record } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import * as ConversationExamples from "./ConversationExamples.ts"
import { details } from "./DetailsExamples.ts"
import { cursor, List, Single } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Texts from "./ErrorTexts.ts"
import * as Examples from "./Examples.ts"
import { keyHeaderOf, Runs } from "./Pipeline.ts"

/** `/conversations/{conversation_id}/messages`: list, get and send (contract §11, §12). */
export class MessagesGroup extends HttpApiGroup.make("messages")
  .add(
    HttpApiEndpoint.get("list", "/conversations/:conversation_id/messages", {
      params: { conversation_id: ConversationId },
      query: { cursor },
      success: List(LinkedMessage),
      error: Errors.NotFound
    })
      .annotate(Runs, "messages.list")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listMessages",
          summary: "List messages",
          description:
            `Returns the messages of a conversation, newest first, up to ${limits.page_size_default} per page.`
        })
      )
      .annotate(Examples.Example, {
        response: Examples.all(ConversationExamples.message, ConversationExamples.inboundMessage)
      }),
    HttpApiEndpoint.get("get", "/conversations/:conversation_id/messages/:message_id", {
      params: { conversation_id: ConversationId, message_id: MessageId },
      success: Single(LinkedMessage),
      error: Errors.NotFound
    })
      .annotate(Runs, "messages.get")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getMessage",
          summary: "Get a message",
          description: "Returns a message with its current status. Each read returns a new link to its media."
        })
      )
      .annotate(Examples.Example, {
        response: Examples.one(ConversationExamples.message),
        responses: Record.map(details, Examples.one)
      }),
    HttpApiEndpoint.post("send", "/conversations/:conversation_id/messages", {
      headers: keyHeaderOf("sends.send"),
      params: { conversation_id: ConversationId },
      payload: SendMessage,
      success: Single(Send).pipe(HttpApiSchema.status(202)),
      error: [Errors.NotFound, Errors.Conflict, Errors.ProviderUnavailable]
    })
      .annotate(Runs, "sends.send")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "sendMessage",
          summary: "Send a message",
          description:
            `Sends a text within 24 hours of the contact's last message, or, on phone_messaging channels, an approved template at any time. A text has at most ${
              Texts.grouped(limits.message_text_chars_max)
            } characters on phone_messaging channels, ${
              Texts.grouped(limits.page_messaging_text_chars_max)
            } on page_messaging, and ${
              Texts.grouped(limits.photo_social_text_bytes_max)
            } bytes of UTF-8 on photo_social channels. The response is a queued send; poll its status with \`getSend\`.`
        })
      )
      .annotate(Examples.Example, {
        requests: { text: ConversationExamples.sendText, template: ConversationExamples.sendTemplate },
        response: Examples.one(ConversationExamples.send),
        conflict: Texts.replyWindowClosed
      })
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Messages",
      description: "Messages of conversations: list, get, and send them."
    })
  )
{}
