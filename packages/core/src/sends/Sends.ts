/**
 * Sends: requests to send one message, from the 202 until the provider has accepted
 * or rejected it (contract §12).
 */
import { Context, Effect, Layer, Option, Result, Schema } from "effect"
import { type Channel, networkOf, started_type } from "../catalog/Channels.ts"
import { findOrCreateByIdentity, withSpellings } from "../contacts/ContactIdentities.ts"
import { makeFindMatch, type Matched, unmatched } from "../contacts/ContactMatches.ts"
import { erasedExternalId, type Person, ReferenceUnknown } from "../contacts/Contacts.ts"
import {
  ConversationNotFound,
  type ConversationRow,
  ConversationRows,
  ConversationStore,
  type IdentityWithConversation,
  isReplyWindowOpen,
  open as openConversation
} from "../conversations/Conversations.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import { zipConcurrently } from "../kernel/Concurrency.ts"
import { type ConversationId, type MemberId, type OrganizationId, SendId } from "../kernel/Ids.ts"
import { operation } from "../kernel/Operations.ts"
import {
  type CursorInvalid,
  Cursors,
  type ListOptions,
  type Page,
  type PageRequest,
  withoutStop
} from "../kernel/Page.ts"
import { resultFunction } from "../kernel/ResultFunction.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext, type Write } from "../work/Decide.ts"
import { type Content, isWithin, TextTooLong } from "./MessagingProvider.ts"
import {
  everySend,
  type OutgoingSend,
  type Send,
  type SendColumns,
  type SendFilters,
  type SendMessage,
  type SendRow,
  SendRows,
  type StartConversation,
  toSend
} from "./Send.ts"
import {
  type ChannelTypeUnsuited,
  type FoundTemplate,
  makeLoadTemplate,
  noTemplate,
  templateContent,
  type TemplateRejected
} from "./Templates.ts"

export * from "./Send.ts"
export * from "./SendState.ts"

// -------------------------------------------------------------- errors

export class SendNotFound extends Schema.TaggedError<SendNotFound>()("SendNotFound", {}) {}

/** The reply window is closed: the contact sent no message in the last 24 hours. */
export class ReplyWindowClosed extends Schema.TaggedError<ReplyWindowClosed>()("ReplyWindowClosed", {}) {}

/** The data of the conversation's person was erased, so no address to send to is left. */
export class RecipientErased extends Schema.TaggedError<RecipientErased>()("RecipientErased", {}) {}

// ----------------------------------------------------------- decisions

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

/** The rows that `start` decides on. */
interface LoadedStart {
  readonly channel: Option.Option<Channel>
  readonly template: FoundTemplate
  readonly identities: ReadonlyArray<IdentityWithConversation>
  readonly contact: Matched
}

/** Finds or creates the contact and its conversation on the channel, and queues a template. */
export const start = resultFunction(
  function*(
    { channel, contact, template, identities }: LoadedStart,
    member_id: MemberId | null,
    input: StartConversation,
    context: DecisionContext
  ) {
    if (Option.isNone(channel)) {
      return yield* Result.fail(new ReferenceUnknown({ param: "channel_id", value: input.channel_id }))
    }
    const content = yield* templateContent(channel.value, template, input.template)
    const identity = findOrCreateByIdentity(personOf(input), identities, contact, context)
    const conversation = openConversation(channel.value, identity.result, identities[0], context)
    const to = { conversation_id: conversation.result, channel_id: channel.value.id, recipient: input.phone, member_id }
    const known = Changes.isNone(conversation.changes) ? identities[0]?.conversation ?? null : null
    const { result, changes } = queue(to, content, known, context)
    return { result, changes: Changes.all(identity.changes, conversation.changes, changes) }
  }
)

const personOf = ({ phone }: StartConversation): Person => ({
  channel_type: started_type,
  external_id: phone,
  aliases: [],
  phone,
  display_name: null,
  username: null
})

/** The rows that `send` decides on. */
interface LoadedSend {
  readonly conversation: Option.Option<ConversationRow>
  /** The channel and the template of a message with one; none for a text. */
  readonly channel: Option.Option<Channel>
  readonly template: FoundTemplate
}

/**
 * Queues a text inside the reply window, or a template at any time.
 *
 * A concurrent message can only extend the reply window, and a concurrent change of the
 * recipient's number is equivalent to one that comes a moment later.
 */
export const send = (
  { channel, conversation, template }: LoadedSend,
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
    const limit = networkOf(channel_type).text
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

/** Makes the function that loads what `start` decides on. */
const makeLoadStart = Effect.gen(function*() {
  const conversations = yield* ConversationStore
  const findMatch = yield* makeFindMatch
  const loadTemplate = yield* makeLoadTemplate

  /** Loads the conversations of a phone number on the channel, or else the contact with the number. */
  const loadPerson = Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    { channel_id, phone }: StartConversation
  ) {
    const channel = { id: channel_id, type: started_type }
    const identities = yield* conversations.identify(organization_id, channel, withSpellings(channel.type, [phone]))
    const contact = identities.length > 0 ? unmatched : yield* findMatch(organization_id, "primary_phone", phone)
    return { identities, contact }
  })

  return (organization_id: OrganizationId, input: StartConversation): Effect.Effect<LoadedStart> =>
    Effect.map(
      zipConcurrently(
        loadPerson(organization_id, input),
        loadTemplate(organization_id, input.channel_id, input.template)
      ),
      ([person, template]) => ({ ...person, ...template })
    )
})

/** Makes the function that loads what `send` decides on. A text needs no channel and no template. */
const makeLoadSend = Effect.gen(function*() {
  const conversations = yield* ConversationStore
  const loadTemplate = yield* makeLoadTemplate

  return Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    conversation_id: ConversationId,
    input: SendMessage
  ): Effect.fn.Return<LoadedSend> {
    const conversation = yield* conversations.find(organization_id, conversation_id)
    if (input.type === "text" || Option.isNone(conversation)) {
      return { conversation, channel: Option.none(), template: noTemplate }
    }
    return { conversation, ...yield* loadTemplate(organization_id, conversation.value.channel_id, input.template) }
  })
})

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
      const cursors = yield* Cursors
      const loadSend = yield* makeLoadSend
      const loadStart = yield* makeLoadStart
      const { write } = yield* Decide
      const store = yield* SendStore

      const startConversation = write("sends.start", function*(input: StartConversation) {
        const { member_id, organization_id } = yield* CurrentActor
        return {
          load: loadStart(organization_id, input),
          decide: (loaded, context) => start(loaded, member_id, input, context)
        }
      })

      const sendMessage = write("sends.send", function*(
        conversation_id: ConversationId,
        input: SendMessage
      ) {
        const { member_id, organization_id } = yield* CurrentActor
        return {
          load: loadSend(organization_id, conversation_id, input),
          decide: (loaded, context) => send(loaded, member_id, input, context)
        }
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
          fetch: (page) => Effect.map(store.list(organization_id, filters, page), withoutStop),
          position: ({ created_at, id }) => ({ at: created_at, id })
        })
      })

      return Sends.of({ start: startConversation, send: sendMessage, get, list })
    })
  )
}
