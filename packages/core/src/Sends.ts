/**
 * Sends: outbound messages accepted by the service and followed until the
 * provider has answered (spec §2.4, §4.3, §4.4).
 *
 * | State | Event | Next state |
 * | --- | --- | --- |
 * | queued | an attempt begins | sending |
 * | sending | the provider certainly sent nothing | queued |
 * | sending, unknown | the provider took the message | sent |
 * | queued, sending | the provider refused for good, or time is up | failed |
 * | sending | the answer is lost | unknown |
 * | unknown | 15 minutes without a callback | failed |
 */
import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { CurrentActor } from "./Actor.ts"
import { type Channel, ChannelStore } from "./Channels.ts"
import { Contacts, ContactStore, ReferenceUnknown } from "./Contacts.ts"
import { ConversationNotFound, Conversations, ConversationStore, isReplyWindowOpen } from "./Conversations.ts"
import { Events } from "./Events.ts"
import { ChannelId, ConversationId, Ids, type MemberId, MessageId, type OrganizationId, SendId, WorkId } from "./Ids.ts"
import { limits } from "./Limits.ts"
import { MemberStore } from "./Members.ts"
import { type Message, Messages, MessageStore, report, type Sender } from "./Messages.ts"
import { type Accepted, FailureReason, type ProviderUnavailable } from "./MessagingProvider.ts"
import { Phone } from "./Phones.ts"
import type { Content } from "./Sends/Content.ts"
import {
  render,
  TemplateChoice,
  type TemplateNotApproved,
  type TemplateNotFound,
  Templates,
  type TemplateValuesMismatch
} from "./Templates.ts"
import { visibleText } from "./Text.ts"
import { Timestamp } from "./Timestamps.ts"
import { UnitOfWork } from "./UnitOfWork.ts"
import { WorkQueue, WorkSignal } from "./WorkQueue.ts"

// ---------------------------------------------------------------- data

export const SendStatus = Schema.Literals(["queued", "sending", "sent", "failed", "unknown"])
export type SendStatus = typeof SendStatus.Type

export const Send = Schema.Struct({
  id: SendId,
  conversation_id: ConversationId,
  status: SendStatus.annotate({
    description:
      "`queued`, then `sending`, then `sent` or `failed`. `unknown` when the provider's answer was lost: the send is not repeated, and ends `sent` or `failed` within 15 minutes."
  }),
  message_id: Schema.NullOr(MessageId).annotate({ description: "Set exactly when the status is `sent`." }),
  failure_reason: Schema.NullOr(FailureReason).annotate({ description: "Set exactly when the status is `failed`." }),
  created_at: Timestamp
}).annotate({ identifier: "Send", description: "An outbound message that was accepted and is being delivered." })
export interface Send extends Schema.Schema.Type<typeof Send> {}

/** A send beside what the worker needs to carry it out. */
export interface SendRow {
  readonly send: Send
  readonly channel_id: ChannelId
  readonly recipient: string
  /** Whom the key acted for; null when the operator sent. */
  readonly member_id: MemberId | null
  readonly content: Content
  /** When the provider was first asked. Retries end two minutes later. */
  readonly first_attempt_at: Timestamp | null
}

export const StartConversation = Schema.Struct({
  channel_id: ChannelId.pipe(Schema.annotateEncoded({ description: "A phone-messaging channel." })),
  phone: Phone.pipe(
    Schema.annotateEncoded({ description: "With country code; spaces, `()-./` and a leading `00` are accepted." })
  ),
  template: TemplateChoice
}).annotate({ identifier: "StartConversation" })
export interface StartConversation extends Schema.Schema.Type<typeof StartConversation> {}

export const SendMessage = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("text"),
    text: visibleText({ min: limits.message_text_chars_min, max: limits.message_text_chars_max })
  }).annotate({ title: "A text", description: "Inside the reply window: 24 hours from the contact's last message." }),
  Schema.Struct({ type: Schema.Literal("template"), template: TemplateChoice }).annotate({
    title: "A template",
    description: "At any time, on a phone-messaging channel."
  })
]).annotate({ identifier: "SendMessage" })
export type SendMessage = typeof SendMessage.Type

// -------------------------------------------------------------- errors

export class SendNotFound extends Schema.TaggedError<SendNotFound>()("SendNotFound", {}) {}

/** Only phone-messaging channels can do this. */
export class ChannelTypeUnsuited extends Schema.TaggedError<ChannelTypeUnsuited>()("ChannelTypeUnsuited", {}) {}

/** The contact has not written in the last 24 hours, so only a template may be sent. */
export class ReplyWindowClosed extends Schema.TaggedError<ReplyWindowClosed>()("ReplyWindowClosed", {}) {}

type TemplateRefused = TemplateNotFound | TemplateNotApproved | TemplateValuesMismatch | ProviderUnavailable

// ---------------------------------------------------------- transitions

/** Returns a new send, which the provider has not seen. */
export const queue = (id: SendId, conversation_id: ConversationId, created_at: Timestamp): Send => ({
  id,
  conversation_id,
  status: "queued",
  message_id: null,
  failure_reason: null,
  created_at
})

/** Returns whether the send has not ended: the provider may still take it. */
export const isOpen = (send: Send): boolean => send.status !== "sent" && send.status !== "failed"

/** Returns the send once an attempt begins; only a queued send changes. */
export const begin = (send: Send): Send => send.status === "queued" ? { ...send, status: "sending" } : send

/** Returns the send once it is certain that the attempt sent nothing; only a sending one changes. */
export const requeue = (send: Send): Send => send.status === "sending" ? { ...send, status: "queued" } : send

/** Returns the send whose answer was lost; only a sending one changes. */
export const doubt = (send: Send): Send => send.status === "sending" ? { ...send, status: "unknown" } : send

/** Returns the send that became a message; an ended one does not change. */
export const accept = (send: Send, message_id: MessageId): Send =>
  isOpen(send) ? { ...send, status: "sent", message_id } : send

/** Returns the send that can no longer succeed; an ended one does not change. */
export const fail = (send: Send, failure_reason: FailureReason): Send =>
  isOpen(send) ? { ...send, status: "failed", failure_reason } : send

// ---------------------------------------------------------------- port

/**
 * Port: where sends are kept, with what is to be sent.
 *
 * **Contract** (checked by `conformance/Sends.ts`)
 *
 * - `find` returns what was inserted or last updated, and none for another organization's send.
 * - `lock` returns what `find` returns, and lets no other unit of work pass the
 *   same point for that send until this one ends.
 */
export class SendStore extends Context.Service<SendStore, {
  readonly insert: (organization_id: OrganizationId, row: SendRow) => Effect.Effect<void>
  readonly find: (organization_id: OrganizationId, id: SendId) => Effect.Effect<Option.Option<SendRow>>
  readonly lock: (organization_id: OrganizationId, id: SendId) => Effect.Effect<Option.Option<SendRow>>
  /** Writes the send's status, message and failure, and when it was first attempted. */
  readonly update: (organization_id: OrganizationId, row: SendRow) => Effect.Effect<void>
}>()("@messaging-crm/core/Sends/SendStore") {}

// ---------------------------------------------------------- operations

/** Operations on the current actor's sends. */
export class Sends extends Context.Service<Sends, {
  /** Finds or makes the contact and its conversation on the channel, and queues a template (spec §4.3). */
  readonly start: (
    input: StartConversation
  ) => Effect.Effect<Send, ReferenceUnknown | ChannelTypeUnsuited | TemplateRefused, CurrentActor>
  /** Queues a text inside the reply window, or a template at any time (spec §4.4). */
  readonly send: (
    conversation_id: ConversationId,
    input: SendMessage
  ) => Effect.Effect<
    Send,
    ConversationNotFound | ChannelTypeUnsuited | ReplyWindowClosed | TemplateRefused,
    CurrentActor
  >
  readonly get: (id: SendId) => Effect.Effect<Send, SendNotFound, CurrentActor>
  /**
   * Records that the provider took the message, whoever learns it first: the
   * answer to an attempt, or a callback with the reference. Joins the caller's
   * unit of work, which already holds the provider's message.
   */
  readonly complete: (
    organization_id: OrganizationId,
    id: SendId,
    accepted: Accepted
  ) => Effect.Effect<void>
}>()("@messaging-crm/core/Sends") {
  static readonly layer = Layer.effect(
    Sends,
    Effect.gen(function*() {
      const channels = yield* ChannelStore
      const contacts = yield* Contacts
      const contactStore = yield* ContactStore
      const conversations = yield* Conversations
      const conversationStore = yield* ConversationStore
      const events = yield* Events
      const ids = yield* Ids
      const members = yield* MemberStore
      const messages = yield* Messages
      const messageStore = yield* MessageStore
      const signal = yield* WorkSignal
      const store = yield* SendStore
      const templates = yield* Templates
      const unitOfWork = yield* UnitOfWork
      const work = yield* WorkQueue

      const templateContent = Effect.fnUntraced(function*(channel: Channel, choice: TemplateChoice) {
        if (channel.phone_messaging_business_account_id === null) return yield* new ChannelTypeUnsuited()
        const template = yield* templates.find(channel.phone_messaging_business_account_id, choice.id)
        const text = yield* render(template, choice.components)
        const { id, language, name } = template
        const content: Content = {
          type: "template",
          template: { id, name, language, components: choice.components },
          text
        }
        return content
      })

      /** Joins a unit of work that holds the conversation, so that lane order is the order of acceptance. */
      const enqueue = Effect.fnUntraced(function*(
        to: { readonly conversation_id: ConversationId; readonly channel_id: ChannelId; readonly recipient: string },
        content: Content
      ) {
        const { member_id, organization_id } = yield* CurrentActor
        const now = yield* DateTime.now
        const send = queue(SendId.make(yield* ids.uuid), to.conversation_id, now)
        const { channel_id, recipient } = to
        yield* store.insert(organization_id, {
          send,
          channel_id,
          recipient,
          member_id,
          content,
          first_attempt_at: null
        })
        const id = WorkId.make(yield* ids.uuid)
        yield* work.enqueue(organization_id, { id, kind: "send", lane: to.conversation_id, ref: send.id }, now)
        return send
      })

      const startNow = Effect.fnUntraced(function*(input: StartConversation) {
        const { organization_id } = yield* CurrentActor
        const channel = yield* channels.find(organization_id, input.channel_id)
        if (Option.isNone(channel)) return yield* new ReferenceUnknown({ param: "channel_id" })
        const content = yield* templateContent(channel.value, input.template)
        const who = yield* contacts.meet(organization_id, {
          channel_type: "phone_messaging",
          external_id: input.phone,
          aliases: [],
          phone: input.phone,
          display_name: null,
          username: null
        })
        const conversation_id = yield* conversations.open(organization_id, channel.value, who)
        return yield* enqueue({ conversation_id, channel_id: channel.value.id, recipient: input.phone }, content)
      })

      const sendNow = Effect.fnUntraced(function*(conversation_id: ConversationId, input: SendMessage) {
        const { organization_id } = yield* CurrentActor
        const found = yield* conversationStore.lock(organization_id, conversation_id)
        if (Option.isNone(found)) return yield* new ConversationNotFound()
        const { channel_id, external_id } = found.value
        const to = { conversation_id, channel_id, recipient: external_id }
        if (input.type === "text") {
          if (!isReplyWindowOpen(found.value, yield* DateTime.now)) return yield* new ReplyWindowClosed()
          return yield* enqueue(to, { type: "text", text: input.text })
        }
        const channel = yield* channels.find(organization_id, channel_id)
        const content = yield* templateContent(Option.getOrThrow(channel), input.template)
        return yield* enqueue(to, content)
      })

      // The catalogue is read before the transaction, which must not wait for the network.
      const commit = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        unitOfWork.transact(effect).pipe(Effect.tap(() => signal.notify))

      const start = Effect.fn("Sends.start")(function*(input: StartConversation) {
        yield* templates.refresh
        return yield* commit(startNow(input))
      })

      const send = Effect.fn("Sends.send")(function*(conversation_id: ConversationId, input: SendMessage) {
        if (input.type === "template") yield* templates.refresh
        return yield* commit(sendNow(conversation_id, input))
      })

      const get = Effect.fn("Sends.get")(function*(id: SendId) {
        const { organization_id } = yield* CurrentActor
        const found = yield* store.find(organization_id, id)
        return Option.isSome(found) ? found.value.send : yield* new SendNotFound()
      })

      const senderOf = Effect.fnUntraced(function*(organization_id: OrganizationId, member_id: MemberId | null) {
        if (member_id === null) return { type: "system", name: null } satisfies Sender
        const member = yield* members.find(organization_id, member_id)
        return { type: "member", name: Option.isSome(member) ? member.value.member.name : null } satisfies Sender
      })

      /** A message that was reported on before it was stored may be further than sent. */
      const tell = Effect.fnUntraced(function*(organization_id: OrganizationId, message: Message) {
        const data = { conversation_id: message.conversation_id, message_id: message.id }
        yield* events.raise(organization_id, { type: "message.sent", data })
        const { status } = message
        if (status === "sent" || status === "received") return
        yield* events.raise(organization_id, { type: "message.updated", data: { ...data, status } })
      })

      const complete = Effect.fn("Sends.complete")(function*(
        organization_id: OrganizationId,
        id: SendId,
        { provider_message_id, recipient_aliases = [] }: Accepted
      ) {
        const found = yield* store.find(organization_id, id)
        if (Option.isNone(found)) return
        const { conversation_id } = found.value.send
        const conversation = Option.getOrThrow(yield* conversationStore.lock(organization_id, conversation_id))
        const row = Option.getOrThrow(yield* store.lock(organization_id, id))
        if (!isOpen(row.send)) return
        const now = yield* DateTime.now
        if (recipient_aliases.length > 0) {
          yield* contactStore.addAliases(organization_id, conversation.channel_type, conversation, recipient_aliases)
        }
        const sent: Message = {
          id: MessageId.make(yield* ids.uuid),
          conversation_id,
          direction: "outbound",
          type: row.content.type,
          text: row.content.text,
          sender: yield* senderOf(organization_id, row.member_id),
          status: "sent",
          media: null,
          provider_message_id,
          created_at: now,
          sent_at: now,
          delivered_at: null,
          read_at: null,
          failed_at: null,
          edited_at: null,
          deleted_at: null
        }
        const parked = yield* messageStore.takeParked(organization_id, row.channel_id, provider_message_id)
        const message = parked.reduce(report, sent)
        if (!(yield* messages.record(organization_id, row.channel_id, message))) return
        yield* store.update(organization_id, { ...row, send: accept(row.send, message.id) })
        yield* tell(organization_id, message)
      })

      return Sends.of({ start, send, get, complete })
    })
  )
}
