/** Reads the callbacks of phone messaging: messages, their statuses, and changed numbers. */
import { SendId } from "@messaging-crm/core/Ids"
import type { MessageStatusReported, ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import { type DateTime, Option, Schema } from "effect"
import type { AccountName } from "../CloudAccounts.ts"
import { isNumber, otherSpellings, spelled } from "../Spellings.ts"
import { Items, lenient, NetworkId, StorableText } from "../Wire.ts"
import { all, ignored, type MessageContent, Moment, nothing, type Notices, noticesOf, timeOf } from "./Notice.ts"
import { contentOfMessage } from "./PhoneContent.ts"

const Change = Schema.Struct({
  field: lenient(Schema.String),
  value: Schema.Struct({
    metadata: Schema.Struct({ phone_number_id: NetworkId }),
    contacts: lenient(Items),
    messages: lenient(Items),
    statuses: lenient(Items)
  })
})

const Contact = Schema.Struct({
  profile: lenient(Schema.Struct({ name: lenient(StorableText), username: lenient(StorableText) })),
  wa_id: lenient(NetworkId),
  user_id: lenient(NetworkId)
})

const Message = Schema.Struct({
  from: lenient(NetworkId),
  from_user_id: lenient(NetworkId),
  id: lenient(NetworkId),
  timestamp: lenient(Moment),
  type: lenient(Schema.String),
  system: lenient(Schema.Struct({
    type: lenient(Schema.String),
    wa_id: lenient(NetworkId),
    new_wa_id: lenient(NetworkId),
    user_id: lenient(NetworkId),
    previous_user_id: lenient(NetworkId)
  })),
  edit: lenient(Schema.Struct({ original_message_id: NetworkId, message: lenient(Schema.Unknown) })),
  revoke: lenient(Schema.Struct({ original_message_id: NetworkId }))
})

const Status = Schema.Struct({
  id: NetworkId,
  status: Schema.String,
  timestamp: lenient(Moment),
  recipient_id: lenient(NetworkId),
  recipient_user_id: lenient(NetworkId),
  biz_opaque_callback_data: lenient(SendId)
})

const decodeChange = Schema.decodeUnknownOption(Change)
const decodeContact = Schema.decodeUnknownOption(Contact)
const decodeMessage = Schema.decodeUnknownOption(Message)
const decodeStatus = Schema.decodeUnknownOption(Status)

/** Core's status for each status of the network. `played` is the reading of a voice message. */
const statuses: Readonly<Record<string, MessageStatusReported["status"]>> = {
  sent: "sent",
  delivered: "delivered",
  read: "read",
  played: "read",
  failed: "failed"
}

const isText = (value: string | undefined): value is string => value !== undefined

/** Returns the distinct ids in core's form: numbers first, the other spellings of the numbers last. */
const namesOf = (ids: ReadonlyArray<string | undefined>): ReadonlyArray<string> => {
  const names = ids.filter(isText).map(spelled).toSorted((a, b) => Number(isNumber(b)) - Number(isNumber(a)))
  return Array.from(new Set([...names, ...names.flatMap(otherSpellings)]))
}

/** Returns the sender from the message and its contact. */
const senderOf = (
  { from, from_user_id }: typeof Message.Type,
  contacts: ReadonlyArray<typeof Contact.Type>
): Option.Option<ProviderMessageReceived["from"]> => {
  // A body may have contacts of several people: only one with an id of the sender is theirs.
  const contact = contacts.find(({ user_id, wa_id }) =>
    [wa_id, user_id].some((id) => id !== undefined && (id === from || id === from_user_id))
  )
  const [external_id, ...aliases] = namesOf([from, from_user_id, contact?.wa_id, contact?.user_id])
  return Option.map(Option.fromUndefinedOr(external_id), (external_id) => ({
    external_id,
    aliases,
    display_name: contact?.profile?.name ?? null,
    username: contact?.profile?.username ?? null
  }))
}

/** Reads a system message that a person has a new number, or a new user id. It has no contact. */
const identityChange = (account: AccountName, { from, from_user_id, system }: typeof Message.Type): Notices => {
  if (system === undefined) return nothing
  const isUserId = system.previous_user_id !== undefined
  const former = isUserId ? system.previous_user_id : from ?? from_user_id
  const now = isUserId ? system.user_id ?? from_user_id : system.wa_id ?? system.new_wa_id
  const [external_id, ...aliases] = now === undefined ? [] : namesOf([now])
  if (former === undefined || external_id === undefined) return nothing
  return noticesOf({
    account,
    event: {
      event: "identity_changed",
      former_external_id: spelled(former),
      now: { external_id, aliases, display_name: null, username: null }
    },
    file: null
  })
}

/** Reads an edit or a deletion. */
const revision = (account: AccountName, { edit, revoke }: typeof Message.Type, at: DateTime.Utc): Notices => {
  if (edit !== undefined) {
    const { text } = contentOfMessage(edit.message)
    const provider_message_id = edit.original_message_id
    return noticesOf({ account, event: { event: "message_edited", provider_message_id, text, at }, file: null })
  }
  if (revoke === undefined) return nothing
  const provider_message_id = revoke.original_message_id
  return noticesOf({ account, event: { event: "message_deleted", provider_message_id, at }, file: null })
}

const received = (
  account: AccountName,
  message: typeof Message.Type,
  contacts: ReadonlyArray<typeof Contact.Type>,
  { file, ...content }: MessageContent,
  sent_at: DateTime.Utc
): Notices => {
  const from = senderOf(message, contacts)
  if (message.id === undefined || Option.isNone(from)) return ignored("unreadable")
  const { id: provider_message_id } = message
  const event = { event: "message_received", provider_message_id, from: from.value, ...content, sent_at } as const
  return noticesOf({ account, event, file })
}

const readMessage = (
  account: AccountName,
  contacts: ReadonlyArray<typeof Contact.Type>,
  item: unknown,
  received_at: DateTime.Utc
): Notices => {
  const decoded = decodeMessage(item)
  if (Option.isNone(decoded)) return ignored("unreadable")
  const message = decoded.value
  const at = timeOf(message.timestamp, received_at)
  const change = all([identityChange(account, message), revision(account, message, at)])
  return change.notices.length > 0 ? change : received(account, message, contacts, contentOfMessage(item), at)
}

/** Reads a status. It has no contact: only its own ids of the recipient are known. */
const readStatus = (account: AccountName, item: unknown, received_at: DateTime.Utc): Notices => {
  const decoded = decodeStatus(item)
  if (Option.isNone(decoded)) return ignored("unreadable")
  const { biz_opaque_callback_data, id, recipient_id, recipient_user_id, timestamp } = decoded.value
  const status = Object.hasOwn(statuses, decoded.value.status) ? statuses[decoded.value.status] : undefined
  if (status === undefined) return ignored("status")
  return noticesOf({
    account,
    event: {
      event: "message_status_reported",
      provider_message_id: id,
      reference: biz_opaque_callback_data ?? null,
      recipient_aliases: namesOf([recipient_id, recipient_user_id]),
      status,
      at: timeOf(timestamp, received_at)
    },
    file: null
  })
}

/** Reads one change. Its metadata hold the id of its phone number, because a body may have several. */
export const read = (item: unknown, received_at: DateTime.Utc): Notices => {
  const change = decodeChange(item)
  if (Option.isNone(change)) return ignored("field")
  const { contacts = [], messages = [], metadata, statuses = [] } = change.value.value
  const account: AccountName = { type: "phone_messaging", id: metadata.phone_number_id }
  const people = contacts.flatMap((contact) => Option.toArray(decodeContact(contact)))
  const parts = [
    ...messages.map((message) => readMessage(account, people, message, received_at)),
    ...statuses.map((status) => readStatus(account, status, received_at))
  ]
  return parts.length === 0 ? ignored("field") : all(parts)
}
