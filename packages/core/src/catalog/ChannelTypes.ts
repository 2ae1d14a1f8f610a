/** The types of channels, and the abilities of their networks. */
import { Schema, Struct } from "effect"
import { limits } from "../kernel/Limits.ts"

/** The longest text that a network accepts, in code points or in bytes of UTF-8 (contract §12.2). */
export interface TextLimit {
  readonly max: number
  readonly unit: "bytes" | "characters"
}

/** The abilities of a network. */
interface Network {
  readonly name: string
  /** Whether people have phone numbers there. Their network IDs are these numbers, or IDs with letters. */
  readonly has_phones: boolean
  /** Whether it has message templates, and so a business account that owns them. */
  readonly has_templates: boolean
  readonly text: TextLimit
}

/** The network of each type. */
const networks = {
  phone_messaging: {
    name: "WhatsApp",
    has_phones: true,
    has_templates: true,
    text: { max: limits.message_text_chars_max, unit: "characters" }
  },
  photo_social: {
    name: "Instagram",
    has_phones: false,
    has_templates: false,
    text: { max: limits.photo_social_text_bytes_max, unit: "bytes" }
  },
  page_messaging: {
    name: "Messenger",
    has_phones: false,
    has_templates: false,
    text: { max: limits.page_messaging_text_chars_max, unit: "characters" }
  }
} as const satisfies Readonly<Record<string, Network>>

const types = Struct.keys(networks)

export const ChannelType = Schema.Literals(types).annotate({
  description: `${types.map((type) => `\`${type}\` is ${networks[type].name}`).join(", ")}.`
})
export type ChannelType = typeof ChannelType.Type

/** Returns what the network of a type of channel can do. */
export const networkOf = (type: ChannelType): Network => networks[type]

/** The types of channels on which people have phone numbers. */
export const types_with_phones: ReadonlyArray<ChannelType> = types.filter((type) => networks[type].has_phones)

/** The type of the channels on which a template starts a conversation: the only one that has templates, and phones. */
export const started_type: ChannelType = "phone_messaging"
