/**
 * A send as callers see it, as it is stored, and as it is requested (contract §12).
 */
import { Schema } from "effect"
import type { ChannelHoldRow } from "../catalog/ChannelHolds.ts"
import type { Channel } from "../catalog/Channels.ts"
import {
  ChannelId,
  type ContactId,
  ConversationId,
  type IdentityId,
  MemberId,
  MessageId,
  SendId
} from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { Phone, phone_description } from "../kernel/Phones.ts"
import { text } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import type { Row } from "../work/Rows.ts"
import { Content, FailureReason } from "./MessagingProvider.ts"
import { TemplateChoice } from "./Templates.ts"

export const SendStatus = Schema.Literals(["queued", "sending", "sent", "failed", "unknown"])
export type SendStatus = typeof SendStatus.Type

export const Send = Schema.Struct({
  id: SendId,
  conversation_id: ConversationId,
  status: SendStatus.annotate({
    description:
      "`queued`, then `sending`, then `sent` or `failed`. `unknown` if the provider's response was lost: the service does not resend, and the send becomes `sent` or `failed` within 15 minutes. A send that failed with `outcome_unknown` becomes `sent` if a report proves later that the provider accepted it."
  }),
  message_id: Schema.NullOr(MessageId).annotate({ description: "Set if and only if the status is `sent`." }),
  failure_reason: Schema.NullOr(FailureReason).annotate({ description: "Set if and only if the status is `failed`." }),
  created_at: Timestamp
}).annotate({
  identifier: "Send",
  description: "An accepted request to send a message, which a worker passes to the messaging provider."
})
export interface Send extends Schema.Schema.Type<typeof Send> {}

/** The columns of a send: the fields that callers see, and those with which the worker sends it. */
export const SendColumns = Schema.Struct({
  ...Send.fields,
  channel_id: ChannelId,
  recipient: Schema.String,
  /** The member of the API key; null for a send without one. */
  member_id: Schema.NullOr(MemberId),
  content: Content,
  /** The time of the first attempt. No attempt begins more than two minutes later. */
  first_attempt_at: Schema.NullOr(Timestamp),
  /** Whether the response to an attempt was lost. From then on a rejection no longer proves that nothing was sent. */
  may_be_sent: Schema.Boolean
})
export interface SendColumns extends Schema.Schema.Type<typeof SendColumns> {}

export type SendRow = Row<SendColumns>

/** Returns the send as callers see it. */
export const toSend = (
  { conversation_id, created_at, failure_reason, id, message_id, status }: SendRow | SendColumns
): Send => ({ id, conversation_id, status, message_id, failure_reason, created_at })

/** The filters of a list. A filter that is null does not filter (contract §12.11). */
export interface SendFilters {
  readonly status: Send["status"] | null
  readonly conversation_id: ConversationId | null
  readonly created_since: Timestamp | null
}

/** The filters that every send passes. */
export const everySend: SendFilters = { status: null, conversation_id: null, created_since: null }

/** A send with what an attempt needs, and the message that comes of it. */
export interface OutgoingSend {
  readonly send: SendRow
  readonly channel: Channel
  /** Why the channel's sends wait, or waited last; null if they never did. */
  readonly hold: ChannelHoldRow | null
  readonly contact_id: ContactId
  readonly identity_id: IdentityId
  /** The name of the send's member; null when it has none. */
  readonly member_name: string | null
}

export const SendRows = Changes.declareTable(SendColumns)({
  name: "sends",
  key: { id: "uuid" }
})

export const StartConversation = Schema.Struct({
  channel_id: ChannelId.pipe(Schema.annotateEncoded({ description: "A phone-messaging channel." })),
  phone: Phone.pipe(Schema.annotateEncoded({ description: phone_description })),
  template: TemplateChoice
}).annotate({ identifier: "StartConversation" }).pipe(Schema.brand("StartConversation"))
export interface StartConversation extends Schema.Schema.Type<typeof StartConversation> {}

export const SendMessage = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("text"),
    text: text({ min: limits.message_text_chars_min, max: limits.message_text_chars_max })
  }).annotate({
    identifier: "SendText",
    description: "Inside the reply window: 24 hours after the contact's last message."
  }),
  Schema.Struct({ type: Schema.Literal("template"), template: TemplateChoice }).annotate({
    identifier: "SendTemplate",
    description: "At any time, on a phone-messaging channel."
  })
]).annotate({ identifier: "SendMessage" }).pipe(Schema.brand("SendMessage"))
export type SendMessage = typeof SendMessage.Type
