/**
 * Sends: requests to send one message, from the 202 until the provider has accepted
 * or rejected it (contract §12).
 *
 * | State | Event | Next state |
 * | --- | --- | --- |
 * | queued | an attempt begins | sending |
 * | sending | the provider certainly sent nothing | queued |
 * | queued, sending, unknown | the provider accepted the message | sent |
 * | queued, sending | the provider rejected permanently, or time is up | failed |
 * | sending | the response was lost | unknown |
 * | unknown | 15 minutes without a callback | failed |
 */
import { Context, Effect, Layer, Option, Result, Schema } from "effect"
import { type Channel, ChannelStore } from "../../catalog/Channels.ts"
import { findOrCreateByIdentity } from "../../contacts/ContactIdentities.ts"
import { makeFindMatch, type Matched, unmatched } from "../../contacts/ContactMatches.ts"
import { erasedExternalId, type Person, ReferenceUnknown } from "../../contacts/Contacts.ts"
import { CurrentActor } from "../../kernel/Actor.ts"
import { zipConcurrently } from "../../kernel/Concurrency.ts"
import type { ChannelId, ConversationId, MessageId } from "../../kernel/Ids.ts"
import { type MemberId, type OrganizationId, SendId } from "../../kernel/Ids.ts"
import { operation } from "../../kernel/Operations.ts"
import { type CursorInvalid, Cursors, type ListOptions, type Page, type PageRequest } from "../../kernel/Page.ts"
import { resultFunction } from "../../kernel/ResultFunction.ts"
import type { Timestamp } from "../../kernel/Timestamps.ts"
import * as Changes from "../../work/Changes.ts"
import { Decide, type DecisionContext, type Write } from "../../work/Decide.ts"
import type { Respond } from "../../work/RecordedResponses.ts"
import {
  ConversationNotFound,
  type ConversationRow,
  ConversationRows,
  ConversationStore,
  isReplyWindowOpen,
  type KnownThread,
  open as openConversation
} from "../Conversations.ts"
import { type Content, isWithin, text_limits, TextTooLong } from "./Content.ts"
import type { FailureReason } from "./MessagingProvider.ts"
import {
  everySend,
  type OutgoingSend,
  type Send,
  type SendColumns,
  type SendFilters,
  type SendMessage,
  type SendRow,
  SendRows,
  type StartConversation
} from "./Send.ts"
import type { TemplateChoice } from "./Templates.ts"
import { fillTemplate, type FoundTemplate, noTemplate, type TemplateRejected, Templates } from "./Templates.ts"

export * from "./Send.ts"

// -------------------------------------------------------------- errors

export class SendNotFound extends Schema.TaggedError<SendNotFound>()("SendNotFound", {}) {}

/** The channel is not a phone-messaging channel, so templates cannot be sent on it. */
export class ChannelTypeUnsuited extends Schema.TaggedError<ChannelTypeUnsuited>()("ChannelTypeUnsuited", {}) {}

/** The reply window is closed: the contact sent no message in the last 24 hours. */
export class ReplyWindowClosed extends Schema.TaggedError<ReplyWindowClosed>()("ReplyWindowClosed", {}) {}

/** The data of the conversation's person was erased, so no address to send to is left. */
export class RecipientErased extends Schema.TaggedError<RecipientErased>()("RecipientErased", {}) {}

// ----------------------------------------------------------- decisions

/** Returns whether the send is neither `sent` nor `failed`. */
export const isOpen = ({ status }: Pick<Send, "status">): boolean => status !== "sent" && status !== "failed"

/**
 * Returns whether the send becomes `sent` once the provider is known to have accepted it. `outcome_unknown` is the only
 * failure that is not certain.
 */
export const isUnproven = (send: Pick<Send, "failure_reason" | "status">): boolean =>
  isOpen(send) || send.failure_reason === "outcome_unknown"

/** The transitions of a send. Each returns the columns that it sets, or `{}` where it changes nothing. */
export const SendState = {
  /** An attempt begins. If the send is `sending` already, a worker died during an attempt, which may have sent it. */
  begin: ({ first_attempt_at, may_be_sent, status }: SendRow, now: Timestamp) =>
    ({
      status: status === "queued" ? "sending" : status,
      first_attempt_at: first_attempt_at ?? now,
      may_be_sent: may_be_sent || status === "sending"
    }) as const,
  /** The attempt certainly sent nothing. */
  requeue: ({ status }: Pick<Send, "status">) => status === "sending" ? { status: "queued" } as const : {},
  /** The response to the attempt was lost. */
  markUnknown: ({ status }: Pick<Send, "status">) =>
    ({ status: status === "sending" ? "unknown" : status, may_be_sent: true }) as const,
  /** The provider accepted it, and its message is stored. */
  accept: (send: Pick<Send, "failure_reason" | "status">, message_id: MessageId) => {
    if (!isUnproven(send)) return {}
    const sent = { status: "sent", message_id } as const
    return send.failure_reason === null ? sent : { ...sent, failure_reason: null }
  },
  /** It cannot succeed any more. */
  fail: (send: Pick<Send, "status">, failure_reason: FailureReason) =>
    isOpen(send) ? { status: "failed", failure_reason } as const : {}
}

/** Returns the send as callers see it. */
export const toSend = (
  { conversation_id, created_at, failure_reason, id, message_id, status }: SendRow | SendColumns
): Send => ({ id, conversation_id, status, message_id, failure_reason, created_at })

/**
 * Inserts a send and queues it in its conversation's lane, which keeps the order of acceptance. A conversation that is not
 * written otherwise is `expected`: a concurrent erasure, which writes it, makes the commit fail.
 */
const queue = (
  to: Pick<SendColumns, "channel_id" | "conversation_id" | "member_id" | "recipient">,
  content: Content,
  expected: ConversationRow | null,
  { now, uuid }: DecisionContext
): Changes.Decision<Send> => {
  const send: SendColumns = {
    id: SendId.make(uuid()),
    ...to,
    status: "queued",
    message_id: null,
    failure_reason: null,
    created_at: now,
    content,
    first_attempt_at: null,
    may_be_sent: false
  }
  return {
    result: toSend(send),
    changes: Changes.all(
      expected === null ? Changes.none : ConversationRows.expect(expected),
      SendRows.insert(send),
      Changes.enqueue({ kind: "send", lane: to.conversation_id, ref: send.id, due_at: now })
    )
  }
}

const templateContent = resultFunction(
  function*(channel: Channel, found: FoundTemplate, { components }: TemplateChoice) {
    if (channel.type !== "phone_messaging") return yield* Result.fail(new ChannelTypeUnsuited())
    const template = yield* found
    const filled = yield* fillTemplate(template, components)
    const { id, language, name } = template
    const chosen = { id, name, language, components: filled.components }
    return { type: "template", template: chosen, text: filled.text } satisfies Content
  }
)

/** The rows that `start` decides on. */
interface StartLoaded {
  readonly channel: Option.Option<Channel>
  readonly template: FoundTemplate
  readonly threads: ReadonlyArray<KnownThread>
  readonly withPhone: Matched
}

/** Finds or creates the contact and its conversation on the channel, and queues a template. */
export const start = resultFunction(
  function*(
    { channel, template, threads, withPhone }: StartLoaded,
    member_id: MemberId | null,
    input: StartConversation,
    context: DecisionContext
  ) {
    if (Option.isNone(channel)) {
      return yield* Result.fail(new ReferenceUnknown({ param: "channel_id", value: input.channel_id }))
    }
    const content = yield* templateContent(channel.value, template, input.template)
    const identity = findOrCreateByIdentity(personOf(input), threads, withPhone, context)
    const conversation = openConversation(channel.value, identity.result, threads[0], context)
    const to = { conversation_id: conversation.result, channel_id: channel.value.id, recipient: input.phone, member_id }
    const known = Changes.isNone(conversation.changes) ? threads[0]?.conversation ?? null : null
    const { result, changes } = queue(to, content, known, context)
    return { result, changes: Changes.all(identity.changes, conversation.changes, changes) }
  }
)

const personOf = ({ phone }: StartConversation): Person => ({
  channel_type: "phone_messaging",
  external_id: phone,
  aliases: [],
  phone,
  display_name: null,
  username: null
})

/**
 * Queues a text inside the reply window, or a template at any time.
 *
 * A concurrent message can only extend the reply window, and a concurrent change of the
 * recipient's number is equivalent to one that comes a moment later.
 */
export const send = (
  { channel, conversation, template }: {
    readonly channel: Option.Option<Channel>
    readonly conversation: Option.Option<ConversationRow>
    readonly template: FoundTemplate
  },
  member_id: MemberId | null,
  input: SendMessage,
  context: DecisionContext
): Result.Result<
  Changes.Decision<Send>,
  ConversationNotFound | ChannelTypeUnsuited | RecipientErased | ReplyWindowClosed | TemplateRejected | TextTooLong
> => {
  if (Option.isNone(conversation)) return Result.fail(new ConversationNotFound())
  const { channel_id, channel_type, external_id: recipient, id: conversation_id, identity_id } = conversation.value
  if (recipient === erasedExternalId(identity_id)) return Result.fail(new RecipientErased())
  const to = { conversation_id, channel_id, recipient, member_id }
  if (input.type === "text") {
    const limit = text_limits[channel_type]
    if (!isWithin(input.text, limit)) return Result.fail(new TextTooLong({ channel_type, ...limit }))
    return isReplyWindowOpen(conversation.value, context.now)
      ? Result.succeed(queue(to, { type: "text", text: input.text }, conversation.value, context))
      : Result.fail(new ReplyWindowClosed())
  }
  return Result.map(
    templateContent(Option.getOrThrow(channel), template, input.template),
    (content) => queue(to, content, conversation.value, context)
  )
}

// ---------------------------------------------------------------- port

/**
 * Port: where sends are read.
 *
 * **Contract** (checked by `conformance/Ports/Sends.ts`)
 *
 * - `find` and `load` return what was committed last, and none for another organization's send.
 * - `list` returns the sends that pass every filter that is not null, ordered by `created_at` descending, then ID
 *   descending, starting after the position.
 */
export class SendStore extends Context.Service<SendStore, {
  readonly find: (organization_id: OrganizationId, id: SendId) => Effect.Effect<Option.Option<SendRow>>
  readonly load: (organization_id: OrganizationId, id: SendId) => Effect.Effect<Option.Option<OutgoingSend>>
  readonly list: (
    organization_id: OrganizationId,
    filters: SendFilters,
    page: PageRequest
  ) => Effect.Effect<ReadonlyArray<Send>>
}>()("@messaging-crm/core/Sends/SendStore") {}

// ---------------------------------------------------------- operations

/** Operations on the current actor's sends. */
export class Sends extends Context.Service<Sends, {
  /** Finds or creates the contact and its conversation on the channel, and queues a template (contract §10.3). */
  readonly start: Write<[input: StartConversation], Send, ReferenceUnknown | ChannelTypeUnsuited | TemplateRejected>
  /** Queues a text inside the reply window, or a template at any time (contract §12.2, §12.3). */
  readonly send: Write<
    [conversation_id: ConversationId, input: SendMessage],
    Send,
    ConversationNotFound | ChannelTypeUnsuited | RecipientErased | ReplyWindowClosed | TemplateRejected | TextTooLong
  >
  readonly get: (id: SendId) => Effect.Effect<Send, SendNotFound, CurrentActor>
  /** Returns a page of sends, newest first (contract §12.11). */
  readonly list: (
    options: ListOptions<SendFilters>
  ) => Effect.Effect<Page<Send>, CursorInvalid, CurrentActor>
}>()("@messaging-crm/core/Sends") {
  static readonly layer = Layer.effect(
    Sends,
    Effect.gen(function*() {
      const channels = yield* ChannelStore
      const conversations = yield* ConversationStore
      const cursors = yield* Cursors
      const findMatch = yield* makeFindMatch
      const { runAudited } = yield* Decide
      const store = yield* SendStore
      const templates = yield* Templates

      const findTemplate = (channel: Option.Option<Channel>, choice: TemplateChoice): Effect.Effect<FoundTemplate> => {
        const account = Option.getOrNull(channel)?.phone_messaging_business_account_id ?? null
        return account === null
          ? Effect.succeed(noTemplate)
          : Effect.result(templates.find(account, choice.id))
      }

      /** Loads the conversations of a phone number on the channel, or else the contact with the number. */
      const loadPerson = Effect.fnUntraced(function*(
        organization_id: OrganizationId,
        channel_id: ChannelId,
        phone: StartConversation["phone"]
      ) {
        const channel = { id: channel_id, type: "phone_messaging" } as const
        const threads = yield* conversations.findThreads(organization_id, channel, [phone])
        const withPhone = threads.length > 0 ? unmatched : yield* findMatch(organization_id, "primary_phone", phone)
        return { threads, withPhone }
      })

      /** Loads the channel, and the template that is chosen on it. */
      const loadChoice = Effect.fnUntraced(function*(
        organization_id: OrganizationId,
        channel_id: ChannelId,
        choice: TemplateChoice
      ) {
        const channel = yield* channels.find(organization_id, channel_id)
        return { channel, template: yield* findTemplate(channel, choice) }
      })

      const startConversation = operation("sends.start")(
        function*<Out>(input: StartConversation, respond?: Respond<Send, Out>) {
          const { member_id, organization_id } = yield* CurrentActor
          const { channel_id, phone } = input
          const load: Effect.Effect<StartLoaded> = Effect.map(
            zipConcurrently(
              loadPerson(organization_id, channel_id, phone),
              loadChoice(organization_id, channel_id, input.template)
            ),
            ([person, choice]) => ({ ...person, ...choice })
          )
          return yield* runAudited("sends.start", {
            load,
            decide: (loaded, context) => start(loaded, member_id, input, context)
          }, respond)
        }
      )

      /** Loads the channel and the template that a message names. A text names none. */
      const loadContent = Effect.fnUntraced(function*(
        organization_id: OrganizationId,
        conversation: Option.Option<ConversationRow>,
        input: SendMessage
      ) {
        if (input.type === "text" || Option.isNone(conversation)) {
          return { conversation, channel: Option.none<Channel>(), template: noTemplate }
        }
        return { conversation, ...yield* loadChoice(organization_id, conversation.value.channel_id, input.template) }
      })

      const sendMessage = operation("sends.send")(function*<Out>(
        conversation_id: ConversationId,
        input: SendMessage,
        respond?: Respond<Send, Out>
      ) {
        const { member_id, organization_id } = yield* CurrentActor
        const load = Effect.flatMap(
          conversations.find(organization_id, conversation_id),
          (conversation) => loadContent(organization_id, conversation, input)
        )
        const decide = (loaded: Effect.Success<typeof load>, context: DecisionContext) =>
          send(loaded, member_id, input, context)
        return yield* runAudited("sends.send", { load, decide }, respond)
      })

      const get = operation("sends.get")(function*(id: SendId) {
        const { organization_id } = yield* CurrentActor
        const found = yield* store.find(organization_id, id)
        return toSend(yield* Effect.fromOption(found, () => new SendNotFound()))
      })

      const list = operation("sends.list")(function*({ cursor, page_size, ...given }: ListOptions<SendFilters>) {
        const { organization_id } = yield* CurrentActor
        const filters = { ...everySend, ...given }
        return yield* cursors.page({
          list: "sends",
          filters: { ...filters },
          cursor,
          size: page_size,
          fetch: (page) => store.list(organization_id, filters, page),
          position: ({ created_at, id }) => ({ at: created_at, id })
        })
      })

      return Sends.of({ start: startConversation, send: sendMessage, get, list })
    })
  )
}
