/** What a message of phone messaging says, by its type. */
import type { MediaKind } from "@messaging-crm/core/Media"
import { Option, Schema } from "effect"
import { Items, Kept, lenient, NetworkId } from "../Wire.ts"
import { type Said, said } from "./Notice.ts"

const File = Schema.Struct({
  id: lenient(NetworkId),
  url: lenient(Schema.String),
  mime_type: lenient(Kept),
  filename: lenient(Kept),
  caption: lenient(Kept)
})

const Place = Schema.Struct({
  latitude: lenient(Schema.Number),
  longitude: lenient(Schema.Number),
  name: lenient(Kept),
  address: lenient(Kept)
})

const Card = Schema.Struct({
  name: lenient(Schema.Struct({ formatted_name: lenient(Kept) })),
  phones: lenient(Schema.Array(Schema.Struct({ phone: lenient(Kept) })))
})

const Choice = Schema.Struct({ title: lenient(Kept) })

const Content = Schema.Struct({
  type: lenient(Schema.String),
  text: lenient(Schema.Struct({ body: lenient(Kept) })),
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
    nfm_reply: lenient(Schema.Struct({ body: lenient(Kept) }))
  })),
  button: lenient(Schema.Struct({ text: lenient(Kept) })),
  reaction: lenient(Schema.Struct({ emoji: lenient(Kept) })),
  order: lenient(Schema.Struct({ text: lenient(Kept) })),
  system: lenient(Schema.Struct({ body: lenient(Kept) }))
})

const decodeCard = Schema.decodeUnknownOption(Card)
const decode = Schema.decodeUnknownOption(Content)

const isText = (value: string | undefined): value is string => value !== undefined && value !== ""

/** Returns the parts that are there, on a line each; null where there are none. */
const lines = (...parts: ReadonlyArray<string | undefined>): string | null => {
  const given = parts.filter(isText)
  return given.length === 0 ? null : given.join("\n")
}

/** A file that has neither an id nor an address is told of all the same. */
const file = (kind: MediaKind, given: typeof File.Type | undefined): Said => {
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

const contentOf = (content: typeof Content.Type): Said => {
  switch (content.type) {
    case "text":
      return said("text", content.text?.body ?? null)
    case "image":
    case "video":
    case "audio":
    case "document":
    case "sticker":
      return file(content.type, content[content.type])
    case "voice":
      return file("audio", content.voice ?? content.audio)
    case "location":
      return said("location", place(content.location ?? {}))
    case "contacts":
      return said("contacts", cards(content.contacts ?? []))
    case "interactive": {
      const { button_reply, list_reply, nfm_reply } = content.interactive ?? {}
      return said("interactive", lines(button_reply?.title ?? list_reply?.title ?? nfm_reply?.body))
    }
    case "button":
      return said("interactive", content.button?.text ?? null)
    case "reaction":
      return said("reaction", lines(content.reaction?.emoji))
    case "order":
      return said("unsupported", lines(content.order?.text))
    case "system":
      return said("unsupported", lines(content.system?.body))
    default:
      return said("unsupported", null)
  }
}

/** Returns what a message says; of a type that is not known, only that something was said. */
export const saidOf = (message: unknown): Said =>
  Option.match(decode(message), { onNone: () => said("unsupported", null), onSome: contentOf })
