/** Reads the content of a WhatsApp message, by its type. */
import type { MediaKind } from "@messaging-crm/core/Media"
import type { MessageDetails } from "@messaging-crm/core/MessageDetails"
import { Option } from "effect"
import { isObject, type Items } from "../../GraphSchemas.ts"
import { coreId } from "../../PersonIds.ts"
import { isWrittenByPerson } from "../DocumentedKinds.ts"
import {
  type JsonObject,
  jsonObjectOf,
  lines,
  type MessageContent,
  notice,
  providerType,
  textContent,
  withDetails
} from "../MessageContent.ts"
import {
  type Address,
  addressesOf,
  cardsOf,
  type Choice,
  type ContactCard,
  type Content,
  content_fields,
  decodeContent,
  emailsOf,
  type File,
  linksOf,
  type Location,
  phonesOf,
  productsOf,
  type Referral
} from "./ContentSchemas.ts"

/** Returns the content of a message with a file, even if the file has neither an ID nor a URL. */
const fileContent = (kind: MediaKind, given: typeof File.Type | undefined): MessageContent => {
  const { caption, filename, id, mime_type, url } = given ?? {}
  const address = url === undefined ? null : { url }
  return {
    type: kind,
    text: caption ?? null,
    media: { kind, mime_type: mime_type ?? null, filename: filename ?? null, transcript: null, bytes: null },
    details: null,
    file: id === undefined ? address : { media_id: id }
  }
}

const locationContent = ({ address, latitude, longitude, name, url }: typeof Location.Type): MessageContent => {
  const coordinates = latitude === undefined || longitude === undefined ? undefined : `${latitude}, ${longitude}`
  return textContent("location", lines(name, address, coordinates), {
    location: {
      latitude: latitude ?? null,
      longitude: longitude ?? null,
      name: name ?? null,
      address: address ?? null,
      url: url ?? null
    }
  })
}

const labeled = (type: string | undefined, value: string | null | undefined) =>
  value === null || value === undefined || value === "" ? [] : [{ type: type ?? null, value }]

const nameOf = ({ name }: typeof ContactCard.Type): string | null =>
  lines(name?.formatted_name) ?? ([name?.first_name, name?.last_name].filter(Boolean).join(" ") || null)

const addressOf = ({ city, country, state, street, zip }: typeof Address.Type): string =>
  [street, [zip, city].filter(Boolean).join(" "), state, country].filter(Boolean).join(", ")

const contactOfCard = (card: typeof ContactCard.Type) => ({
  name: nameOf(card),
  organization: card.org?.company ?? null,
  department: card.org?.department ?? null,
  job_title: card.org?.title ?? null,
  birthday: card.birthday ?? null,
  phones: phonesOf(card.phones).flatMap(({ phone, type, wa_id }) => {
    const external_id = wa_id === undefined ? null : coreId(wa_id)
    return labeled(type, phone ?? wa_id).map((number) => ({ ...number, external_id }))
  }),
  emails: emailsOf(card.emails).flatMap(({ email, type }) => labeled(type, email)),
  urls: linksOf(card.urls).flatMap(({ type, url }) => labeled(type, url)),
  addresses: addressesOf(card.addresses).flatMap((address) => labeled(address.type, addressOf(address)))
})

const contactsContent = (items: typeof Items.Type): MessageContent => {
  const contacts = cardsOf(items).map(contactOfCard)
  const text = lines(...contacts.flatMap(({ name, phones }) => [name, ...phones.map(({ value }) => value)]))
  return textContent("contacts", text, { contacts })
}

type Kind = "button" | "list_row" | "template_button"

const choiceContent = (
  kind: Kind,
  { description, id, payload, title }: typeof Choice.Type & { readonly payload?: string }
) =>
  textContent("interactive", lines(title), {
    choice: { kind, id: id ?? null, title: title ?? null, description: description ?? null, payload: payload ?? null }
  })

const interactiveContent = (
  { body: message, button_reply, list_reply, nfm_reply }: NonNullable<Content["interactive"]>
): MessageContent => {
  if (button_reply !== undefined) return choiceContent("button", button_reply)
  if (list_reply !== undefined) return choiceContent("list_row", list_reply)
  if (nfm_reply === undefined) return textContent("interactive", lines(message?.text))
  const { body, name, response_json } = nfm_reply
  return textContent("interactive", lines(body), {
    flow: { name: name ?? null, response: jsonObjectOf(response_json) }
  })
}

const orderContent = ({ catalog_id, product_items, text }: NonNullable<Content["order"]>): MessageContent =>
  textContent("unsupported", lines(text), {
    order: {
      catalog_id: catalog_id ?? null,
      text: text ?? null,
      items: productsOf(product_items).map(({ currency, item_price, product_retailer_id, quantity }) => ({
        product_id: product_retailer_id ?? null,
        quantity: quantity ?? null,
        price: item_price ?? null,
        currency: currency ?? null
      }))
    }
  })

/** Returns the content of a reaction. A reaction without an emoji removes the former one. */
const reactionContent = ({ emoji, message_id }: NonNullable<Content["reaction"]>): MessageContent => {
  const text = lines(emoji)
  return textContent("reaction", text, {
    reaction: { action: text === null ? "unreact" : "react", emoji: text, provider_message_id: message_id ?? null }
  })
}

const field_names = Object.keys(content_fields) as ReadonlyArray<keyof typeof content_fields>

/** Returns the type of a message; of one that has none, the type that its fields show. */
const typeOf = (content: Content): string =>
  content.type ?? field_names.find((name) => content[name] !== undefined) ?? ""

const contentOf = (content: Content): MessageContent => {
  const type = typeOf(content)
  switch (type) {
    case "text":
      return textContent("text", content.text?.body ?? null)
    case "image":
    case "video":
    case "audio":
    case "document":
    case "sticker":
      return fileContent(type, content[type])
    case "voice":
      return fileContent("audio", content.voice ?? content.audio)
    case "location":
      return locationContent(content.location ?? {})
    case "contacts":
      return contactsContent(content.contacts ?? [])
    case "interactive":
      return interactiveContent(content.interactive ?? {})
    case "button": {
      const { payload, text } = content.button ?? {}
      return choiceContent("template_button", {
        ...(text === undefined ? {} : { title: text }),
        ...(payload === undefined ? {} : { payload })
      })
    }
    case "reaction":
      return reactionContent(content.reaction ?? {})
    case "order":
      return orderContent(content.order ?? {})
    default:
      return textContent("unsupported", null)
  }
}

const referralOf = (
  {
    body,
    ctwa_clid,
    headline,
    image_url,
    ref,
    source_id,
    source_type,
    source_url,
    thumbnail_url,
    video_url,
    welcome_message
  }: typeof Referral.Type
): NonNullable<MessageDetails["referral"]> => ({
  source: source_type ?? null,
  type: null,
  id: source_id ?? null,
  url: source_url ?? null,
  ref: ref ?? null,
  headline: headline ?? null,
  body: body ?? null,
  media_url: image_url ?? video_url ?? thumbnail_url ?? null,
  click_id: ctwa_clid ?? null,
  product_id: null,
  greeting: welcome_message?.text ?? null
})

/** Returns the details that a message of any type can have. */
const contextDetails = ({ context = {}, referral }: Content): MessageDetails => {
  const { forwarded = false, frequently_forwarded = false, message_id, referred_product } = context
  const { from_parent_user_id, from_user_id = from_parent_user_id, from = from_user_id, id = message_id } = context
  return {
    ...(id === undefined
      ? {}
      : { quoted: { provider_message_id: id, from: from === undefined ? null : coreId(from) } }),
    ...(forwarded || frequently_forwarded ? { forwarded: { many_times: frequently_forwarded } } : {}),
    ...(referred_product === undefined ? {} : {
      product: {
        catalog_id: referred_product.catalog_id ?? null,
        product_id: referred_product.product_retailer_id ?? null
      }
    }),
    ...(referral === undefined ? {} : { referral: referralOf(referral) })
  }
}

/** Returns whether a message's content describes the field of its type. A flow whose response cannot be read is not described. */
const isDescribed = ({ details, type }: MessageContent): boolean =>
  details === null ? type !== "unsupported" && type !== "interactive" : details.flow?.response !== null

/** Returns the fields of a message that nothing else describes: the one of its type, and why the message has no contents. */
const undescribedFields = (message: unknown, content: MessageContent, name = ""): JsonObject => {
  const given = isObject(message) ? message : {}
  const names = isDescribed(content) ? ["errors"] : ["errors", name]
  const fields = Object.entries(given).filter(([field, value]) =>
    names.includes(field) && typeof value === "object" && value !== null
  )
  return jsonObjectOf(Object.fromEntries(fields)) ?? {}
}

/** Returns whether a person wrote a message. The removal of a reaction writes nothing. */
const isWritten = (given: Content, { details }: MessageContent): boolean =>
  isWrittenByPerson(typeOf(given), given.unsupported?.type) && details?.reaction?.action !== "unreact"

const describedContent = (message: unknown) => (given: Content): MessageContent => {
  const content = contentOf(given)
  const provider_type = given.type === "unsupported" ? given.unsupported?.type : given.type
  const provider_data = undescribedFields(message, content, given.type)
  return withDetails(isWritten(given, content) ? content : notice(content), {
    ...contextDetails(given),
    ...(content.type === "unsupported" && provider_type !== undefined
      ? { provider_type: providerType(provider_type) }
      : {}),
    ...(Object.keys(provider_data).length === 0 ? {} : { provider_data })
  })
}

/** Returns the content of a message; `unsupported` without text for an unknown type. */
export const contentOfMessage = (message: unknown): MessageContent =>
  Option.match(decodeContent(message), {
    onNone: () => notice(textContent("unsupported", null)),
    onSome: describedContent(message)
  })
