/** Parses the callbacks of Messenger and Instagram, whose entries are messaging events: messages, their revisions, and receipts. */
import { SendId } from "@messaging-crm/core/Ids"
import { firstCharacters } from "@messaging-crm/core/Text"
import { type DateTime, Option, Schema } from "effect"
import type { AccountKey } from "../CloudAccounts.ts"
import {
  Flag,
  isObject,
  Items,
  lenient,
  NetworkId,
  NetworkTime,
  objectOf,
  StorableText,
  timeIn,
  timeOf
} from "../GraphSchemas.ts"
import { meaningIn, messaging_event_fields, messaging_events } from "./DocumentedKinds.ts"
import {
  type Arrival,
  combined,
  type Entry,
  type EntryFormat,
  fieldOf,
  ignored,
  ignoredAs,
  type Parsed,
  singleEvent
} from "./Entry.ts"
import type { MessageContent } from "./MessageContent.ts"
import {
  content_fields,
  contentOfPostback,
  contentOfReaction,
  contentsOfMessage,
  Postback,
  Reaction
} from "./Messenger/Content.ts"
import { type MessengerType, ownerOf, split } from "./Messenger/Split.ts"

const Message = Schema.Struct({
  mid: NetworkId,
  ...content_fields,
  is_deleted: lenient(Flag),
  metadata: lenient(SendId)
})

const MessagingEvent = Schema.Struct({
  sender: lenient(Schema.Struct({ id: NetworkId })),
  recipient: lenient(Schema.Struct({ id: NetworkId })),
  timestamp: lenient(NetworkTime),
  message: lenient(Message),
  message_edit: lenient(Schema.Struct({ mid: NetworkId, text: StorableText })),
  postback: lenient(Postback),
  reaction: lenient(Reaction),
  delivery: lenient(Schema.Struct({ mids: lenient(Items), watermark: lenient(NetworkTime) })),
  read: lenient(Schema.Struct({ mid: lenient(NetworkId), watermark: lenient(NetworkTime) }))
})
type MessagingEvent = typeof MessagingEvent.Type

const decodeMessagingEvent = Schema.decodeUnknownOption(MessagingEvent)
const decodeMid = Schema.decodeUnknownOption(NetworkId)

/** A messaging event with what follows from its entry. */
interface EventContext {
  readonly account: AccountKey
  readonly given: MessagingEvent
  /** Whether the business sent it, and not the person. */
  readonly is_own: boolean
  readonly at: DateTime.Utc
}

const person = (id: string) => ({ external_id: id, aliases: [], display_name: null, username: null })

/** Returns a message of the person, or, if the business sent it, one to the person. */
const messageEvent = (
  { account, at, given: { recipient, sender }, is_own }: EventContext,
  provider_message_id: string,
  { file, ...content }: MessageContent,
  reference?: SendId
): Parsed => {
  const partner = is_own ? recipient : sender
  if (partner === undefined) return ignored("unreadable", "item:person")
  const message = { provider_message_id, ...content, sent_at: at }
  return singleEvent(
    account,
    is_own
      ? { event: "message_sent", to: person(partner.id), ...message, ...(reference === undefined ? {} : { reference }) }
      : { event: "message_received", from: person(partner.id), ...message },
    file
  )
}

/** Returns a message of the person. The same kind of event from the business is ignored. */
const receivedMessageEvent = (context: EventContext, id: string, content: MessageContent): Parsed =>
  context.is_own ? ignored("nothing", "item:own") : messageEvent(context, id, content)

/** Makes a message ID for an event that has none. A repeated callback gives the same ID. */
const derivedId = (kind: string, { at, given: { sender } }: EventContext, about = "") =>
  firstCharacters([kind, sender?.id, at.epochMilliseconds, about].join("."), 500)

const statusEvent = (
  { account, at }: EventContext,
  provider_message_id: string,
  status: "delivered" | "read"
): Parsed =>
  singleEvent(account, { event: "message_status_reported", provider_message_id, reference: null, status, at })

/** The most messages of core that the deletion of one message reaches. No network documents how many files a message can have. */
const deleted_messages_max = 30

/** Returns the ID of one of a message's messages in core: each of its files after the first is a message of its own. */
const messageId = (mid: string, index: number): string => index === 0 ? mid : `${firstCharacters(mid, 490)}.${index}`

/**
 * Returns the deletions of every message of core that one message can have become. A deletion does not contain the number of
 * files, so the maximum is deleted; core stores the deletions of messages that do not exist for 30 days.
 */
const deletionEvents = ({ account, at }: EventContext, mid: string): Parsed =>
  combined(
    Array.from({ length: deleted_messages_max }, (_, index) =>
      singleEvent(account, { event: "message_deleted", provider_message_id: messageId(mid, index), at }))
  )

const parseMessage = (context: EventContext, message: typeof Message.Type): Parsed => {
  const { is_deleted, metadata, mid } = message
  if (is_deleted === true) return deletionEvents(context, mid)
  return combined(
    contentsOfMessage(message).map((content, index) =>
      // A message that this service sent has the send's ID as its metadata, and one part. Another program can use any uuid.
      messageEvent(context, messageId(mid, index), content, index === 0 ? metadata : undefined)
    )
  )
}

/** Parses a reaction. The removal of one is not a message. */
const parseReaction = (context: EventContext, reaction: typeof Reaction.Type): Parsed =>
  reaction.action === "unreact"
    ? ignored("nothing", "item:unreact")
    : receivedMessageEvent(context, derivedId("reaction", context, reaction.mid), contentOfReaction(reaction))

/** Returns the report of all messages to the person before a watermark. */
const watermarkEvents = (
  { account, at, given: { sender } }: EventContext,
  status: "delivered" | "read",
  watermark: typeof NetworkTime.Type | undefined
): ReadonlyArray<Parsed> => {
  const until = timeIn(watermark)
  if (Option.isNone(until) || sender === undefined) return []
  return [singleEvent(account, { event: "messages_reported", external_id: sender.id, status, until: until.value, at })]
}

/** Parses a receipt: a delivery or a read. */
const parseReceipt = (context: EventContext, kind: string): Parsed => {
  const { delivery, read } = context.given
  const delivered = (delivery?.mids ?? []).flatMap((mid) => Option.toArray(decodeMid(mid)))
    .map((mid) => statusEvent(context, mid, "delivered"))
  const seen = read?.mid === undefined ? [] : [statusEvent(context, read.mid, "read")]
  const statuses = [
    ...delivered,
    ...seen,
    ...watermarkEvents(context, "delivered", delivery?.watermark),
    ...watermarkEvents(context, "read", read?.watermark)
  ]
  return statuses.length === 0 ? ignored("unreadable", kind) : combined(statuses)
}

/** Parses a messaging event by the field that it has. */
const parseField = (context: EventContext, kind: string): Parsed => {
  const { account, at, is_own } = context
  const { delivery, message, message_edit, postback, reaction, read } = context.given
  if (message !== undefined) return parseMessage(context, message)
  if (postback !== undefined) {
    return receivedMessageEvent(context, postback.mid ?? derivedId("postback", context), contentOfPostback(postback))
  }
  if (reaction !== undefined) return parseReaction(context, reaction)
  if (message_edit !== undefined) {
    const { mid: provider_message_id, text } = message_edit
    return singleEvent(account, { event: "message_edited", provider_message_id, text, at })
  }
  if (delivery !== undefined || read !== undefined) {
    return is_own ? ignored("nothing", "item:own") : parseReceipt(context, kind)
  }
  // The field that its kind requires cannot be read.
  return ignored("unreadable", kind)
}

/** The fields of every messaging event, which do not show its kind. */
const envelope_fields = new Set(["sender", "recipient", "timestamp"])

/** Returns the kind of a messaging event: the name of a documented field, or else of its first field. */
const kindOf = (event: object): string => {
  const names = Object.entries(event).flatMap(([name, value]) =>
    value === null || envelope_fields.has(name) ? [] : [name]
  )
  return Object.keys(messaging_events).find((kind) => names.includes(kind)) ?? names[0] ?? ""
}

const parseMessagingEvent = (
  type: MessengerType,
  entry_id: string | null,
  event: unknown,
  { received_at }: Arrival
): Parsed => {
  const decoded = decodeMessagingEvent(event)
  if (Option.isNone(decoded)) return ignored("unreadable", "item")
  const name = kindOf(Object(event))
  const kind = `item:${name}`
  const meaning = meaningIn(messaging_events, name)
  if (meaning === undefined || meaning === "account" || meaning === "nothing") return ignoredAs(meaning, kind)
  const { id, is_own } = ownerOf(entry_id, objectOf(event))
  if (id === null) return ignored("unreadable", "item:account")
  const { delivery, read, timestamp } = decoded.value
  const at = timeOf(timestamp, timeOf(delivery?.watermark ?? read?.watermark, received_at))
  return parseField({ account: { type, id }, given: decoded.value, is_own, at }, kind)
}

/** Parses a change whose value is a messaging event, another form that Instagram uses. */
const parseChange = (type: MessengerType, entry_id: string | null, change: unknown, arrival: Arrival): Parsed => {
  const field = fieldOf(change) ?? "messages"
  return isObject(change) && messaging_event_fields.has(field)
    ? parseMessagingEvent(type, entry_id, change["value"], arrival)
    : ignored("nothing", `field:${field}`)
}

const parse = (
  type: MessengerType,
  { changes = [], id, messaging = [], standby = [] }: Entry,
  arrival: Arrival
): ReadonlyArray<Parsed> => [
  ...[...messaging, ...standby].map((event) => parseMessagingEvent(type, id ?? null, event, arrival)),
  ...changes.map((change) => parseChange(type, id ?? null, change, arrival))
]

/** Returns the format of the entries of Messenger or of Instagram. */
export const format = (type: MessengerType): EntryFormat => ({
  parse: (entry, arrival) => parse(type, entry, arrival),
  split: (entry) => split(type, entry)
})
