/**
 * Message details: what a message holds in addition to its text and its file (contract §11.10).
 *
 * Each part is present only if the network reported it, and more parts can appear. Details are stored as JSON, so parts
 * and fields can be added and must not be renamed.
 */
import { Schema } from "effect"
import { limits } from "../kernel/Limits.ts"
import { firstCharacters, utf8Bytes } from "../kernel/Text.ts"

const NullableText = Schema.NullOr(Schema.String)
const NullableNumber = Schema.NullOr(Schema.Finite)

const described = <S extends Schema.Top>(description: string, schema: S) =>
  Schema.optionalKey(schema.annotate({ description }))

/** Schema for a text that is one of some values, to which more can be added. */
const openEnum = (values: ReadonlyArray<string>) =>
  Schema.String.annotate({
    description: `Values: ${values.map((value) => `\`${value}\``).join(", ")}. New values can appear within a version.`
  })

/** Why a message failed after the network had accepted it. */
export const Failure = Schema.Struct({
  code: Schema.NullOr(Schema.Int).annotate({ description: "The error code of the network." }),
  title: NullableText,
  description: NullableText
})
export interface Failure extends Schema.Schema.Type<typeof Failure> {}

const Labeled = Schema.Struct({ type: NullableText, value: Schema.String })

const SharedPhone = Schema.Struct({ ...Labeled.fields, external_id: NullableText })

const SharedPerson = Schema.Struct({
  name: NullableText,
  organization: NullableText,
  department: NullableText,
  job_title: NullableText,
  birthday: NullableText,
  phones: Schema.Array(SharedPhone),
  emails: Schema.Array(Labeled),
  urls: Schema.Array(Labeled),
  addresses: Schema.Array(Labeled)
})

export const MessageDetails = Schema.Struct({
  choice: described(
    "The option that the contact chose in a message with buttons or a list, a template, a menu, or quick replies.",
    Schema.Struct({
      kind: openEnum(["button", "list_row", "template_button", "postback", "quick_reply"]),
      id: NullableText,
      title: NullableText,
      description: NullableText,
      payload: NullableText
    })
  ),
  location: described(
    "A location.",
    Schema.Struct({
      latitude: NullableNumber,
      longitude: NullableNumber,
      name: NullableText,
      address: NullableText,
      url: NullableText
    })
  ),
  contacts: described("The people whose contact data the message contains.", Schema.Array(SharedPerson)),
  reaction: described(
    "A reaction to a message, or the removal of one: `emoji` is then null.",
    Schema.Struct({
      action: openEnum(["react", "unreact"]),
      emoji: NullableText,
      provider_message_id: NullableText
    })
  ),
  order: described(
    "A shopping cart.",
    Schema.Struct({
      catalog_id: NullableText,
      text: NullableText,
      items: Schema.Array(
        Schema.Struct({
          product_id: NullableText,
          quantity: NullableNumber,
          price: NullableNumber,
          currency: NullableText
        })
      )
    })
  ),
  flow: described(
    "The responses to a form (a flow). `response` is null if it is not a JSON object.",
    Schema.Struct({ name: NullableText, response: Schema.NullOr(Schema.Record(Schema.String, Schema.Json)) })
  ),
  story: described(
    "The story that the contact replied to, or that mentions the business.",
    Schema.Struct({
      action: openEnum(["reply", "mention"]),
      id: NullableText,
      url: NullableText
    })
  ),
  shares: described(
    "Shared posts, reels, stories, products, and links.",
    Schema.Array(Schema.Struct({ type: Schema.String, id: NullableText, title: NullableText, url: NullableText }))
  ),
  product: described(
    "The product that the message is about.",
    Schema.Struct({ catalog_id: NullableText, product_id: NullableText })
  ),
  quoted: described(
    "The message that this one replies to, by the provider's ID.",
    Schema.Struct({ provider_message_id: Schema.String, from: NullableText })
  ),
  forwarded: described(
    "How the message was forwarded.",
    Schema.Struct({ many_times: Schema.Boolean })
  ),
  referral: described(
    "The ad, post, or link that led the contact to this message.",
    Schema.Struct({
      source: NullableText,
      type: NullableText,
      id: NullableText,
      url: NullableText,
      ref: NullableText,
      headline: NullableText,
      body: NullableText,
      media_url: NullableText,
      click_id: NullableText,
      product_id: NullableText,
      greeting: NullableText
    })
  ),
  failure: described("Why the message failed after the provider had accepted it.", Failure),
  provider_type: described(
    "The network's name for the type of a message whose `type` is `unsupported`.",
    Schema.String
  ),
  provider_data: described(
    "Contents that no other part describes, in the network's own form, such as the choices of a poll.",
    Schema.Record(Schema.String, Schema.Json)
  ),
  is_truncated: described(
    "True if parts or items are missing because the details were too large.",
    Schema.Literal(true)
  )
}).annotate({
  identifier: "MessageDetails",
  description: "Contents of a message in addition to its text and its file. More parts and fields can appear."
})
export interface MessageDetails extends Schema.Schema.Type<typeof MessageDetails> {}

const bytesOf = (value: unknown): number => utf8Bytes(JSON.stringify(value))

/** Returns the items of a list that are stored. */
const firstItems = <A>(items: ReadonlyArray<A>): ReadonlyArray<A> => items.slice(0, limits.details_items_max)

/** Leaves out the items of the lists beyond their limit. */
const withFewItems = (details: MessageDetails): MessageDetails => {
  const { contacts, order, shares } = details
  const isLong = [contacts, order?.items, shares].some((items) => (items?.length ?? 0) > limits.details_items_max)
  if (!isLong) return details
  return {
    ...details,
    ...(contacts === undefined ? {} : { contacts: firstItems(contacts) }),
    ...(order === undefined ? {} : { order: { ...order, items: firstItems(order.items) } }),
    ...(shares === undefined ? {} : { shares: firstItems(shares) }),
    is_truncated: true
  }
}

/**
 * Returns details within their limits, or null if nothing is known.
 *
 * Items beyond the limit of a list are left out, and then the largest parts until the rest is small enough.
 */
export const boundedDetails = (given: MessageDetails | null): MessageDetails | null => {
  if (given === null) return null
  const details = withFewItems(given)
  // Each part is measured once, in an object of its own, so together they take less.
  const parts = Object.entries(details).map(([name, part]) => ({ name, part, bytes: bytesOf({ [name]: part }) }))
  if (parts.length === 0) return null
  if (parts.reduce((sum, { bytes }) => sum + bytes, 0) <= limits.details_bytes_max) return details
  let bytes_left = limits.details_bytes_max - bytesOf({ is_truncated: true })
  const kept = parts.toSorted((a, b) => a.bytes - b.bytes).filter(({ bytes }) => (bytes_left -= bytes) >= 0)
  return { ...Object.fromEntries(kept.map(({ name, part }) => [name, part])), is_truncated: true }
}

const boundedText = (text: string | null): string | null =>
  text === null ? null : firstCharacters(text, limits.failure_text_chars_max)

/** Returns a failure whose texts are within their limit. */
export const boundedFailure = ({ code, description, title }: Failure): Failure => ({
  code,
  title: boundedText(title),
  description: boundedText(description)
})
