/** The content of a message of any network, as core stores it, with a reference to its file. */
import type { ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import type { MessageDetails } from "@messaging-crm/core/MessageDetails"
import { firstCharacters, toStorable } from "@messaging-crm/core/Text"
import { Option, type Schema } from "effect"
import { isObject } from "../GraphSchemas.ts"

/** A reference to a file on its network: an ID on WhatsApp, a URL on Messenger and Instagram. */
export type FileReference = { readonly media_id: string } | { readonly url: string }

/** The content of a received message. */
export interface MessageContent extends Pick<ProviderMessageReceived, "media" | "text" | "type"> {
  /** Set if no person is known to have written it (contract §10.7). */
  readonly is_written_by_person?: false
  readonly details: MessageDetails | null
  readonly file: FileReference | null
}

/** Makes the content of a message without a file. */
export const textContent = (
  type: MessageContent["type"],
  text: string | null,
  details: MessageDetails | null = null
): MessageContent => ({ type, text, media: null, details, file: null })

/** Returns a content that no person is known to have written. */
export const notice = (content: MessageContent): MessageContent => ({ ...content, is_written_by_person: false })

/** Adds details to a content, without replacing those that it has. */
export const withDetails = (content: MessageContent, details: MessageDetails): MessageContent => {
  const all = { ...details, ...content.details }
  return { ...content, details: Object.keys(all).length === 0 ? null : all }
}

const isNonEmpty = (value: string | null | undefined): value is string =>
  value !== undefined && value !== null && value !== ""

/** Returns the non-empty parts, one on each line, or null if there are none. */
export const lines = (...parts: ReadonlyArray<string | null | undefined>): string | null => {
  const given = parts.filter(isNonEmpty)
  return given.length === 0 ? null : given.join("\n")
}

/** Returns the name of a type as messages keep it. */
export const providerType = (type: string): string => firstCharacters(type, 100)

/** The deepest nesting of a JSON value that is kept. */
const depth_max = 16

/** Returns a JSON value whose texts every store can keep. What is nested too deep becomes null. */
const storableJson = (value: unknown, depth: number): Schema.Json => {
  if (typeof value === "string") return toStorable(value)
  // Only a number is finite, which the type of `isFinite` does not say.
  if (typeof value === "boolean" || Number.isFinite(value)) return value as boolean | number
  if (typeof value !== "object" || value === null || depth === depth_max) return null
  if (Array.isArray(value)) return value.map((item) => storableJson(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [toStorable(name), storableJson(part, depth + 1)])
  )
}

const parse = Option.liftThrowable((text: string): unknown => JSON.parse(text))

export type JsonObject = Readonly<Record<string, Schema.Json>>

/** Returns a JSON object that is given as it is or as text, or null. */
export const jsonObjectOf = (given: unknown): JsonObject | null => {
  const value = typeof given === "string" ? Option.getOrNull(parse(given)) : given
  if (!isObject(value)) return null
  // The cast is safe: `storableJson` returns an object for an object.
  return storableJson(value, 0) as JsonObject
}
