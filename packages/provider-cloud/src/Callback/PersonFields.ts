/** The fields of callback items that name a person. */
import { Schema } from "effect"
import { lenient, NetworkId } from "../GraphSchemas.ts"

/** The fields with the IDs of a message's sender: a number, a user ID, and the ID of the same person for a group of businesses. */
export const Sender = {
  from: lenient(NetworkId),
  from_user_id: lenient(NetworkId),
  from_parent_user_id: lenient(NetworkId)
}

/** The fields with the IDs of the person to whom the business wrote. */
export const Recipient = {
  to: lenient(NetworkId),
  to_user_id: lenient(NetworkId),
  to_parent_user_id: lenient(NetworkId)
}

/** The fields with the IDs of the recipient of the message that a status is about. */
export const StatusRecipient = {
  recipient_id: lenient(NetworkId),
  recipient_user_id: lenient(NetworkId),
  recipient_parent_user_id: lenient(NetworkId)
}

/** The fields with the IDs of a person in a contact. */
export const ContactIds = {
  wa_id: lenient(NetworkId),
  user_id: lenient(NetworkId),
  parent_user_id: lenient(NetworkId)
}

/** The fields of a system message with a person's former and new IDs. */
const SystemIds = {
  ...ContactIds,
  new_wa_id: lenient(NetworkId),
  /** The former number. */
  customer: lenient(NetworkId),
  previous_user_id: lenient(NetworkId),
  previous_parent_user_id: lenient(NetworkId)
}
/** A system message. */
export const System = Schema.Struct({ type: lenient(Schema.String), ...SystemIds })

const Replaced = Schema.Struct({ previous: lenient(NetworkId), current: lenient(NetworkId) })

/** An update of a user ID: the two IDs in one field, or in a field each. */
export const UserIdUpdate = {
  wa_id: lenient(NetworkId),
  user_id: lenient(Schema.Union([NetworkId, Replaced])),
  previous_user_id: lenient(NetworkId),
  parent_user_id: lenient(Replaced)
}

/** The fields of any item of a callback that name a person. Messaging events have `sender` and `recipient`. */
export const person_fields = Object.keys({
  ...Sender,
  ...Recipient,
  ...StatusRecipient,
  ...ContactIds,
  ...UserIdUpdate,
  sender: null,
  recipient: null
})
/** The same of an echo, whose sender is the business. */
export const echo_person_fields = person_fields.filter((field) => !Object.hasOwn(Sender, field))
/** The fields of a system message that name a person. */
export const system_fields = Object.keys(SystemIds)
