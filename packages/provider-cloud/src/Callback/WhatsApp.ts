/** Parses the callbacks of WhatsApp, whose entries are changes: messages, their statuses, and changed IDs of people. */
import { type DateTime, Option, Schema } from "effect"
import type { AccountKey } from "../CloudAccounts.ts"
import { isObject, Items, lenient, NetworkId, NetworkTime, timeOf } from "../GraphSchemas.ts"
import { coreId } from "../PersonIds.ts"
import { type Meaning, meaningIn, whatsapp_fields, whatsapp_messages, whatsapp_system } from "./DocumentedKinds.ts"
import { combined, type EntryFormat, fieldOf, ignored, ignoredAs, type Parsed, singleEvent } from "./Entry.ts"
import type { MessageContent } from "./MessageContent.ts"
import { ContactIds, Recipient, Sender, System } from "./PersonFields.ts"
import { contentOfMessage } from "./WhatsApp/Content.ts"
import { systemChange, userIdChange } from "./WhatsApp/IdentityChanges.ts"
import { namedPeopleOf, type NamedPerson, personOf } from "./WhatsApp/People.ts"
import { splitChange, withLists } from "./WhatsApp/Split.ts"
import { parseStatus } from "./WhatsApp/Statuses.ts"

const Change = Schema.Struct({
  value: Schema.Struct({
    metadata: Schema.Struct({ phone_number_id: NetworkId, display_phone_number: lenient(NetworkId) }),
    contacts: lenient(Items),
    messages: lenient(Items),
    statuses: lenient(Items),
    message_echoes: lenient(Items),
    errors: lenient(Items),
    user_id_update: lenient(Schema.Union([Items, Schema.Record(Schema.String, Schema.Unknown)])),
    user_preferences: lenient(Items)
  })
})

const Message = Schema.Struct({
  ...Sender,
  ...Recipient,
  group_id: lenient(NetworkId),
  id: lenient(NetworkId),
  timestamp: lenient(NetworkTime),
  type: lenient(Schema.String),
  system: lenient(System),
  edit: lenient(Schema.Struct({ original_message_id: NetworkId, message: lenient(Schema.Unknown) })),
  revoke: lenient(Schema.Struct({ original_message_id: NetworkId }))
})

const Preference = Schema.Struct({
  ...ContactIds,
  category: Schema.String,
  value: Schema.String,
  timestamp: lenient(NetworkTime)
})

const decodePreference = Schema.decodeUnknownOption(Preference)
const decodeChange = Schema.decodeUnknownOption(Change)
const decodeMessage = Schema.decodeUnknownOption(Message)

/** The metadata, named people, and time of receipt that the items of a change share. */
interface ChangeContext {
  readonly account: AccountKey
  readonly people: ReadonlyArray<NamedPerson>
  /** The number of the account itself; empty if the change does not contain it. */
  readonly own_number: string
  readonly received_at: DateTime.Utc
}

/** Parses a system message. It never becomes a message, because no person wrote it. */
const parseSystemMessage = ({ account }: ChangeContext, message: typeof Message.Type): Parsed => {
  const type = message.system?.type ?? ""
  const kind = `system:${type}`
  const meaning = meaningIn(whatsapp_system, type)
  if (meaning === "nothing" || message.system === undefined) return ignoredAs(meaning, kind)
  return Option.match(systemChange(message, message.system), {
    onNone: () => meaning === undefined ? ignored("unknown", kind) : ignored("unreadable", kind),
    onSome: (event) => singleEvent(account, event)
  })
}

/** Parses an edit or a deletion. */
const parseRevision = (
  { account }: ChangeContext,
  { edit, revoke }: typeof Message.Type,
  kind: string,
  at: DateTime.Utc
): Parsed => {
  if (edit !== undefined) {
    const { text, type } = contentOfMessage(edit.message)
    // It would replace the text of the message with nothing. A file can lose its caption.
    if (text === null && (type === "text" || type === "unsupported")) return ignored("unreadable", kind)
    return singleEvent(account, { event: "message_edited", provider_message_id: edit.original_message_id, text, at })
  }
  if (revoke === undefined) return ignored("unreadable", kind)
  return singleEvent(account, { event: "message_deleted", provider_message_id: revoke.original_message_id, at })
}

/** Returns a message of a person, or an echo: one that the business sent in the network's own app. */
const messageEvent = (
  { account, people }: ChangeContext,
  message: typeof Message.Type,
  isEcho: boolean,
  { file, ...content }: MessageContent,
  sent_at: DateTime.Utc
): Parsed => {
  const { from, from_parent_user_id, from_user_id, id, to, to_parent_user_id, to_user_id } = message
  const ids = isEcho ? [to, to_user_id, to_parent_user_id] : [from, from_user_id, from_parent_user_id]
  const person = personOf(ids, people)
  if (id === undefined || Option.isNone(person)) return unreadable(isEcho)
  const fields = { provider_message_id: id, ...content, sent_at }
  return singleEvent(
    account,
    isEcho
      ? { event: "message_sent", to: person.value, ...fields }
      : { event: "message_received", from: person.value, ...fields },
    file
  )
}

/** Returns the type of a message; of one that has none, the type that its fields show. */
const typeOf = ({ edit, revoke, system, type }: typeof Message.Type): string => {
  if (type !== undefined) return type
  if (system !== undefined) return "system"
  return edit === undefined && revoke === undefined ? "" : "edit"
}

const unreadable = (isEcho: boolean): Parsed => ignored("unreadable", isEcho ? "message:echo" : "message")

/** Returns an echo with its message in it. In `standby` the message is one of its fields. */
const flatEcho = (echo: unknown): unknown =>
  isObject(echo) && isObject(echo["message"])
    ? { ...echo["message"], id: echo["id"], timestamp: echo["timestamp"] }
    : echo

/** Parses a message, or the edit or deletion of one. */
const parseMessage = (context: ChangeContext, item: unknown, isEcho: boolean): Parsed => {
  const decoded = decodeMessage(item)
  if (Option.isNone(decoded)) return unreadable(isEcho)
  const message = decoded.value
  const type = typeOf(message)
  const kind = `message:${type}`
  if (message.group_id !== undefined) return ignored("group", kind)
  const at = timeOf(message.timestamp, context.received_at)
  switch (meaningIn(whatsapp_messages, type)) {
    case "identity":
      return isEcho ? ignored("nothing", kind) : parseSystemMessage(context, message)
    case "revision":
      return parseRevision(context, message, kind, at)
    case "nothing":
      return ignored("nothing", kind)
    default:
      // Messages of the business arrive as echoes. If one were stored as inbound, the business could reply to itself.
      return !isEcho && message.from !== undefined && coreId(message.from) === context.own_number
        ? ignored("nothing", "message:own")
        : messageEvent(context, message, isEcho, contentOfMessage(item), at)
  }
}

/** Parses an update of a user ID. */
const parseUserIdUpdate = ({ account, people }: ChangeContext, item: unknown): Parsed =>
  Option.match(userIdChange(item, people), {
    onNone: () => ignored("unreadable", "field:user_id_update"),
    onSome: (event) => singleEvent(account, event)
  })

/** Parses a preference of a person. The only documented one is about marketing messages. */
const parsePreference = ({ account, people, received_at }: ChangeContext, item: unknown): Parsed => {
  const decoded = decodePreference(item)
  if (Option.isNone(decoded)) return ignored("unreadable", "field:user_preferences")
  const { category, parent_user_id, timestamp, user_id, value: preference, wa_id } = decoded.value
  const person = personOf([wa_id, user_id, parent_user_id], people)
  if (Option.isNone(person)) return ignored("unreadable", "field:user_preferences")
  return category === "marketing_messages" && (preference === "stop" || preference === "resume")
    ? singleEvent(account, {
      event: "marketing_preference_reported",
      person: person.value,
      preference,
      at: timeOf(timestamp, received_at)
    })
    : ignored("unknown", "field:user_preferences")
}

/** Parses the value of a change, according to the meaning of its field. */
const parseValue = (
  meaning: Meaning,
  { value }: typeof Change.Type,
  context: ChangeContext
): ReadonlyArray<Parsed> => {
  const { errors = [], message_echoes = [], messages = [], statuses = [], user_id_update = [], user_preferences = [] } =
    value
  const echoes = message_echoes.map((item) => parseMessage(context, flatEcho(item), true))
  switch (meaning) {
    case "message":
      return [
        ...messages.map((item) => parseMessage(context, item, false)),
        ...echoes,
        ...statuses.map((item) => parseStatus(context.account, item, context.received_at)),
        ...errors.map(() => ignored("account", "errors"))
      ]
    case "echo":
      return echoes
    case "identity":
      return (Array.isArray(user_id_update) ? user_id_update : [user_id_update])
        .map((item) => parseUserIdUpdate(context, item))
    case "preference":
      return user_preferences.map((item) => parsePreference(context, item))
    default:
      return []
  }
}

/** Parses a change. Its metadata has the ID of its phone number, because a body can be about several. */
const parseChange = (given: unknown, received_at: DateTime.Utc): Parsed => {
  const item = withLists(given)
  const field = fieldOf(item)
  const kind = `field:${field ?? ""}`
  // A change without a field is parsed as if it contained messages.
  const meaning = meaningIn(whatsapp_fields, field ?? "messages")
  if (meaning === undefined || meaning === "account" || meaning === "nothing") return ignoredAs(meaning, kind)
  const change = decodeChange(item)
  if (Option.isNone(change)) return ignored("unreadable", kind)
  const { contacts = [], metadata } = change.value.value
  const items = parseValue(meaning, change.value, {
    account: { type: "phone_messaging", id: metadata.phone_number_id },
    people: namedPeopleOf(contacts),
    own_number: coreId((metadata.display_phone_number ?? "").replaceAll(/[^0-9]/g, "")),
    received_at
  })
  return items.length === 0 ? ignored("unreadable", kind) : combined(items)
}

/** The format of WhatsApp's entries. */
export const format: EntryFormat = {
  parse: ({ changes = [] }, { received_at }) => changes.map((change) => parseChange(change, received_at)),
  split: ({ changes = [], id }) => changes.flatMap((change) => splitChange(id ?? null, change))
}
