/** Reads the content of a phone-messaging message, by its type. */
import type { MediaKind } from "@messaging-crm/core/Media"
import { Option, Schema } from "effect"
import { Items, lenient, NetworkId, StorableText } from "../Wire.ts"
import { type MessageContent, textContent } from "./Notice.ts"

const File = Schema.Struct({
  id: lenient(NetworkId),
  url: lenient(Schema.String),
  mime_type: lenient(StorableText),
  filename: lenient(StorableText),
  caption: lenient(StorableText)
})

const Place = Schema.Struct({
  latitude: lenient(Schema.Number),
  longitude: lenient(Schema.Number),
  name: lenient(StorableText),
  address: lenient(StorableText)
})

const Card = Schema.Struct({
  name: lenient(Schema.Struct({ formatted_name: lenient(StorableText) })),
  phones: lenient(Schema.Array(Schema.Struct({ phone: lenient(StorableText) })))
})

const Choice = Schema.Struct({ title: lenient(StorableText) })

const Content = Schema.Struct({
  type: lenient(Schema.String),
  text: lenient(Schema.Struct({ body: lenient(StorableText) })),
  image: lenient(File),
  video: lenient(File),
  audio: lenient(File),
  voice: lenient(File),
  document: lenient(File),
  sticker: lenient(File),
  location: lenient(Place),
  contacts: lenient(Items),
  interactive: lenient(Schema.Struct({
    button_reply: lenient(Choice),
    list_reply: lenient(Choice),
    nfm_reply: lenient(Schema.Struct({ body: lenient(StorableText) }))
  })),
  button: lenient(Schema.Struct({ text: lenient(StorableText) })),
  reaction: lenient(Schema.Struct({ emoji: lenient(StorableText) })),
  order: lenient(Schema.Struct({ text: lenient(StorableText) })),
  system: lenient(Schema.Struct({ body: lenient(StorableText) }))
})

const decodeCard = Schema.decodeUnknownOption(Card)
const decode = Schema.decodeUnknownOption(Content)

const isText = (value: string | undefined): value is string => value !== undefined && value !== ""

/** Returns the non-empty parts, one on each line; null where there are none. */
const lines = (...parts: ReadonlyArray<string | undefined>): string | null => {
  const given = parts.filter(isText)
  return given.length === 0 ? null : given.join("\n")
}

/** Returns the content of a message with a file, also where the file has neither an id nor a URL. */
const file = (kind: MediaKind, given: typeof File.Type | undefined): MessageContent => {
  const { caption, filename, id, mime_type, url } = given ?? {}
  const address = url === undefined ? null : { url }
  return {
    type: kind,
    text: caption ?? null,
    media: { kind, mime_type: mime_type ?? null, filename: filename ?? null, transcript: null, bytes: null },
    file: id === undefined ? address : { media_id: id }
  }
}

const place = ({ address, latitude, longitude, name }: typeof Place.Type): string | null =>
  lines(name, address, latitude === undefined || longitude === undefined ? undefined : `${latitude}, ${longitude}`)

const card = ({ name, phones = [] }: typeof Card.Type): ReadonlyArray<string | undefined> => [
  name?.formatted_name,
  ...phones.map(({ phone }) => phone)
]

const cards = (items: typeof Items.Type): string | null =>
  lines(...items.flatMap((item) => Option.toArray(decodeCard(item)).flatMap(card)))

const contentOf = (content: typeof Content.Type): MessageContent => {
  switch (content.type) {
    case "text":
      return textContent("text", content.text?.body ?? null)
    case "image":
    case "video":
    case "audio":
    case "document":
    case "sticker":
      return file(content.type, content[content.type])
    case "voice":
      return file("audio", content.voice ?? content.audio)
    case "location":
      return textContent("location", place(content.location ?? {}))
    case "contacts":
      return textContent("contacts", cards(content.contacts ?? []))
    case "interactive": {
      const { button_reply, list_reply, nfm_reply } = content.interactive ?? {}
      return textContent("interactive", lines(button_reply?.title ?? list_reply?.title ?? nfm_reply?.body))
    }
    case "button":
      return textContent("interactive", content.button?.text ?? null)
    case "reaction":
      return textContent("reaction", lines(content.reaction?.emoji))
    case "order":
      return textContent("unsupported", lines(content.order?.text))
    case "system":
      return textContent("unsupported", lines(content.system?.body))
    default:
      return textContent("unsupported", null)
  }
}

/** Returns the content of a message; `unsupported` without text for an unknown type. */
export const contentOfMessage = (message: unknown): MessageContent =>
  Option.match(decode(message), { onNone: () => textContent("unsupported", null), onSome: contentOf })
