/** Schemas of the content of a WhatsApp message. */
import { Schema } from "effect"
import { decodeEach, Items, lenient, NetworkId, Quantity, StorableText } from "../../GraphSchemas.ts"

export const File = Schema.Struct({
  id: lenient(NetworkId),
  url: lenient(Schema.String),
  mime_type: lenient(StorableText),
  filename: lenient(StorableText),
  caption: lenient(StorableText)
})

export const Location = Schema.Struct({
  latitude: lenient(Quantity),
  longitude: lenient(Quantity),
  name: lenient(StorableText),
  address: lenient(StorableText),
  url: lenient(StorableText)
})

export const ContactCard = Schema.Struct({
  name: lenient(Schema.Struct({
    formatted_name: lenient(StorableText),
    first_name: lenient(StorableText),
    last_name: lenient(StorableText)
  })),
  org: lenient(
    Schema.Struct({
      company: lenient(StorableText),
      department: lenient(StorableText),
      title: lenient(StorableText)
    })
  ),
  birthday: lenient(StorableText),
  phones: lenient(Items),
  emails: lenient(Items),
  urls: lenient(Items),
  addresses: lenient(Items)
})

const Phone = Schema.Struct({ type: lenient(StorableText), phone: lenient(StorableText), wa_id: lenient(NetworkId) })
const Email = Schema.Struct({ type: lenient(StorableText), email: StorableText })
const Link = Schema.Struct({ type: lenient(StorableText), url: StorableText })
export const Address = Schema.Struct({
  type: lenient(StorableText),
  street: lenient(StorableText),
  zip: lenient(StorableText),
  city: lenient(StorableText),
  state: lenient(StorableText),
  country: lenient(StorableText)
})

export const Choice = Schema.Struct({
  id: lenient(StorableText),
  title: lenient(StorableText),
  description: lenient(StorableText)
})

const Product = Schema.Struct({
  product_retailer_id: lenient(StorableText),
  quantity: lenient(Quantity),
  item_price: lenient(Quantity),
  currency: lenient(StorableText)
})

export const Referral = Schema.Struct({
  source_type: lenient(StorableText),
  source_id: lenient(NetworkId),
  source_url: lenient(StorableText),
  headline: lenient(StorableText),
  body: lenient(StorableText),
  media_type: lenient(StorableText),
  image_url: lenient(StorableText),
  video_url: lenient(StorableText),
  thumbnail_url: lenient(StorableText),
  ctwa_clid: lenient(StorableText),
  ref: lenient(StorableText),
  welcome_message: lenient(Schema.Struct({ text: lenient(StorableText) }))
})

/** The fields that determine the type of a message without one, in the order in which they are looked for. */
export const content_fields = {
  text: lenient(Schema.Struct({ body: lenient(StorableText) })),
  image: lenient(File),
  video: lenient(File),
  audio: lenient(File),
  voice: lenient(File),
  document: lenient(File),
  sticker: lenient(File),
  location: lenient(Location),
  contacts: lenient(Items),
  interactive: lenient(Schema.Struct({
    body: lenient(Schema.Struct({ text: lenient(StorableText) })),
    button_reply: lenient(Choice),
    list_reply: lenient(Choice),
    nfm_reply: lenient(
      Schema.Struct({
        name: lenient(StorableText),
        body: lenient(StorableText),
        response_json: lenient(Schema.Unknown)
      })
    )
  })),
  button: lenient(Schema.Struct({ text: lenient(StorableText), payload: lenient(StorableText) })),
  reaction: lenient(Schema.Struct({ message_id: lenient(NetworkId), emoji: lenient(StorableText) })),
  order: lenient(
    Schema.Struct({ catalog_id: lenient(NetworkId), text: lenient(StorableText), product_items: lenient(Items) })
  )
} as const

const Content = Schema.Struct({
  type: lenient(StorableText),
  ...content_fields,
  unsupported: lenient(Schema.Struct({ type: lenient(StorableText) })),
  context: lenient(Schema.Struct({
    id: lenient(NetworkId),
    message_id: lenient(NetworkId),
    from: lenient(NetworkId),
    from_user_id: lenient(NetworkId),
    from_parent_user_id: lenient(NetworkId),
    forwarded: lenient(Schema.Boolean),
    frequently_forwarded: lenient(Schema.Boolean),
    referred_product: lenient(
      Schema.Struct({ catalog_id: lenient(NetworkId), product_retailer_id: lenient(StorableText) })
    )
  })),
  referral: lenient(Referral)
})
export type Content = typeof Content.Type

export const decodeContent = Schema.decodeUnknownOption(Content)
export const cardsOf = decodeEach(ContactCard)
export const phonesOf = decodeEach(Phone)
export const emailsOf = decodeEach(Email)
export const linksOf = decodeEach(Link)
export const addressesOf = decodeEach(Address)
export const productsOf = decodeEach(Product)
