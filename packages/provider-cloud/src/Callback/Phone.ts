/** Reads the callbacks of phone messaging: messages, their statuses, and changed numbers. */
import { type DateTime, Option, Schema } from "effect"
import type { AccountKey } from "../CloudAccounts.ts"
import { isObject, Items, lenient, NetworkId } from "../GraphJson.ts"
import { type Contact, contactsOf, coreId, personOf, Recipient, Sender, System } from "../People.ts"
import { systemChange, userIdChange } from "./IdentityChanges.ts"
import { type Meaning, meaningIn, phone_fields, phone_messages, phone_system } from "./Kinds.ts"
import {
  fieldOf,
  ignored,
  ignoredAs,
  joined,
  type MessageContent,
  type Network,
  NetworkTime,
  type Notices,
  noticesOf,
  timeOf
} from "./Notice.ts"
import { contentOfMessage } from "./PhoneContent.ts"
import { splitChange, withLists } from "./PhoneParts.ts"
import { readStatus } from "./PhoneStatus.ts"

const Change = Schema.Struct({
  value: Schema.Struct({
    metadata: Schema.Struct({ phone_number_id: NetworkId, display_phone_number: lenient(NetworkId) }),
    contacts: lenient(Items),
    messages: lenient(Items),
    statuses: lenient(Items),
    message_echoes: lenient(Items),
    errors: lenient(Items),
    user_id_update: lenient(Schema.Union([Items, Schema.Record(Schema.String, Schema.Unknown)]))
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

const decodeChange = Schema.decodeUnknownOption(Change)
const decodeMessage = Schema.decodeUnknownOption(Message)

/** The context of the parts of a change, for their readers. */
interface Context {
  readonly account: AccountKey
  readonly contacts: ReadonlyArray<Contact>
  /** The number of the account itself; empty if the change does not contain it. */
  readonly own_number: string
  readonly received_at: DateTime.Utc
}

/** Reads a system message. It never becomes a message, because no person wrote it. */
const systemMessage = ({ account }: Context, message: typeof Message.Type): Notices => {
  const type = message.system?.type ?? ""
  const kind = `system:${type}`
  const meaning = meaningIn(phone_system, type)
  if (meaning === "nothing" || message.system === undefined) return ignoredAs(meaning, kind)
  return Option.match(systemChange(message, message.system), {
    onNone: () => meaning === undefined ? ignored("unknown", kind) : ignored("unreadable", kind),
    onSome: (event) => noticesOf({ account, event, file: null })
  })
}

/** Reads an edit or a deletion. */
const revision = (
  { account }: Context,
  { edit, revoke }: typeof Message.Type,
  kind: string,
  at: DateTime.Utc
): Notices => {
  if (edit !== undefined) {
    const { text, type } = contentOfMessage(edit.message)
    // It would replace the text of the message with nothing. A file can lose its caption.
    if (text === null && (type === "text" || type === "unsupported")) return ignored("unreadable", kind)
    const provider_message_id = edit.original_message_id
    return noticesOf({ account, event: { event: "message_edited", provider_message_id, text, at }, file: null })
  }
  if (revoke === undefined) return ignored("unreadable", kind)
  const provider_message_id = revoke.original_message_id
  return noticesOf({ account, event: { event: "message_deleted", provider_message_id, at }, file: null })
}

/** Returns a message of a person, or an echo: one that the business sent in the network's own app. */
const messageAs = (
  { account, contacts }: Context,
  message: typeof Message.Type,
  isEcho: boolean,
  { file, ...content }: MessageContent,
  sent_at: DateTime.Utc
): Notices => {
  const { from, from_parent_user_id, from_user_id, id, to, to_parent_user_id, to_user_id } = message
  const ids = isEcho ? [to, to_user_id, to_parent_user_id] : [from, from_user_id, from_parent_user_id]
  const person = personOf(ids, contacts)
  if (id === undefined || Option.isNone(person)) return unreadable(isEcho)
  const fields = { provider_message_id: id, ...content, sent_at }
  return noticesOf({
    account,
    event: isEcho
      ? { event: "message_sent", to: person.value, ...fields }
      : { event: "message_received", from: person.value, ...fields },
    file
  })
}

/** Returns the type of a message; of one that has none, the type that its parts show. */
const typeOf = ({ edit, revoke, system, type }: typeof Message.Type): string => {
  if (type !== undefined) return type
  if (system !== undefined) return "system"
  return edit === undefined && revoke === undefined ? "" : "edit"
}

const unreadable = (isEcho: boolean): Notices => ignored("unreadable", isEcho ? "message:echo" : "message")

/** Returns an echo with its message in it. In `standby` the message is one of its fields. */
const flatEcho = (echo: unknown): unknown =>
  isObject(echo) && isObject(echo["message"])
    ? { ...echo["message"], id: echo["id"], timestamp: echo["timestamp"] }
    : echo

/** Reads a message, or the edit or deletion of one. */
const readMessage = (context: Context, item: unknown, isEcho: boolean): Notices => {
  const decoded = decodeMessage(item)
  if (Option.isNone(decoded)) return unreadable(isEcho)
  const message = decoded.value
  const type = typeOf(message)
  const kind = `message:${type}`
  if (message.group_id !== undefined) return ignored("group", kind)
  const at = timeOf(message.timestamp, context.received_at)
  switch (meaningIn(phone_messages, type)) {
    case "person":
      return isEcho ? ignored("nothing", kind) : systemMessage(context, message)
    case "change":
      return revision(context, message, kind, at)
    case "nothing":
      return ignored("nothing", kind)
    default:
      // Messages of the business arrive as echoes. If one were stored as inbound, the business could reply to itself.
      return !isEcho && message.from !== undefined && coreId(message.from) === context.own_number
        ? ignored("nothing", "message:own")
        : messageAs(context, message, isEcho, contentOfMessage(item), at)
  }
}

/** Reads an update of a user id. */
const readUserIdUpdate = ({ account, contacts }: Context, item: unknown): Notices =>
  Option.match(userIdChange(item, contacts), {
    onNone: () => ignored("unreadable", "field:user_id_update"),
    onSome: (event) => noticesOf({ account, event, file: null })
  })

/** Reads the value of a change according to its field. */
const readValue = (
  meaning: Meaning,
  { value }: typeof Change.Type,
  context: Context
): ReadonlyArray<Notices> => {
  const { errors = [], message_echoes = [], messages = [], statuses = [], user_id_update = [] } = value
  const echoes = message_echoes.map((item) => readMessage(context, flatEcho(item), true))
  switch (meaning) {
    case "message":
      return [
        ...messages.map((item) => readMessage(context, item, false)),
        ...echoes,
        ...statuses.map((item) => readStatus(context.account, item, context.received_at)),
        ...errors.map(() => ignored("account", "errors"))
      ]
    case "echo":
      return echoes
    case "person":
      return (Array.isArray(user_id_update) ? user_id_update : [user_id_update])
        .map((item) => readUserIdUpdate(context, item))
    default:
      return []
  }
}

/** Reads one change. Its metadata hold the id of its phone number, because a body may have several. */
const readChange = (given: unknown, received_at: DateTime.Utc): Notices => {
  const item = withLists(given)
  const field = fieldOf(item)
  const kind = `field:${field ?? ""}`
  // A change without a field is read as if it contained messages.
  const meaning = meaningIn(phone_fields, field ?? "messages")
  if (meaning === undefined || meaning === "account" || meaning === "nothing") return ignoredAs(meaning, kind)
  const change = decodeChange(item)
  if (Option.isNone(change)) return ignored("unreadable", kind)
  const { contacts = [], metadata } = change.value.value
  const parts = readValue(meaning, change.value, {
    account: { type: "phone_messaging", id: metadata.phone_number_id },
    contacts: contactsOf(contacts),
    own_number: coreId((metadata.display_phone_number ?? "").replaceAll(/[^0-9]/g, "")),
    received_at
  })
  return parts.length === 0 ? ignored("unreadable", kind) : joined(parts)
}

/** The entries of phone messaging: changes. */
export const network: Network = {
  read: ({ changes = [] }, { received_at }) => changes.map((change) => readChange(change, received_at)),
  split: ({ changes = [], id }) => changes.flatMap((change) => splitChange(id ?? null, change))
}
