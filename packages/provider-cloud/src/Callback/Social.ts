/** Reads the callbacks of pages and photo accounts: messages, edits, deletions and receipts. */
import type { ChannelType } from "@messaging-crm/core/Channels"
import { SendId } from "@messaging-crm/core/Ids"
import { firstCharacters } from "@messaging-crm/core/Text"
import { type DateTime, Option, Schema } from "effect"
import type { AccountKey } from "../CloudAccounts.ts"
import { Flag, idOf, isFlagSet, isObject, Items, lenient, NetworkId, objectOf, StorableText } from "../GraphJson.ts"
import { peopleIn } from "../People.ts"
import { meaningIn, social_fields, social_items } from "./Kinds.ts"
import {
  type Arrival,
  type Entry,
  fieldOf,
  ignored,
  ignoredAs,
  joined,
  type MessageContent,
  type Network,
  NetworkTime,
  type Notices,
  noticesOf,
  type Part,
  timeIn,
  timeOf
} from "./Notice.ts"
import {
  Content,
  contentOfPostback,
  contentOfReaction,
  contentsOfMessage,
  Postback,
  Reaction
} from "./SocialContent.ts"

type SocialType = Exclude<ChannelType, "phone_messaging">

const Message = Schema.Struct({
  mid: NetworkId,
  ...Content,
  is_echo: lenient(Flag),
  is_deleted: lenient(Flag),
  metadata: lenient(SendId),
  app_id: lenient(NetworkId)
})

const Item = Schema.Struct({
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
type Item = typeof Item.Type

const decodeItem = Schema.decodeUnknownOption(Item)
const decodeMid = Schema.decodeUnknownOption(NetworkId)

/** The context of the parts of an item, for their readers. */
interface Context extends Pick<Arrival, "app_id"> {
  readonly account: AccountKey
  readonly item: Item
  /** Whether the business sent it, and not the person. */
  readonly isOwn: boolean
  readonly at: DateTime.Utc
}

const person = (id: string) => ({ external_id: id, aliases: [], display_name: null, username: null })

/** Returns a message of the person, or, if the business sent it, one to the person. */
const messageAs = (
  { account, at, isOwn, item: { recipient, sender } }: Context,
  provider_message_id: string,
  { file, ...content }: MessageContent
): Notices => {
  const partner = isOwn ? recipient : sender
  if (partner === undefined) return ignored("unreadable", "item:person")
  const message = { provider_message_id, ...content, sent_at: at }
  return noticesOf({
    account,
    event: isOwn
      ? { event: "message_sent", to: person(partner.id), ...message }
      : { event: "message_received", from: person(partner.id), ...message },
    file
  })
}

/** Returns a message of the person. The same kind of item from the business is ignored. */
const receivedAs = (context: Context, id: string, content: MessageContent): Notices =>
  context.isOwn ? ignored("nothing", "item:own") : messageAs(context, id, content)

/** Makes a message id for an item that has none. A repeated callback gives the same id. */
const derivedId = (kind: string, { at, item: { sender } }: Context, about = "") =>
  firstCharacters([kind, sender?.id, at.epochMilliseconds, about].join("."), 500)

const statusNotice = (
  { account, at }: Context,
  provider_message_id: string,
  reported: "sent" | "delivered" | "read",
  reference: SendId | null
): Notices =>
  noticesOf({
    account,
    event: { event: "message_status_reported", provider_message_id, reference, status: reported, at },
    file: null
  })

/** The most parts of a message that its deletion reaches. No network documents how many files a message can have. */
const deleted_parts_max = 30

/** Returns the message id of a part of a message: each of its files after the first is a message of its own. */
const partId = (mid: string, index: number): string => index === 0 ? mid : `${firstCharacters(mid, 490)}.${index}`

/** Deletes every part of a message, since a deletion does not say how many it has. Core stores the deletions of those that have not arrived, for 30 days. */
const deletion = ({ account, at }: Context, mid: string): Notices =>
  joined(Array.from({ length: deleted_parts_max }, (_, index) =>
    noticesOf({
      account,
      event: { event: "message_deleted", provider_message_id: partId(mid, index), at },
      file: null
    })))

const messageNotices = (context: Context, given: typeof Message.Type): Notices => {
  const { app_id = context.app_id, is_deleted, metadata, mid } = given
  if (is_deleted === true) return deletion(context, mid)
  // A message that this service sent has the send's ID as its metadata. Other metadata is from another app.
  if (context.isOwn && metadata !== undefined && app_id === context.app_id) {
    return statusNotice(context, mid, "sent", metadata)
  }
  return joined(contentsOfMessage(given).map((each, index) => messageAs(context, partId(mid, index), each)))
}

/** Reads a reaction. The removal of one is not a message. */
const reaction = (context: Context, given: NonNullable<Item["reaction"]>): Notices =>
  given.action === "unreact"
    ? ignored("nothing", "item:unreact")
    : receivedAs(context, derivedId("reaction", context, given.mid), contentOfReaction(given))

/** Returns the report of all messages to the person before a time. */
const watermark = (
  { account, at, item: { sender } }: Context,
  reported: "delivered" | "read",
  moment: typeof NetworkTime.Type | undefined
): ReadonlyArray<Notices> => {
  const until = timeIn(moment)
  if (Option.isNone(until) || sender === undefined) return []
  const event = {
    event: "messages_reported",
    external_id: sender.id,
    status: reported,
    until: until.value,
    at
  } as const
  return [noticesOf({ account, event, file: null })]
}

const receipts = (context: Context, kind: string, { delivery, read }: Item): Notices => {
  const delivered = (delivery?.mids ?? []).flatMap((mid) => Option.toArray(decodeMid(mid)))
    .map((mid) => statusNotice(context, mid, "delivered", null))
  const seen = read?.mid === undefined ? [] : [statusNotice(context, read.mid, "read", null)]
  const statuses = [
    ...delivered,
    ...seen,
    ...watermark(context, "delivered", delivery?.watermark),
    ...watermark(context, "read", read?.watermark)
  ]
  return statuses.length === 0 ? ignored("unreadable", kind) : joined(statuses)
}

/** Returns the notices of an item, by the part that it contains. */
const noticesOfItem = (context: Context, kind: string): Notices => {
  const { account, at, item } = context
  if (item.message !== undefined) return messageNotices(context, item.message)
  if (item.postback !== undefined) {
    const { mid } = item.postback
    return receivedAs(context, mid ?? derivedId("postback", context), contentOfPostback(item.postback))
  }
  if (item.reaction !== undefined) return reaction(context, item.reaction)
  if (item.message_edit !== undefined) {
    const { mid: provider_message_id, text } = item.message_edit
    return noticesOf({ account, event: { event: "message_edited", provider_message_id, text, at }, file: null })
  }
  if (item.delivery !== undefined || item.read !== undefined) {
    return context.isOwn
      ? ignored("nothing", "item:own")
      : receipts(context, kind, item)
  }
  // The part that its kind requires cannot be read.
  return ignored("unreadable", kind)
}

/** The fields of every item, which do not show its kind. */
const envelope_fields = new Set(["sender", "recipient", "timestamp"])

/** Returns the kind of an item: the name of a documented field, or else of its first field. */
const kindOf = (item: object): string => {
  const names = Object.entries(item).flatMap(([name, value]) =>
    value === null || envelope_fields.has(name) ? [] : [name]
  )
  return Object.keys(social_items).find((kind) => names.includes(kind)) ?? names[0] ?? ""
}

interface Sides {
  readonly isEcho: boolean
  readonly recipient_id: string | null
  readonly sender_id: string | null
}

/** Returns the id of an item's account: the sender if the business sent it, otherwise the recipient, or else the entry's id. */
const ownerOf = (entry_id: string | null, { isEcho, recipient_id, sender_id }: Sides) => {
  const isFromAccount = sender_id !== null && sender_id === entry_id && recipient_id !== entry_id
  const isOwn = isEcho || isFromAccount
  return { isOwn, id: (isOwn ? sender_id : recipient_id) ?? entry_id }
}

const readItem = (
  type: SocialType,
  entry_id: string | null,
  item: unknown,
  { app_id, received_at }: Arrival
): Notices => {
  const decoded = decodeItem(item)
  if (Option.isNone(decoded)) return ignored("unreadable", "item")
  const name = kindOf(Object(item))
  const kind = `item:${name}`
  const meaning = meaningIn(social_items, name)
  if (meaning === undefined || meaning === "account" || meaning === "nothing") return ignoredAs(meaning, kind)
  const { message, recipient, sender, timestamp } = decoded.value
  const { id, isOwn } = ownerOf(entry_id, {
    isEcho: message?.is_echo === true,
    recipient_id: recipient?.id ?? null,
    sender_id: sender?.id ?? null
  })
  if (id === null) return ignored("unreadable", "item:account")
  const at = timeOf(timestamp, received_at)
  return noticesOfItem({ account: { type, id }, app_id, item: decoded.value, isOwn, at }, kind)
}

/** Reads an item that is the value of a change, another form that photo accounts get. */
const readChange = (type: SocialType, entry_id: string | null, item: unknown, arrival: Arrival): Notices => {
  const field = fieldOf(item) ?? "messages"
  return isObject(item) && social_fields.has(field)
    ? readItem(type, entry_id, item["value"], arrival)
    : ignored("nothing", `field:${field}`)
}

const read = (
  type: SocialType,
  { changes = [], id, messaging = [], standby = [] }: Entry,
  arrival: Arrival
): ReadonlyArray<Notices> => [
  ...[...messaging, ...standby].map((item) => readItem(type, id ?? null, item, arrival)),
  ...changes.map((change) => readChange(type, id ?? null, change, arrival))
]

const split = (type: SocialType, entry: Entry): ReadonlyArray<Part> => {
  const entry_id = entry.id ?? null
  return (["messaging", "standby", "changes"] as const).flatMap((list) =>
    (entry[list] ?? []).map((item) => {
      const about = objectOf(list === "changes" ? objectOf(item)["value"] : item)
      const { id } = ownerOf(entry_id, {
        isEcho: isFlagSet(objectOf(about["message"])["is_echo"]),
        recipient_id: idOf(objectOf(about["recipient"])["id"]),
        sender_id: idOf(objectOf(about["sender"])["id"])
      })
      const account = id === null ? null : { type, id }
      return { account, people: peopleIn(about), entry: [{ id: entry_id, [list]: [item] }] }
    })
  )
}

/** The entries of pages or of photo accounts: items in two lists, or as the values of changes. */
export const network = (type: SocialType): Network => ({
  read: (entry, arrival) => read(type, entry, arrival),
  split: (entry) => split(type, entry)
})
