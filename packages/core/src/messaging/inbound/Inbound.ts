/**
 * Inbound: applies the events of a provider, which may arrive late, in any order
 * and more than once (contract §15).
 *
 * Each event is one commit. All events about one message write the same row, that
 * of the provider's message ID, so concurrent ones conflict. This also holds for
 * events that arrive before their message.
 */
import { Context, Effect, Layer, Option, Schema, Stream } from "effect"
import { type ChannelHoldRow, pause } from "../../catalog/ChannelHolds.ts"
import { type Channel, ChannelStore } from "../../catalog/Channels.ts"
import { changeIdentity } from "../../contacts/ContactIdentities.ts"
import { concurrently } from "../../kernel/Concurrency.ts"
import { ChannelId, type OrganizationId } from "../../kernel/Ids.ts"
import { traced } from "../../kernel/Traces.ts"
import * as Changes from "../../work/Changes.ts"
import { Decide, type DecisionContext } from "../../work/Decide.ts"
import { ConversationStore } from "../Conversations.ts"
import * as Media from "../Media.ts"
import { boundedFailure } from "../MessageDetails.ts"
import {
  applyUpdate,
  arrived,
  clamped,
  type MessageUpdate,
  type ProviderMessage,
  reportedText,
  revise,
  type StatusUpdate,
  storeEarlyUpdate,
  updateEvent
} from "../Messages.ts"
import * as SendCompletion from "../outbound/SendCompletion.ts"
import { makeInboundLoads, type OfMessage } from "./InboundLoads.ts"
import { type MessagesReported, type MessageStatusReported, type ProviderEvent } from "./ProviderEvents.ts"
import { type NetworkMessage, partnerOf, personOf, storeMessage } from "./ProviderMessages.ts"

export * from "./ProviderEvents.ts"
export { storeMessage } from "./ProviderMessages.ts"

// -------------------------------------------------------------- errors

/** No organization has the channel that the event names. */
export class ChannelUnknown extends Schema.TaggedError<ChannelUnknown>()("ChannelUnknown", { channel_id: ChannelId }) {}

// ----------------------------------------------------------- decisions

/** Updates the message, or stores the update until the message arrives. */
const updateMessage = (
  found: Option.Option<ProviderMessage>,
  { channel_id, provider_message_id }: OfMessage,
  update: MessageUpdate,
  context: DecisionContext
): Changes.Changes => {
  const applied = { ...update, at: clamped(update.at, context.now) }
  const known = Option.getOrNull(arrived(found))
  if (known === null) return storeEarlyUpdate({ channel_id, provider_message_id }, found, applied, context.now)
  const after = applyUpdate(known, applied)
  if (after === known) return Changes.none
  return Changes.all(
    revise(known.contact_id, known, after),
    updateEvent(known.contact_id, known, after, applied, context)
  )
}

/** Returns the update that a provider's report contains. */
const updateOf = ({ at, failure, status }: MessageStatusReported): StatusUpdate =>
  failure === undefined ? { status, at } : { status, at, failure: boundedFailure(failure) }

/**
 * Pauses the channel if a report says that the network rejects it. A report that changes nothing, such as a repeated one,
 * does not pause a channel that was resumed after the first.
 */
const withPause = (
  changes: Changes.Changes,
  hold: Option.Option<ChannelHoldRow>,
  { channel_id, pauses_channel }: MessageStatusReported,
  { now }: DecisionContext
): Changes.Changes =>
  pauses_channel === undefined || Changes.isNone(changes)
    ? changes
    : Changes.all(changes, pause(hold, channel_id, pauses_channel, now))

/**
 * Updates the message, and completes the send if that is still awaited: when the
 * response to an attempt was lost, this report may be the only proof that the
 * provider accepted it.
 */
const statusReported = (
  { completion, found }: {
    readonly found: Option.Option<ProviderMessage>
    readonly completion: SendCompletion.Loaded | null
  },
  event: MessageStatusReported,
  context: DecisionContext
): Changes.Changes => {
  const { provider_message_id, recipient_aliases = [] } = event
  const update = updateOf(event)
  if (completion === null) return updateMessage(found, event, update, context)
  const applied = { ...update, at: clamped(event.at, context.now) }
  const completed = SendCompletion.complete(completion, { provider_message_id, recipient_aliases }, applied, context)
  return SendCompletion.isAwaited(completion)
    ? completed
    : Changes.all(completed, updateMessage(completion.provider_message, event, update, context))
}

/** Where an event comes from: the organization of its channel, and its callback if that is stored. */
interface Origin {
  readonly organization_id: OrganizationId
  readonly callback_id: string | null
}

/** Returns changes that are applied only while the callback that they come from is stored. */
const fromCallback = (changes: Changes.Changes, callback_id: string | null): Changes.Changes =>
  callback_id === null || Changes.isNone(changes) ? changes : { ...changes, callback: callback_id }

// ---------------------------------------------------------- operations

export class Inbound extends Context.Service<Inbound, {
  /**
   * Applies one event, and returns when it is committed. Applying it again changes nothing.
   *
   * An event of a stored callback names it. If the callback is deleted, because it is processed or its person erased,
   * the event is not applied.
   */
  readonly receive: (
    event: ProviderEvent,
    callback_id?: string | null
  ) => Effect.Effect<void, ChannelUnknown | Media.FileUnavailable>
}>()("@messaging-crm/core/Inbound") {
  static readonly layer = Layer.effect(
    Inbound,
    Effect.gen(function*() {
      const channels = yield* ChannelStore
      const conversations = yield* ConversationStore
      const { covered, findMessage, loadIdentity, loadSender, loadStatus } = yield* makeInboundLoads
      const { settle } = yield* Decide
      const media = yield* Media.Media

      /** Commits the changes that an event causes. Such a decision returns no result and no error. */
      const commit = <Loaded>(
        { callback_id, organization_id }: Origin,
        load: Effect.Effect<Loaded>,
        changesOf: (loaded: Loaded, context: DecisionContext) => Changes.Changes
      ): Effect.Effect<void> =>
        Effect.asVoid(settle({ organization_id }, {
          load,
          decide: (loaded, context) => ({
            result: undefined,
            changes: fromCallback(changesOf(loaded, context), callback_id)
          })
        }))

      const commitMessage = (
        origin: Origin,
        channel: Channel,
        event: NetworkMessage,
        file: Media.MessageMedia | null
      ) =>
        commit(
          origin,
          Effect.map(
            Effect.all([
              findMessage(origin.organization_id, event),
              loadSender(origin.organization_id, channel, partnerOf(channel, event))
            ], concurrently),
            ([found, sender]) => ({ found, ...sender })
          ),
          (loaded, context) => storeMessage(loaded, channel, event, file, context)
        )

      const receiveMessage = Effect.fnUntraced(function*(
        origin: Origin,
        channel: Channel,
        event: NetworkMessage
      ) {
        if (event.media === null) return yield* commitMessage(origin, channel, event, null)
        // The file of a repeated event is not read again.
        const found = yield* findMessage(origin.organization_id, event)
        if (Option.isSome(arrived(found))) return
        yield* media.receive(
          origin.organization_id,
          event.media,
          (file) => commitMessage(origin, channel, event, file)
        )
      })

      /** Applies a report to each message that it covers, in a commit each. */
      const reportMessages = Effect.fnUntraced(function*(
        origin: Origin,
        channel: Channel,
        event: MessagesReported
      ) {
        const [thread] = yield* conversations.findThreads(origin.organization_id, channel, [event.external_id])
        if (thread === undefined || thread.conversation === null) return
        const { at, channel_id, status } = event
        yield* Stream.runForEach(
          covered(origin.organization_id, thread.conversation.id, event),
          ({ provider_message_id }) => {
            if (provider_message_id === null) return Effect.void
            const of = { channel_id, provider_message_id }
            return commit(
              origin,
              findMessage(origin.organization_id, of),
              (found, context) => updateMessage(found, of, { status, at }, context)
            )
          }
        )
      })

      const apply = (
        origin: Origin,
        channel: Channel,
        event: ProviderEvent
      ): Effect.Effect<void, Media.FileUnavailable> => {
        switch (event.event) {
          case "message_received":
          case "message_sent":
            return receiveMessage(origin, channel, event)
          case "messages_reported":
            return reportMessages(origin, channel, event)
          case "message_status_reported":
            return commit(
              origin,
              loadStatus(origin.organization_id, event),
              (loaded, context) => withPause(statusReported(loaded, event, context), loaded.hold, event, context)
            )
          case "message_edited":
          case "message_deleted": {
            const { at } = event
            const update: MessageUpdate = event.event === "message_edited"
              ? { status: "edited", text: reportedText(event.text), at }
              : { status: "deleted", at }
            return commit(
              origin,
              findMessage(origin.organization_id, event),
              (found, context) => updateMessage(found, event, update, context)
            )
          }
          case "identity_changed": {
            const former = [event.former_external_id, ...event.former_aliases ?? []]
            const person = personOf(channel, event.now)
            return commit(
              origin,
              loadIdentity(origin.organization_id, former, person),
              (loaded, context) => changeIdentity(former, person, loaded, context)
            )
          }
        }
      }

      const receive = traced("Inbound.receive")(function*(event: ProviderEvent, callback_id: string | null = null) {
        const located = yield* channels.locate(event.channel_id)
        if (Option.isNone(located)) return yield* new ChannelUnknown({ channel_id: event.channel_id })
        const { channel, organization_id } = located.value
        yield* apply({ callback_id, organization_id }, channel, event)
      })

      return Inbound.of({ receive })
    })
  )
}
