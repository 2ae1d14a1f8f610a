/**
 * Message reports: a provider's reports about the status, edits, and deletion of messages (contract §15.2).
 */
import { DateTime, Effect, Option, Stream } from "effect"
import { type ChannelHoldRow, ChannelHoldRows, pause } from "../catalog/ChannelHolds.ts"
import type { ConversationId, OrganizationId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import type { Found, Position } from "../kernel/Page.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import { boundedFailure } from "../messages/MessageDetails.ts"
import {
  applyUpdate,
  arrived,
  clamped,
  type LookedUpMessage,
  makeLookUpMessage,
  type Message,
  MessageStore,
  type MessageUpdate,
  positionOf,
  revise,
  type StatusUpdate,
  storeEarlyUpdate,
  updateEvent
} from "../messages/Messages.ts"
import * as SendCompletion from "../sends/SendCompletion.ts"
import { isUnproven } from "../sends/SendState.ts"
import * as Changes from "../work/Changes.ts"
import type { DecisionContext } from "../work/Decide.ts"
import { Rows } from "../work/Rows.ts"
import type { MessagesReported, MessageStatusReported } from "./ProviderEvents.ts"

// ----------------------------------------------------------- decisions

/** Updates the message, or stores the update until the message arrives. */
export const updateMessage = (
  { channel_id, found, provider_message_id }: LookedUpMessage,
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

/** The rows that `applyStatusReport` needs. */
interface LoadedReport {
  readonly lookedUp: LookedUpMessage
  /** The hold of the channel, if the report pauses it. */
  readonly hold: Option.Option<ChannelHoldRow>
  /** The send of the message; null if the report cannot complete one. */
  readonly completion: SendCompletion.Loaded | null
}

/** Returns the update that a provider's report contains. */
const updateOf = ({ at, failure, status }: MessageStatusReported): StatusUpdate =>
  failure === undefined ? { status, at } : { status, at, failure: boundedFailure(failure) }

/**
 * Updates the message, and completes the send if that is still awaited: when the
 * response to an attempt was lost, this report may be the only proof that the
 * provider accepted it.
 */
const updateOrComplete = (
  { completion, lookedUp }: LoadedReport,
  event: MessageStatusReported,
  context: DecisionContext
): Changes.Changes => {
  const { provider_message_id, recipient_aliases = [] } = event
  const update = updateOf(event)
  if (completion === null) return updateMessage(lookedUp, update, context)
  const applied = { ...update, at: clamped(event.at, context.now) }
  const completed = SendCompletion.complete(completion, { provider_message_id, recipient_aliases }, applied, context)
  const { provider_message } = completion
  const isForgotten = SendCompletion.isToErased(completion) && Option.isNone(arrived(provider_message.found))
  return isForgotten || SendCompletion.isAwaited(completion)
    ? completed
    : Changes.all(completed, updateMessage(provider_message, update, context))
}

/**
 * Returns whether a message that the network reports with a reference is that of a send: it is stored as such, or the send can
 * still have it. Another program can use the reference of a send, or any uuid.
 */
export const isMessageOfSend = ({ completion, lookedUp }: LoadedReport): boolean => {
  const known = Option.getOrNull(arrived(lookedUp.found))
  if (completion === null) return known !== null
  return SendCompletion.isToErased(completion) || Option.exists(
    completion.outgoing,
    ({ send }) => isUnproven(send) || (known !== null && send.message_id === known.id)
  )
}

/** Applies a report to its message and send, and pauses the channel if the report says that the network rejects it. */
export const applyStatusReport = (
  loaded: LoadedReport,
  event: MessageStatusReported,
  context: DecisionContext
): Changes.Changes => {
  const { channel_id, pauses_channel } = event
  const changes = updateOrComplete(loaded, event, context)
  // A report that changes nothing, such as a repeated one, must not pause a channel that was resumed after the first.
  if (pauses_channel === undefined || Changes.isNone(changes)) return changes
  return Changes.all(changes, pause(loaded.hold, channel_id, pauses_channel, context.now))
}

/** The effect of a report about all messages before a time on one message. */
type Coverage = "advances" | "reached" | "unaffected"

/**
 * Returns whether a report about all messages before a time advances the status of a message, or the message already has
 * that status.
 */
const coverageOf = (
  { delivered_at, direction, failed_at, provider_message_id, read_at, sent_at }: Message,
  { status, until }: Pick<MessagesReported, "status" | "until">
): Coverage => {
  if (direction === "inbound" || provider_message_id === null) return "unaffected"
  if (read_at !== null || (status === "delivered" && delivered_at !== null)) return "reached"
  return failed_at === null && isUntil(sent_at, until) ? "advances" : "unaffected"
}

const isUntil = (sent_at: Timestamp | null, until: Timestamp): boolean =>
  sent_at !== null && DateTime.isLessThanOrEqualTo(sent_at, until)

/** Returns whether all messages before a page have the reported status already, or there are none. */
const isLastPage = ({ rows, stopped_at }: Found<Message>, report: MessagesReported): boolean => {
  const coverages = new Set(rows.map((message) => coverageOf(message, report)))
  const isEnd = rows.length < limits.page_size_max && stopped_at === null
  return isEnd || (!coverages.has("advances") && coverages.has("reached"))
}

// ---------------------------------------------------------- operations

/** Makes the function that loads what `applyStatusReport` needs. */
export const makeLoadReport = Effect.gen(function*() {
  const loadCompletion = yield* SendCompletion.makeLoadCompletion
  const lookUpMessage = yield* makeLookUpMessage
  const rows = yield* Rows

  return Effect.fnUntraced(function*(organization_id: OrganizationId, event: MessageStatusReported) {
    const { channel_id, provider_message_id, reference: send_id } = event
    const lookedUp = yield* lookUpMessage(organization_id, event)
    const hold = event.pauses_channel === undefined
      ? Option.none()
      : yield* rows.find(ChannelHoldRows, organization_id, channel_id)
    // A message written in the network's own app may be the send's.
    const isKnown = Option.exists(arrived(lookedUp.found), ({ sender }) => sender.type !== "business_app")
    if (isKnown || send_id === null) return { lookedUp, hold, completion: null }
    const { outgoing, provider_message } = yield* loadCompletion(organization_id, {
      channel_id,
      provider_message_id,
      send_id
    })
    const ofChannel = Option.filter(outgoing, ({ send }) => send.channel_id === channel_id)
    return { lookedUp, hold, completion: { outgoing: ofChannel, provider_message } }
  })
})

/** The number of messages after which no further page is read for one report about all messages before a time. */
const covered_max = 2000

/** Makes the function that returns the messages whose status a report advances, newest first. */
export const makeFindCovered = Effect.gen(function*() {
  const messages = yield* MessageStore

  return (organization_id: OrganizationId, conversation_id: ConversationId, report: MessagesReported) =>
    Stream.paginate(
      { after: null as Position | null, count: 0 },
      ({ after, count }) =>
        Effect.map(messages.list(organization_id, conversation_id, { after, size: limits.page_size_max }), (page) => {
          const last = page.rows.at(-1)
          const read = count + page.rows.length
          return [
            page.rows.filter((message) => coverageOf(message, report) === "advances"),
            last === undefined || isLastPage(page, report) || read >= covered_max
              ? Option.none()
              : Option.some({ after: positionOf(last), count: read })
          ] as const
        })
    )
})
