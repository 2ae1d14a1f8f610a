/** Reads the content of a message of Messenger or Instagram. */
import type { MediaKind } from "@messaging-crm/core/Media"
import type { MessageDetails } from "@messaging-crm/core/MessageDetails"
import { Option, Schema, Struct } from "effect"
import { Flag, isObject, Items, lenient, NetworkId, StorableText } from "../../GraphSchemas.ts"
import {
  jsonObjectOf,
  lines,
  type MessageContent,
  notice,
  providerType,
  textContent,
  withDetails
} from "../MessageContent.ts"

const Referral = Schema.Struct({
  source: lenient(StorableText),
  type: lenient(StorableText),
  ref: lenient(StorableText),
  ad_id: lenient(NetworkId),
  referer_uri: lenient(StorableText),
  product: lenient(Schema.Struct({ id: lenient(NetworkId) })),
  ads_context_data: lenient(Schema.Struct({
    ad_title: lenient(StorableText),
    photo_url: lenient(StorableText),
    video_url: lenient(StorableText),
    post_id: lenient(NetworkId),
    product_id: lenient(NetworkId)
  }))
})

/** The fields of a message that are its content. */
export const content_fields = {
  text: lenient(StorableText),
  attachments: lenient(Items),
  /** Whether the person wrote something that the network's API does not support. */
  is_unsupported: lenient(Flag),
  quick_reply: lenient(Schema.Struct({ payload: lenient(StorableText) })),
  reply_to: lenient(Schema.Struct({
    mid: lenient(NetworkId),
    story: lenient(Schema.Struct({ id: lenient(NetworkId), url: lenient(StorableText) }))
  })),
  referral: lenient(Referral)
}
const ContentFields = Schema.Struct(content_fields)

/** A chosen button of a template or a menu. */
export const Postback = Schema.Struct({
  mid: lenient(NetworkId),
  title: lenient(StorableText),
  payload: lenient(StorableText),
  referral: lenient(Referral)
})

export const Reaction = Schema.Struct({
  mid: NetworkId,
  action: lenient(Schema.String),
  emoji: lenient(StorableText),
  /** The name of the emoji, such as `love`. */
  reaction: lenient(StorableText)
})

/** The fields of an attachment's payload that the details of a message describe. */
const described_fields = {
  url: lenient(StorableText),
  title: lenient(StorableText),
  id: lenient(NetworkId),
  sticker_id: lenient(NetworkId),
  reel_video_id: lenient(NetworkId),
  ig_post_media_id: lenient(NetworkId),
  story_media_id: lenient(NetworkId),
  story_media_url: lenient(StorableText),
  coordinates: lenient(Schema.Struct({ lat: lenient(Schema.Finite), long: lenient(Schema.Finite) }))
} as const

const Attachment = Schema.Struct({
  type: lenient(StorableText),
  title: lenient(StorableText),
  url: lenient(StorableText),
  payload: lenient(Schema.Struct({
    ...described_fields,
    text: lenient(StorableText),
    product: lenient(Schema.Struct({ elements: lenient(Items) }))
  }))
})
type Attachment = typeof Attachment.Type

const Element = Schema.Struct({
  id: lenient(NetworkId),
  retailer_id: lenient(NetworkId),
  title: lenient(StorableText),
  image_url: lenient(StorableText)
})

const decodeAttachment = (item: unknown): Attachment =>
  Option.getOrElse(Schema.decodeUnknownOption(Attachment)(item), (): Attachment => ({}))
const decodeElement = Schema.decodeUnknownOption(Element)

/** The attachments that are files. The URLs of posts and reels are web pages. */
const media_kinds: Readonly<Record<string, MediaKind>> = {
  image: "image",
  video: "video",
  audio: "audio",
  file: "document",
  sticker: "sticker"
}

/** The types under which the networks attach the same thing again, for clients that do not support its own type. */
const repeating_types = new Set(["image", "share"])

const isRepeating = ({ type = "" }: Attachment): boolean => repeating_types.has(type)

/** Returns what identifies the thing that is attached. */
const keysOf = ({ payload: { ig_post_media_id, sticker_id, url } = {} }: Attachment): ReadonlyArray<string> =>
  [sticker_id, ig_post_media_id, url].flatMap((key) => key === undefined ? [] : [key])

/** Returns the payload of an attachment if it has fields that the details of a message do not describe. */
const undescribedPayload = (item: unknown): MessageDetails => {
  const payload = isObject(item) ? item["payload"] : undefined
  if (!isObject(payload) || Object.keys(payload).every((name) => Object.hasOwn(described_fields, name))) return {}
  return { provider_data: jsonObjectOf(payload) ?? {} }
}

const mediaKindOf = ({ payload, type = "" }: Attachment): MediaKind | null => {
  if (type === "image" && payload?.sticker_id !== undefined) return "sticker"
  return Object.hasOwn(media_kinds, type) ? media_kinds[type] ?? null : null
}

const fileContent = (kind: MediaKind, { payload }: Attachment): MessageContent => ({
  type: kind,
  text: null,
  media: { kind, mime_type: null, filename: null, transcript: null, bytes: null },
  details: null,
  file: payload?.url === undefined ? null : { url: payload.url }
})

const locationContent = ({ payload, title, url }: Attachment): MessageContent => {
  const { lat = null, long = null } = payload?.coordinates ?? {}
  const name = title ?? payload?.title ?? null
  const coordinates = lat === null || long === null ? null : `${lat}, ${long}`
  const link = url ?? payload?.url ?? null
  return textContent("location", lines(name, coordinates) ?? link, {
    location: { latitude: lat, longitude: long, name, address: null, url: link }
  })
}

type Share = NonNullable<MessageDetails["shares"]>[number]

/** Returns what an attachment shares: its products, or else itself. */
const sharesOf = ({ payload = {}, title, type = "", url }: Attachment): ReadonlyArray<Share> => {
  const products = (payload.product?.elements ?? []).flatMap((element) => Option.toArray(decodeElement(element)))
  if (products.length > 0) {
    return products.map(({ id, image_url, retailer_id, title }) => ({
      type: "product",
      id: retailer_id ?? id ?? null,
      title: title ?? null,
      url: image_url ?? null
    }))
  }
  const id = payload.id ?? payload.reel_video_id ?? payload.ig_post_media_id ?? payload.story_media_id ?? null
  return [{
    type: providerType(type),
    id,
    title: title ?? payload.title ?? null,
    url: payload.url ?? url ?? payload.story_media_url ?? null
  }]
}

const sharedContent = (attachment: Attachment): MessageContent => {
  const shares = sharesOf(attachment)
  const { id = null, title = null, url = null } = shares[0] ?? {}
  const { payload, type } = attachment
  const text = lines(title) ?? lines(payload?.text) ?? url
  if (type === "story_mention") {
    return textContent("unsupported", text, { story: { action: "mention", id, url }, provider_type: type })
  }
  return textContent("unsupported", text, type === undefined ? null : { shares, provider_type: providerType(type) })
}

const contentOfAttachment = (attachment: Attachment): MessageContent => {
  const kind = mediaKindOf(attachment)
  if (kind !== null) return fileContent(kind, attachment)
  return attachment.type === "location" ? locationContent(attachment) : sharedContent(attachment)
}

/** Returns the contents of attachments, each once. */
const contentsOfAttachments = (items: typeof Items.Type): ReadonlyArray<MessageContent> => {
  const given = items.map((item) => ({ item, attachment: decodeAttachment(item) }))
  const ownKeys = new Set(given.flatMap(({ attachment }) => isRepeating(attachment) ? [] : keysOf(attachment)))
  return given.flatMap(({ attachment, item }) =>
    isRepeating(attachment) && keysOf(attachment).some((key) => ownKeys.has(key))
      ? []
      : [withDetails(contentOfAttachment(attachment), undescribedPayload(item))]
  )
}

/** Joins the details of contents without files, with all of their shares. */
const joinedDetails = (contents: ReadonlyArray<MessageContent>): MessageDetails => {
  const shares = contents.flatMap(({ details }) => details?.shares ?? [])
  const joined: MessageDetails = Object.assign({}, ...contents.map(({ details }) => details))
  // The type of one attachment does not describe a message with several.
  const details = Struct.omit(joined, ["provider_type", "shares"])
  return shares.length === 0 ? details : { ...details, shares }
}

const referralOf = (
  { ad_id, ads_context_data: ad, product, ref, referer_uri, source, type }: typeof Referral.Type
): NonNullable<MessageDetails["referral"]> => ({
  source: source ?? null,
  type: type ?? null,
  id: ad_id ?? ad?.post_id ?? null,
  url: referer_uri ?? null,
  ref: ref ?? null,
  headline: ad?.ad_title ?? null,
  body: null,
  media_url: ad?.photo_url ?? ad?.video_url ?? null,
  click_id: null,
  product_id: product?.id ?? ad?.product_id ?? null,
  greeting: null
})

const referralDetails = (referral: typeof Referral.Type | undefined): MessageDetails =>
  referral === undefined ? {} : { referral: referralOf(referral) }

/** Returns the details that a message of any type can have. */
const contextDetails = ({ quick_reply, referral, reply_to, text }: typeof ContentFields.Type): MessageDetails => ({
  ...(quick_reply === undefined ? {} : {
    choice: {
      kind: "quick_reply",
      id: null,
      title: text ?? null,
      description: null,
      payload: quick_reply.payload ?? null
    }
  }),
  ...(reply_to?.mid === undefined ? {} : { quoted: { provider_message_id: reply_to.mid, from: null } }),
  ...(reply_to?.story === undefined
    ? {}
    : { story: { action: "reply", id: reply_to.story.id ?? null, url: reply_to.story.url ?? null } }),
  ...referralDetails(referral)
})

/** Returns the contents of a message's text and attachments. */
const contentsWithoutContext = (
  { attachments = [], quick_reply, text }: typeof ContentFields.Type
): ReadonlyArray<MessageContent> => {
  const [first, ...more] = contentsOfAttachments(attachments)
  if (text === undefined) return first === undefined ? [] : [first, ...more]
  if (first !== undefined && first.media !== null) return [{ ...first, text }, ...more]
  const content = textContent(quick_reply === undefined ? "text" : "interactive", text)
  const others = [...(first === undefined ? [] : [first]), ...more]
  const [files, rest] = [others.filter(({ media }) => media !== null), others.filter(({ media }) => media === null)]
  return [withDetails(content, joinedDetails(rest)), ...files]
}

/** Returns the content of a message without a text and attachments. If nothing shows that the person wrote it, it is a notice. */
const emptyContent = ({ is_unsupported, quick_reply, reply_to }: typeof ContentFields.Type): MessageContent => {
  const content = textContent("unsupported", null)
  return is_unsupported === true || quick_reply !== undefined || reply_to !== undefined ? content : notice(content)
}

/** Returns the contents of a message. In core each file is a separate message; text and details go with the first. */
export const contentsOfMessage = (message: typeof ContentFields.Type): ReadonlyArray<MessageContent> => {
  const [first = emptyContent(message), ...more] = contentsWithoutContext(message)
  return [withDetails(first, contextDetails(message)), ...more]
}

export const contentOfPostback = ({ payload, referral, title }: typeof Postback.Type): MessageContent =>
  textContent("interactive", title ?? null, {
    choice: { kind: "postback", id: null, title: title ?? null, description: null, payload: payload ?? null },
    ...referralDetails(referral)
  })

export const contentOfReaction = ({ emoji, mid, reaction }: typeof Reaction.Type): MessageContent =>
  textContent("reaction", emoji ?? reaction ?? null, {
    reaction: { action: "react", emoji: emoji ?? null, provider_message_id: mid }
  })
