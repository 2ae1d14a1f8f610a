/** Reads the callbacks of pages and photo accounts: messages, edits, deletions and receipts. */
import type { ChannelType } from "@messaging-crm/core/Channels"
import { SendId } from "@messaging-crm/core/Ids"
import type { MediaKind } from "@messaging-crm/core/Media"
import { type DateTime, Option, Schema } from "effect"
import type { AccountName } from "../CloudAccounts.ts"
import { Items, lenient, NetworkId, StorableText } from "../Wire.ts"
import { all, ignored, type MessageContent, Moment, type Notices, noticesOf, textContent, timeOf } from "./Notice.ts"

export type SocialType = Exclude<ChannelType, "phone_messaging">

const Attachment = Schema.Struct({
  type: lenient(Schema.String),
  title: lenient(StorableText),
  payload: lenient(Schema.Struct({
    url: lenient(StorableText),
    title: lenient(StorableText),
    sticker_id: lenient(NetworkId)
  }))
})
type Attachment = typeof Attachment.Type

const Message = Schema.Struct({
  mid: NetworkId,
  text: lenient(StorableText),
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
  message_edit: lenient(Schema.Struct({ mid: NetworkId, text: lenient(StorableText) })),
  postback: lenient(Schema.Struct({ mid: lenient(NetworkId), title: lenient(StorableText) })),
  reaction: lenient(Schema.Struct({ mid: NetworkId, emoji: lenient(StorableText) })),
  delivery: lenient(Schema.Struct({ mids: lenient(Items) })),
  read: lenient(Schema.Struct({ mid: lenient(NetworkId) }))
})
type Item = typeof Item.Type

const decodeItem = Schema.decodeUnknownOption(Item)
const decodeChange = Schema.decodeUnknownOption(Schema.Struct({ value: Schema.Unknown }))
const decodeAttachment = Schema.decodeUnknownOption(Attachment)
const decodeMid = Schema.decodeUnknownOption(NetworkId)

/** The kinds of items that are not messages and have no event in core. */
const ignoredKinds = ["account_linking", "app_roles", "optin", "pass_thread_control", "referral", "take_thread_control"]

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

/** Returns the content of an attachment that is not a file: a location, or something with a title or a URL. */
const other = ({ payload, title, type }: Attachment): MessageContent =>
  textContent(type === "location" ? "location" : "unsupported", title ?? payload?.title ?? payload?.url ?? null)

const attached = (item: unknown): MessageContent => {
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

/** Returns the contents of a message. In core each file is a separate message; the text goes with the first. */
const contentOfMessage = (
  { attachments = [], quick_reply, text }: typeof Message.Type
): ReadonlyArray<MessageContent> => {
  const [first, ...more] = attachments.map(attached)
  if (text === undefined) return first === undefined ? [textContent("unsupported", null)] : [first, ...more]
  if (first === undefined) return [textContent(quick_reply === undefined ? "text" : "interactive", text)]
  return first.media === null
    ? [textContent("text", text), ...[first, ...more].filter(({ media }) => media !== null)]
    : [{ ...first, text }, ...more]
}

/** What the readers of an item's parts need. */
interface Context {
  readonly account: AccountName
  readonly item: Item
  readonly at: DateTime.Utc
}

const receivedAs = (
  { account, at, item: { sender } }: Context,
  id: string,
  { file, ...content }: MessageContent
): Notices =>
  sender === undefined ? ignored("unreadable") : noticesOf({
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

/** Makes a message id for an item that has none. A repeated callback gives the same id. */
const madeUp = (kind: string, { at, item: { sender } }: Context, about = "") =>
  [kind, sender?.id, at.epochMilliseconds, about].join(".").slice(0, 500)

const status = (
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

/** Reads the echo of a message that the business sent. Its metadata hold the reference if this service sent it. */
const echo = (context: Context, { metadata, mid }: typeof Message.Type): Notices =>
  metadata === undefined ? ignored("echo") : status(context, mid, "sent", metadata)

const message = (context: Context, given: typeof Message.Type): Notices => {
  const { account, at } = context
  const { is_deleted, is_echo, mid } = given
  if (is_deleted === true) {
    return noticesOf({ account, event: { event: "message_deleted", provider_message_id: mid, at }, file: null })
  }
  if (is_echo === true) return echo(context, given)
  return all(
    contentOfMessage(given).map((each, index) =>
      receivedAs(context, index === 0 ? mid : `${mid.slice(0, 490)}.${index}`, each)
    )
  )
}

/** Reads receipts. One without message ids, for all messages before a time, has no event in core and is ignored. */
const receipts = (context: Context, { delivery, read }: Item): Notices => {
  const delivered = (delivery?.mids ?? []).flatMap((mid) => Option.toArray(decodeMid(mid)))
    .map((mid) => status(context, mid, "delivered", null))
  const seen = read?.mid === undefined ? [] : [status(context, read.mid, "read", null)]
  const statuses = [...delivered, ...seen]
  return statuses.length === 0 ? ignored("receipt") : all(statuses)
}

const contentOf = (context: Context): Notices => {
  const { account, at, item } = context
  if (item.message !== undefined) return message(context, item.message)
  if (item.message_edit !== undefined) {
    const { mid: provider_message_id, text } = item.message_edit
    return noticesOf({
      account,
      event: { event: "message_edited", provider_message_id, text: text ?? null, at },
      file: null
    })
  }
  if (item.postback !== undefined) {
    const { mid, title } = item.postback
    return receivedAs(context, mid ?? madeUp("postback", context), textContent("interactive", title ?? null))
  }
  if (item.reaction !== undefined) {
    const { emoji, mid } = item.reaction
    return receivedAs(context, madeUp("reaction", context, mid), textContent("reaction", emoji ?? null))
  }
  if (item.delivery !== undefined || item.read !== undefined) return receipts(context, item)
  return receivedAs(context, madeUp("unsupported", context), textContent("unsupported", null))
}

const isIgnored = (item: unknown): boolean =>
  typeof item === "object" && item !== null && ignoredKinds.some((name) => Object.hasOwn(item, name)) &&
  !Object.hasOwn(item, "message") && !Object.hasOwn(item, "postback")

/** Reads one item of an entry. The account is the recipient, in an echo the sender, else the id of the entry. */
export const read = (
  type: SocialType,
  entry_id: string | null,
  item: unknown,
  received_at: DateTime.Utc
): Notices => {
  const decoded = decodeItem(item)
  if (Option.isNone(decoded)) return ignored("unreadable")
  if (isIgnored(item)) return ignored("field")
  const { message, recipient, sender, timestamp } = decoded.value
  const own = message?.is_echo === true ? sender : recipient
  const id = own?.id ?? entry_id
  if (id === null) return ignored("unreadable")
  return contentOf({ account: { type, id }, item: decoded.value, at: timeOf(timestamp, received_at) })
}

/** Reads an item that is the value of a change, another form that photo accounts get. */
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
