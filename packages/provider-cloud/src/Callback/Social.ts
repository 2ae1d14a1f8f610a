/** What pages and photo accounts call back with: messages, their edits and deletions, and receipts. */
import type { ChannelType } from "@messaging-crm/core/Channels"
import { SendId } from "@messaging-crm/core/Ids"
import type { MediaKind } from "@messaging-crm/core/Media"
import { type DateTime, Option, Schema } from "effect"
import type { AccountName } from "../CloudAccounts.ts"
import { Items, Kept, lenient, NetworkId } from "../Wire.ts"
import { all, ignored, Moment, type Notices, type Said, said, tell, timeOf } from "./Notice.ts"

export type SocialType = Exclude<ChannelType, "phone_messaging">

const Attachment = Schema.Struct({
  type: lenient(Schema.String),
  title: lenient(Kept),
  payload: lenient(Schema.Struct({
    url: lenient(Kept),
    title: lenient(Kept),
    sticker_id: lenient(NetworkId)
  }))
})
type Attachment = typeof Attachment.Type

const Message = Schema.Struct({
  mid: NetworkId,
  text: lenient(Kept),
  attachments: lenient(Items),
  quick_reply: lenient(Schema.Unknown),
  is_echo: lenient(Schema.Boolean),
  is_deleted: lenient(Schema.Boolean),
  metadata: lenient(SendId)
})

const Item = Schema.Struct({
  sender: lenient(Schema.Struct({ id: NetworkId })),
  recipient: lenient(Schema.Struct({ id: NetworkId })),
  timestamp: lenient(Moment),
  message: lenient(Message),
  message_edit: lenient(Schema.Struct({ mid: NetworkId, text: lenient(Kept) })),
  postback: lenient(Schema.Struct({ mid: lenient(NetworkId), title: lenient(Kept) })),
  reaction: lenient(Schema.Struct({ mid: NetworkId, emoji: lenient(Kept) })),
  delivery: lenient(Schema.Struct({ mids: lenient(Items) })),
  read: lenient(Schema.Struct({ mid: lenient(NetworkId) }))
})
type Item = typeof Item.Type

const decodeItem = Schema.decodeUnknownOption(Item)
const decodeChange = Schema.decodeUnknownOption(Schema.Struct({ value: Schema.Unknown }))
const decodeAttachment = Schema.decodeUnknownOption(Attachment)
const decodeMid = Schema.decodeUnknownOption(NetworkId)

/** Parts of an item that are no message, and tell of nothing that core keeps. */
const silent = ["account_linking", "app_roles", "optin", "pass_thread_control", "referral", "take_thread_control"]

const kinds: Readonly<Record<string, MediaKind>> = {
  image: "image",
  video: "video",
  audio: "audio",
  file: "document",
  ig_reel: "video",
  reel: "video"
}

const kindOf = ({ payload, type = "" }: Attachment): MediaKind | null => {
  if (type === "image" && payload?.sticker_id !== undefined) return "sticker"
  return Object.hasOwn(kinds, type) ? kinds[type] ?? null : null
}

/** What is attached that is no file: a place, or something with a title or an address. */
const other = ({ payload, title, type }: Attachment): Said =>
  said(type === "location" ? "location" : "unsupported", title ?? payload?.title ?? payload?.url ?? null)

const attached = (item: unknown): Said => {
  const attachment = Option.getOrElse(decodeAttachment(item), (): Attachment => ({}))
  const kind = kindOf(attachment)
  if (kind === null) return other(attachment)
  const url = attachment.payload?.url
  return {
    type: kind,
    text: null,
    media: { kind, mime_type: null, filename: null, transcript: null, bytes: null },
    file: url === undefined ? null : { url }
  }
}

/** Returns what a message says. Each file is a message of its own in core; the text goes with the first. */
const saidOf = ({ attachments = [], quick_reply, text }: typeof Message.Type): ReadonlyArray<Said> => {
  const [first, ...more] = attachments.map(attached)
  if (text === undefined) return first === undefined ? [said("unsupported", null)] : [first, ...more]
  if (first === undefined) return [said(quick_reply === undefined ? "text" : "interactive", text)]
  return first.media === null
    ? [said("text", text), ...[first, ...more].filter(({ media }) => media !== null)]
    : [{ ...first, text }, ...more]
}

/** What is needed to file a part of an item. */
interface Context {
  readonly account: AccountName
  readonly item: Item
  readonly at: DateTime.Utc
}

const receivedAs = ({ account, at, item: { sender } }: Context, id: string, { file, ...content }: Said): Notices =>
  sender === undefined ? ignored("unreadable") : tell({
    account,
    event: {
      event: "message_received",
      provider_message_id: id,
      from: { external_id: sender.id, aliases: [], display_name: null, username: null },
      ...content,
      sent_at: at
    },
    file
  })

/** Names something that has no id of its own. It is the same name however often it is told of. */
const madeUp = (kind: string, { at, item: { sender } }: Context, about = "") =>
  [kind, sender?.id, at.epochMilliseconds, about].join(".").slice(0, 500)

const status = (
  { account, at }: Context,
  provider_message_id: string,
  reported: "sent" | "delivered" | "read",
  reference: SendId | null
): Notices =>
  tell({
    account,
    event: { event: "message_status_reported", provider_message_id, reference, status: reported, at },
    file: null
  })

/** A message that the business sent. Its metadata are the reference of a send, where the service sent it. */
const echo = (context: Context, { metadata, mid }: typeof Message.Type): Notices =>
  metadata === undefined ? ignored("echo") : status(context, mid, "sent", metadata)

const message = (context: Context, given: typeof Message.Type): Notices => {
  const { account, at } = context
  const { is_deleted, is_echo, mid } = given
  if (is_deleted === true) {
    return tell({ account, event: { event: "message_deleted", provider_message_id: mid, at }, file: null })
  }
  if (is_echo === true) return echo(context, given)
  return all(
    saidOf(given).map((each, index) => receivedAs(context, index === 0 ? mid : `${mid.slice(0, 490)}.${index}`, each))
  )
}

/** A receipt that names no message, but all before a moment, is nothing that core can be told. */
const receipts = (context: Context, { delivery, read }: Item): Notices => {
  const delivered = (delivery?.mids ?? []).flatMap((mid) => Option.toArray(decodeMid(mid)))
    .map((mid) => status(context, mid, "delivered", null))
  const seen = read?.mid === undefined ? [] : [status(context, read.mid, "read", null)]
  const told = [...delivered, ...seen]
  return told.length === 0 ? ignored("receipt") : all(told)
}

const contentOf = (context: Context): Notices => {
  const { account, at, item } = context
  if (item.message !== undefined) return message(context, item.message)
  if (item.message_edit !== undefined) {
    const { mid: provider_message_id, text } = item.message_edit
    return tell({
      account,
      event: { event: "message_edited", provider_message_id, text: text ?? null, at },
      file: null
    })
  }
  if (item.postback !== undefined) {
    const { mid, title } = item.postback
    return receivedAs(context, mid ?? madeUp("postback", context), said("interactive", title ?? null))
  }
  if (item.reaction !== undefined) {
    const { emoji, mid } = item.reaction
    return receivedAs(context, madeUp("reaction", context, mid), said("reaction", emoji ?? null))
  }
  if (item.delivery !== undefined || item.read !== undefined) return receipts(context, item)
  return receivedAs(context, madeUp("unsupported", context), said("unsupported", null))
}

const isSilent = (item: unknown): boolean =>
  typeof item === "object" && item !== null && silent.some((name) => Object.hasOwn(item, name)) &&
  !Object.hasOwn(item, "message") && !Object.hasOwn(item, "postback")

/** Reads one item of an entry, which names the account. What is in an echo's place of the sender is the account itself. */
export const read = (
  type: SocialType,
  entry_id: string | null,
  item: unknown,
  received_at: DateTime.Utc
): Notices => {
  const decoded = decodeItem(item)
  if (Option.isNone(decoded)) return ignored("unreadable")
  if (isSilent(item)) return ignored("field")
  const { message, recipient, sender, timestamp } = decoded.value
  const own = message?.is_echo === true ? sender : recipient
  const id = own?.id ?? entry_id
  if (id === null) return ignored("unreadable")
  return contentOf({ account: { type, id }, item: decoded.value, at: timeOf(timestamp, received_at) })
}

/** Reads an item in the form that photo accounts are also told of: as the value of a change. */
export const readChange = (
  type: SocialType,
  entry_id: string | null,
  item: unknown,
  received_at: DateTime.Utc
): Notices => {
  const { value } = Option.getOrElse(decodeChange(item), () => ({ value: undefined }))
  const isItem = Option.exists(decodeItem(value), ({ sender }) => sender !== undefined)
  return isItem ? read(type, entry_id, value, received_at) : ignored("field")
}
