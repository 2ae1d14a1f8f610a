/**
 * The measured rows: a number of contacts of one organization, a tenth as many of another one, and the rows that belong to
 * them. Every run has the same rows, except for times, which precede the start. The kind of a row and its number determine
 * its ID.
 */
import { LifecycleStage } from "@messaging-crm/core/Contacts"

const kinds = [
  "organization",
  "member",
  "api_key",
  "channel",
  "field",
  "tag",
  "contact",
  "identity",
  "conversation",
  "message"
] as const

export type Kind = typeof kinds[number]

/** Returns the start of the IDs of a kind. */
export const prefix = (kind: Kind): string => `${String(kinds.indexOf(kind)).padStart(8, "0")}-0000-7000-8000-`

/** Returns the ID of a row. */
export const id = (kind: Kind, number: number): string => `${prefix(kind)}${number.toString(16).padStart(12, "0")}`

export const key_count = 16

/** The text of an API key. */
export const key = (number: number): string => `svc_live_${String(number).padStart(43, "0")}`

/** The number of contacts that requests name. They are spread over all contacts. */
export const named_count = 500
/** The number of named contacts with a long conversation. */
export const long_count = 20

/** Words; each is the company of twenty named contacts and of no other. */
export const words = (
  "barten corlin dermon felgar gander harlen kermin lander morten nerlin perdan ronter selman "
  + "torlen vermar wanden balder canter dorman fenlar gorten hermin kolder marlon sander"
).split(" ")

export const stages = LifecycleStage.literals

/** The distance between two named contacts. */
export const step = (contacts: number): number => Math.max(1, Math.floor(contacts / named_count))
