/** A notice: one event of a callback, before its channel is looked up. */
import type { ProviderEvent, ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { DateTime, Option, Schema } from "effect"
import type { AccountName } from "../CloudAccounts.ts"

/** A reference to a file on the network: an id on phone messaging, a URL on the other two. */
export type FileReference = { readonly media_id: string } | { readonly url: string }

type Unlocated<Event> = Event extends unknown ? Omit<Event, "channel_id"> : never

export interface Notice {
  readonly account: AccountName
  readonly event: Unlocated<ProviderEvent>
  /** The file of a received message. It is loaded later; until then the event has no bytes. */
  readonly file: FileReference | null
}

/**
 * Why a part of a callback is ignored. `object`, `field`: it is not about
 * messages. `status`, `echo`, `receipt`: core has no event for it. `unreadable`:
 * it lacks the ids of its account, sender or message.
 */
export type Ignored = "echo" | "field" | "object" | "receipt" | "status" | "unreadable"

export interface Notices {
  readonly notices: ReadonlyArray<Notice>
  readonly ignored: ReadonlyArray<Ignored>
}

export const nothing: Notices = { notices: [], ignored: [] }
export const ignored = (reason: Ignored): Notices => ({ notices: [], ignored: [reason] })
export const noticesOf = (...notices: ReadonlyArray<Notice>): Notices => ({ notices, ignored: [] })

export const all = (parts: ReadonlyArray<Notices>): Notices => ({
  notices: parts.flatMap(({ notices }) => notices),
  ignored: parts.flatMap(({ ignored }) => ignored)
})

/** The content of a received message. */
export interface MessageContent extends Pick<ProviderMessageReceived, "media" | "text" | "type"> {
  readonly file: FileReference | null
}

export const textContent = (type: MessageContent["type"], text: string | null): MessageContent => ({
  type,
  text,
  media: null,
  file: null
})

/** Schema for a time as the networks write it: a number, or its digits as text. */
export const Moment = Schema.Union([Schema.Number, Schema.String])

/** The smallest value that is read as milliseconds. In seconds it would be the year 33658. */
const millis_min = 1e12
const millis_max = 8.64e15

/** Returns the time that a network gives in seconds or milliseconds, as a number or as text; else the fallback. */
export const timeOf = (moment: typeof Moment.Type | undefined, fallback: DateTime.Utc): Timestamp => {
  const value = typeof moment === "string" && !/^[0-9]{1,16}$/.test(moment) ? NaN : Number(moment)
  const millis = value >= millis_min ? value : value * 1000
  if (!(millis > 0 && millis <= millis_max)) return fallback
  return Option.getOrElse(DateTime.make(Math.trunc(millis)), () => fallback)
}
