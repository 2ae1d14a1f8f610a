/**
 * The measured rows: a number of contacts of one organization, a tenth as many of another one, and the rows that belong to
 * them. Every run has the same rows, except for times, which precede the start.
 */
import { LifecycleStage } from "@messaging-crm/core/Contacts"
import { GeneratedRows } from "../harness/Fixtures.ts"

export const { id, idOf } = GeneratedRows.idsOf([
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
])

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
