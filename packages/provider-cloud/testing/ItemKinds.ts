/** Items of every kind in `DocumentedKinds.ts`. A kind that is added to the tables is covered without a change here. */
import { DateTime } from "effect"
import {
  meaningIn,
  messaging_event_fields,
  messaging_events,
  whatsapp_fields,
  whatsapp_messages,
  whatsapp_statuses,
  whatsapp_system
} from "../src/Callback/DocumentedKinds.ts"

/** The time of every event. */
export const noon = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")
const millis = noon.epochMilliseconds
const timestamp = String(millis / 1000)
const person = "551188887777"

type Json = Readonly<Record<string, unknown>>
/** An item at one place of an entry, and the entry around it with messages that must stay intact. */
interface Victim {
  readonly item: Json
  readonly entryOf: (item: unknown, intact: ReadonlyArray<object>) => object
}

export interface Kind {
  readonly object: "instagram" | "page" | "whatsapp_business_account"
  readonly name: string
  /** Whether an item of this kind can be a message. */
  readonly is_message: boolean
  /** Makes an item of this kind, with a part that may be anything. */
  readonly make: (account: string, id: string, part: unknown) => Victim
}

// ------------------------------------------------------------ messages that nothing may change

const numberOf = (account: string) => ({ display_phone_number: "15550783881", phone_number_id: account })
const contacts = [{ profile: { name: "Ana", username: "ana.l" }, wa_id: person, user_id: "BR.1349" }]

/** Returns a text message that no mutation changes. */
export const good = (object: Kind["object"], account: string, id: string): object =>
  object === "whatsapp_business_account"
    ? { from: person, id, timestamp, type: "text", text: { body: `Oi ${id}` } }
    : { sender: { id: "24601" }, recipient: { id: account }, timestamp: millis, message: { mid: id, text: `Oi ${id}` } }

const changeOf = (account: string, field: string, value: object) => ({
  field,
  value: { messaging_product: "whatsapp", metadata: numberOf(account), ...value }
})

/** Returns an entry with messages that no mutation changes. */
export const goodEntry = (object: Kind["object"], account: string, intact: ReadonlyArray<object>): object =>
  object === "whatsapp_business_account"
    ? { id: "1", changes: [changeOf(account, "messages", { contacts, messages: intact })] }
    : { id: account, time: millis, messaging: intact }

// ------------------------------------------------------------ kinds

/** Returns the documented kinds of a table, and one that no network has yet. */
const namesOf = (kinds: Json): ReadonlyArray<string> => [...Object.keys(kinds), "hologram"]

/** Merges a part into an object, if it is one. */
const objectOf = (part: unknown): object =>
  typeof part === "object" && part !== null && !Array.isArray(part) ? part : { part }

const among = (item: unknown, [first, ...more]: ReadonlyArray<object>) =>
  first === undefined ? [item] : [first, item, ...more]

type Place = readonly [
  field: string,
  value: (item: unknown, intact: ReadonlyArray<object>) => object
]

/** Where messages of WhatsApp are. */
const places: ReadonlyArray<Place> = [
  ["messages", (item, intact) => ({ contacts, messages: among(item, intact) })],
  ["standby", (item, intact) => ({ standby: { contacts, messages: among(item, intact) } })],
  ["standby", (item, intact) => ({ standby: { contacts, message_echoes: [item], messages: intact } })],
  ["smb_message_echoes", (item) => ({ contacts, message_echoes: [item] })],
  ["message_echoes", (item) => ({ contacts, message_echoes: [item] })]
]

const inPlace = (account: string, [field, valueOf]: Place): Victim["entryOf"] => (item, intact) => {
  const holdsIntact = JSON.stringify(valueOf(item, intact)) !== JSON.stringify(valueOf(item, []))
  const change = changeOf(account, field, valueOf(item, intact))
  return {
    id: "1",
    changes: holdsIntact ? [change] : [change, changeOf(account, "messages", { contacts, messages: intact })]
  }
}

const messageOf = (id: string, type: string, part: unknown): Json => ({
  from: person,
  to: person,
  id,
  timestamp,
  type,
  [type]: part,
  context: part,
  errors: [part]
})

const whatsApp = (name: string, is_message: boolean, make: Kind["make"]): Kind => ({
  object: "whatsapp_business_account",
  name,
  is_message,
  make
})

const messageKinds = places.flatMap((place) =>
  namesOf(whatsapp_messages).map((type) =>
    whatsApp(
      `${place[0]}: ${type}`,
      ["message", "notice"].includes(meaningIn(whatsapp_messages, type) ?? "notice"),
      (account, id, part) => ({ item: messageOf(id, type, part), entryOf: inPlace(account, place) })
    )
  )
)

const systemKinds = places.flatMap((place) =>
  namesOf(whatsapp_system).map((type) =>
    whatsApp(`${place[0]}: system: ${type}`, false, (account, id, part) => ({
      item: { ...messageOf(id, "system", undefined), system: { ...objectOf(part), type } },
      entryOf: inPlace(account, place)
    }))
  )
)

const statusKinds = [...namesOf(whatsapp_statuses), undefined].flatMap((type) =>
  ["sent", "delivered", "read", "failed", "played", "hologram"].map((status) =>
    whatsApp(`status: ${type}: ${status}`, false, (account, id, part) => ({
      item: {
        id,
        type,
        status,
        timestamp,
        recipient_id: person,
        errors: [part],
        biz_opaque_callback_data: part,
        conversation: part
      },
      entryOf: inPlace(account, ["messages", (item, intact) => ({ contacts, statuses: [item], messages: intact })])
    }))
  )
)

const isApart = (field: string) => !["message", "echo"].includes(meaningIn(whatsapp_fields, field) ?? "")

const fieldKinds = namesOf(whatsapp_fields).filter(isApart).map((field) =>
  whatsApp(`field: ${field}`, false, (account, id, part) => ({
    item: {
      [field]: [part],
      event: part,
      ...objectOf(part),
      messages: [good("whatsapp_business_account", account, id)]
    },
    entryOf: inPlace(account, [field, (item) => objectOf(item)])
  }))
)

const messengerKinds = (["instagram", "page"] as const).flatMap((object): ReadonlyArray<Kind> => {
  const eventOf = (account: string, name: string, part: unknown): Json => ({
    sender: { id: "24601" },
    recipient: { id: account },
    timestamp: millis,
    [name]: part
  })
  const kind = (name: string, is_message: boolean, make: Kind["make"]): Kind => ({
    object,
    name: `${object}: ${name}`,
    is_message,
    make
  })
  const events = ["messaging", "standby"].flatMap((list) =>
    namesOf(messaging_events).map((name) =>
      kind(`${list}: ${name}`, meaningIn(messaging_events, name) === "message", (account, id, part) => ({
        item: eventOf(account, name, { mid: id, ...objectOf(part) }),
        entryOf: (item, intact) => ({ id: account, time: millis, [list]: among(item, intact) })
      }))
    )
  )
  const changes = [...messaging_event_fields, "comments", "feed", "hologram"].map((field) =>
    kind(`change: ${field}`, messaging_event_fields.has(field), (account, id, part) => ({
      item: eventOf(account, "message", { mid: id, ...objectOf(part) }),
      entryOf: (value, intact) => ({ id: account, changes: [{ field, value }], messaging: intact })
    }))
  )
  return [...events, ...changes]
})

/** Every kind of item that a network could sign. */
export const kinds: ReadonlyArray<Kind> = [
  ...messageKinds,
  ...systemKinds,
  ...statusKinds,
  ...fieldKinds,
  ...messengerKinds
]
