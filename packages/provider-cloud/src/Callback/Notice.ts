/** One thing that a callback tells, before it is known which channel it is about. */
import type { ProviderEvent, ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { DateTime, Option, Schema } from "effect"
import type { AccountName } from "../CloudAccounts.ts"

/** A file that the network keeps: phone messaging names it by an id, the other two by its address. */
export type FileReference = { readonly media_id: string } | { readonly url: string }

type Unlocated<Event> = Event extends unknown ? Omit<Event, "channel_id"> : never

export interface Notice {
  readonly account: AccountName
  readonly event: Unlocated<ProviderEvent>
  /** Where the file of a received message is; its event has no bytes yet. */
  readonly file: FileReference | null
}

/**
 * Why a part of a callback leads to nothing. `object`, `field`: about something
 * else than messages. `status`, `echo`, `receipt`: nothing that core can be told.
 * `unreadable`: it lacks what would say whom or what it is about.
 */
export type Ignored = "echo" | "field" | "object" | "receipt" | "status" | "unreadable"

export interface Notices {
  readonly notices: ReadonlyArray<Notice>
  readonly ignored: ReadonlyArray<Ignored>
}

export const nothing: Notices = { notices: [], ignored: [] }
export const ignored = (reason: Ignored): Notices => ({ notices: [], ignored: [reason] })
export const tell = (...notices: ReadonlyArray<Notice>): Notices => ({ notices, ignored: [] })

export const all = (parts: ReadonlyArray<Notices>): Notices => ({
  notices: parts.flatMap(({ notices }) => notices),
  ignored: parts.flatMap(({ ignored }) => ignored)
})

/** What a received message says, beside who wrote it and when. */
export interface Said extends Pick<ProviderMessageReceived, "media" | "text" | "type"> {
  readonly file: FileReference | null
}

export const said = (type: Said["type"], text: string | null): Said => ({ type, text, media: null, file: null })

/** A moment as the networks write it: a number or its digits. */
export const Moment = Schema.Union([Schema.Number, Schema.String])

/** The first moment that is taken for milliseconds; as seconds it would be in the year 33658. */
const millis_min = 1e12
const millis_max = 8.64e15

/** Returns the time that a network gives in seconds or milliseconds, as a number or as text; else the fallback. */
export const timeOf = (moment: typeof Moment.Type | undefined, fallback: DateTime.Utc): Timestamp => {
  const value = typeof moment === "string" && !/^[0-9]{1,16}$/.test(moment) ? NaN : Number(moment)
  const millis = value >= millis_min ? value : value * 1000
  if (!(millis > 0 && millis <= millis_max)) return fallback
  return Option.getOrElse(DateTime.make(Math.trunc(millis)), () => fallback)
}
