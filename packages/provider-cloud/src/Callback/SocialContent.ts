/** Reads the content of a message of a page or a photo account. */
import type { MediaKind } from "@messaging-crm/core/Media"
import { Option, Schema } from "effect"
import { Items, lenient, NetworkId, StorableText } from "../Wire.ts"
import { type MessageContent, textContent } from "./Notice.ts"

/** The parts of a message that are its content. */
export const Content = {
  text: lenient(StorableText),
  attachments: lenient(Items),
  quick_reply: lenient(Schema.Unknown)
}
const ContentFields = Schema.Struct(Content)

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

const decodeAttachment = Schema.decodeUnknownOption(Attachment)

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
export const contentsOfMessage = (
  { attachments = [], quick_reply, text }: typeof ContentFields.Type
): ReadonlyArray<MessageContent> => {
  const [first, ...more] = attachments.map(attached)
  if (text === undefined) return first === undefined ? [textContent("unsupported", null)] : [first, ...more]
  if (first === undefined) return [textContent(quick_reply === undefined ? "text" : "interactive", text)]
  return first.media === null
    ? [textContent("text", text), ...[first, ...more].filter(({ media }) => media !== null)]
    : [{ ...first, text }, ...more]
}
