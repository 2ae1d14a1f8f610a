/**
 * Inbound: applies the events of a provider, which may arrive late, in any order
 * and more than once (contract §15).
 *
 * Each event is one commit. All events about one message write the same row, that
 * of the provider's message ID, so concurrent ones conflict. This also holds for
 * events that arrive before their message.
 */
import { Context, Effect, Layer, Metric, Option, Schema, Stream } from "effect"
import { type Channel, ChannelRows } from "../catalog/Channels.ts"
import { changeIdentity, networkIdsOf, withSpellings } from "../contacts/ContactIdentities.ts"
import { ContactStore, isErasedExternalId, type Person } from "../contacts/Contacts.ts"
import { applyPreference } from "../contacts/MarketingPreferences.ts"
import { ConversationStore } from "../conversations/Conversations.ts"
import { concurrently } from "../kernel/Concurrency.ts"
import { ChannelId, type OrganizationId } from "../kernel/Ids.ts"
import { callbacks_ignored } from "../kernel/Metrics.ts"
import { traced } from "../kernel/Traces.ts"
import { CurrentTurn } from "../kernel/Turns.ts"
import { type FileUnavailable, Media, type MessageMedia } from "../messages/Media.ts"
import {
  arrived,
  clamped,
  isErased,
  type LookedUpMessage,
  makeLookUpMessage,
  type MessageUpdate,
  reportedText
} from "../messages/Messages.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext } from "../work/Decide.ts"
import { Rows } from "../work/Rows.ts"
import { applyStatusReport, isMessageOfSend, makeFindCovered, makeLoadReport, updateMessage } from "./MessageReports.ts"
import { makeLoadMessage, type NetworkMessage, personOf, storeMessage } from "./NetworkMessages.ts"
import type {
  IdentityChanged,
  MarketingPreferenceReported,
  MessagesReported,
  ProviderEvent,
  ProviderMessageSent
} from "./ProviderEvents.ts"

export { storeMessage } from "./NetworkMessages.ts"
export * from "./ProviderEvents.ts"

// ---------------------------------------------------------------- data

/** Where an event comes from: its channel, and its callback if that is stored. */
interface Origin {
  readonly organization_id: OrganizationId
  readonly channel: Channel
  readonly callback_id: string | null
}

// -------------------------------------------------------------- errors

/** No organization has the channel that the event names. */
export class ChannelUnknown extends Schema.TaggedError<ChannelUnknown>()("ChannelUnknown", { channel_id: ChannelId }) {}

// ----------------------------------------------------------- decisions

/** Returns changes that are applied only while the callback that they come from is stored. */
const fromCallback = (changes: Changes.Changes, callback_id: string | null): Changes.Changes =>
  callback_id === null || Changes.isNone(changes) ? changes : { ...changes, callback: callback_id }

/** Returns the external ID that an event can give to an identity; null if it gives none. */
const givenExternalId = (event: ProviderEvent): string | null => {
  switch (event.event) {
    case "message_received":
      return event.from.external_id
    case "message_sent":
      return event.to.external_id
    case "identity_changed":
      return event.now.external_id
    default:
      return null
  }
}

// ---------------------------------------------------------- operations

/** Counts an event about an erased message or person. */
const countErased = Metric.update(callbacks_ignored.of({ reason: "erased" }), 1)

/**
 * Makes the function that commits the changes that an event causes. An event about an erased message, which `messageOf`
 * returns, causes none.
 */
const makeCommitChanges = Effect.gen(function*() {
  const { settle } = yield* Decide

  return <Loaded>(
    { callback_id, organization_id }: Origin,
    load: Effect.Effect<Loaded>,
    changesOf: (loaded: Loaded, context: DecisionContext) => Changes.Changes,
    messageOf: (loaded: Loaded) => LookedUpMessage | null = () => null
  ): Effect.Effect<void> =>
    settle({ organization_id }, {
      load,
      decide: (loaded, context) => {
        const message = messageOf(loaded)
        return message !== null && isErased(message)
          ? { result: "ignored", changes: Changes.none }
          : { result: "applied", changes: fromCallback(changesOf(loaded, context), callback_id) }
      }
    }).pipe(Effect.flatMap((result) => result === "ignored" ? countErased : Effect.void))
})

/** Returns the report that a message of the business is that of a send. */
const reportOf = ({ channel_id, provider_message_id, reference = null, sent_at }: ProviderMessageSent) => ({
  event: "message_status_reported" as const,
  channel_id,
  provider_message_id,
  reference,
  status: "sent" as const,
  at: sent_at
})

/** Makes the function that stores a message with its file. */
const makeReceiveMessage = Effect.gen(function*() {
  const commitChanges = yield* makeCommitChanges
  const loadMessage = yield* makeLoadMessage
  const loadReport = yield* makeLoadReport
  const lookUpMessage = yield* makeLookUpMessage
  const media = yield* Media

  return Effect.fnUntraced(function*(origin: Origin, event: NetworkMessage) {
    const { channel, organization_id } = origin
    const report = event.event === "message_sent" && (event.reference ?? null) !== null ? reportOf(event) : null
    const load = Effect.all({
      message: loadMessage(organization_id, channel, event),
      report: report === null ? Effect.succeed(null) : loadReport(organization_id, report)
    }, concurrently)
    const commitMessage = (file: MessageMedia | null) =>
      commitChanges(
        origin,
        load,
        (loaded, context) =>
          report !== null && loaded.report !== null && isMessageOfSend(loaded.report)
            ? applyStatusReport(loaded.report, report, context)
            : storeMessage(loaded.message, channel, event, file, context),
        ({ message }) => message.lookedUp
      )
    if (event.media === null) return yield* commitMessage(null)
    // The file of a repeated event is not read again.
    const lookedUp = yield* lookUpMessage(organization_id, event)
    if (isErased(lookedUp)) return yield* countErased
    if (Option.isSome(arrived(lookedUp.found))) return
    yield* media.receive(organization_id, event.media, commitMessage)
  })
})

/** Makes the function that applies an update to one message. */
const makeUpdate = Effect.gen(function*() {
  const commitChanges = yield* makeCommitChanges
  const lookUpMessage = yield* makeLookUpMessage

  return (origin: Origin, provider_message_id: string, update: MessageUpdate) =>
    commitChanges(
      origin,
      lookUpMessage(origin.organization_id, { channel_id: origin.channel.id, provider_message_id }),
      (lookedUp, context) => updateMessage(lookedUp, update, context),
      (lookedUp) => lookedUp
    )
})

/** Makes the function that applies a report to each message that it covers, in a commit each. */
const makeUpdateCovered = Effect.gen(function*() {
  const conversations = yield* ConversationStore
  const findCovered = yield* makeFindCovered
  const update = yield* makeUpdate

  return Effect.fnUntraced(function*(origin: Origin, report: MessagesReported) {
    const { channel, organization_id } = origin
    const { at, external_id, status } = report
    const [known] = yield* conversations.identify(organization_id, channel, [external_id])
    if (known === undefined || known.conversation === null) return
    yield* Stream.runForEach(
      findCovered(organization_id, known.conversation.id, report),
      ({ provider_message_id }) =>
        provider_message_id === null ? Effect.void : update(origin, provider_message_id, { status, at })
    )
  })
})

const makeChangeIdentity = Effect.gen(function*() {
  const commitChanges = yield* makeCommitChanges
  const contacts = yield* ContactStore

  /** Loads the identities that have one of the IDs, and the contact whose IDs change. */
  const load = Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    former: ReadonlyArray<string>,
    person: Person
  ) {
    const network_ids = Array.from(new Set([...former, ...networkIdsOf(person)]))
    const known = yield* contacts.identify(organization_id, person.channel_type, network_ids)
    const found = known.find(({ network_id }) => former.includes(network_id))
    const contact = found === undefined ? Option.none() : yield* contacts.load(organization_id, found.contact.id)
    return { known, contact }
  })

  return (origin: Origin, { former_aliases = [], former_external_id, now }: IdentityChanged) => {
    const former = withSpellings(origin.channel.type, [former_external_id, ...former_aliases])
    const person = personOf(origin.channel, now)
    return commitChanges(
      origin,
      load(origin.organization_id, former, person),
      (loaded, context) => changeIdentity(former, person, loaded, context)
    )
  }
})

/** Makes the function that stores whether a person stopped or resumed marketing messages. */
const makeApplyPreference = Effect.gen(function*() {
  const commitChanges = yield* makeCommitChanges
  const contacts = yield* ContactStore

  const load = Effect.fnUntraced(function*(organization_id: OrganizationId, person: Person) {
    const [known] = yield* contacts.identify(organization_id, person.channel_type, networkIdsOf(person))
    const contact = known === undefined ? Option.none() : yield* contacts.load(organization_id, known.contact.id)
    return { known, contact }
  })

  return (origin: Origin, { at, person, preference }: MarketingPreferenceReported) =>
    commitChanges(
      origin,
      load(origin.organization_id, personOf(origin.channel, person)),
      (loaded, context) => applyPreference(loaded, { preference, at: clamped(at, context.now) }, context)
    )
})

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
  ) => Effect.Effect<void, ChannelUnknown | FileUnavailable>
  /** Returns the organization of a channel; null if no organization has it. */
  readonly organizationOf: (channel_id: ChannelId) => Effect.Effect<OrganizationId | null>
}>()("@messaging-crm/core/Inbound") {
  static readonly layer = Layer.effect(
    Inbound,
    Effect.gen(function*() {
      const applyMarketingPreference = yield* makeApplyPreference
      const changeIds = yield* makeChangeIdentity
      const commitChanges = yield* makeCommitChanges
      const loadReport = yield* makeLoadReport
      const receiveMessage = yield* makeReceiveMessage
      const rows = yield* Rows
      const update = yield* makeUpdate
      const updateCovered = yield* makeUpdateCovered

      const apply = (origin: Origin, event: ProviderEvent): Effect.Effect<void, FileUnavailable> => {
        switch (event.event) {
          case "message_received":
          case "message_sent":
            return receiveMessage(origin, event)
          case "messages_reported":
            return updateCovered(origin, event)
          case "message_status_reported":
            return commitChanges(
              origin,
              loadReport(origin.organization_id, event),
              (loaded, context) => applyStatusReport(loaded, event, context),
              ({ lookedUp }) => lookedUp
            )
          case "message_edited": {
            const { at, provider_message_id, text } = event
            return update(origin, provider_message_id, { status: "edited", text: reportedText(text), at })
          }
          case "message_deleted":
            return update(origin, event.provider_message_id, { status: "deleted", at: event.at })
          case "identity_changed":
            return changeIds(origin, event)
          case "marketing_preference_reported":
            return applyMarketingPreference(origin, event)
        }
      }

      const receive = traced("Inbound.receive")(function*(event: ProviderEvent, callback_id: string | null = null) {
        const located = yield* rows.locate(ChannelRows, event.channel_id)
        if (Option.isNone(located)) return yield* new ChannelUnknown({ channel_id: event.channel_id })
        const { organization_id, row: channel } = located.value
        // An identity with it would conflict with the erasure that gives this ID to another one.
        if (isErasedExternalId(givenExternalId(event) ?? "")) return yield* countErased
        yield* Effect.provideService(
          apply({ organization_id, channel, callback_id }, event),
          CurrentTurn,
          organization_id
        )
      })

      const organizationOf = (channel_id: ChannelId) =>
        Effect.map(
          rows.locate(ChannelRows, channel_id),
          (located) => Option.getOrNull(located)?.organization_id ?? null
        )

      return Inbound.of({ receive, organizationOf })
    })
  )
}
