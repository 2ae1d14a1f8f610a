/** The model of an erasure (contract §20.2). */
import { edit, nothingKnown } from "./Contacts.ts"
import { eraseResources } from "./Events.ts"
import type { Name } from "./Names.ts"
import { ok, type Outcome, rejected } from "./Results.ts"
import type { Contact, Message, Organization, Send } from "./State.ts"

const erased = "[erased]"

const isErased = ({ custom_values, identities, last, plain, tags }: Contact): boolean =>
  (last === null || last.preview === erased) &&
  Object.entries({ ...nothingKnown, first_name: erased }).every(([field, value]) => (plain[field] ?? null) === value) &&
  Object.keys(custom_values).length === 0 && tags.length === 0 &&
  identities.every(({ external_id }) => external_id.startsWith("erased-"))

/** Erases what the contact's conversations, their messages, and their sends contain. */
const eraseThreads = (organization: Organization, contact: Contact) => {
  const ofContact = ({ conversation }: Message | Send) => conversation.contact === contact
  for (const message of organization.messages.filter(ofContact)) {
    const key = `${message.conversation.channel.id} ${message.provider_message_id}`
    organization.revisions.delete(key)
    if (message.provider_message_id !== null) organization.erased_messages.add(key)
    message.provider_message_id = null
    if (message.reports === null) message.sender = { ...message.sender, name: null }
  }
  for (const send of organization.sends.filter(ofContact)) {
    send.recipient = null
    if (send.status !== "sent") send.failure_reason ??= "recipient_opted_out"
    if (send.status !== "sent") send.status = "failed"
  }
  for (const conversation of organization.conversations.filter((candidate) => candidate.contact === contact)) {
    conversation.preview &&= erased
    conversation.close_category = null
    conversation.last_inbound_at = null
  }
}

export const erase = (
  organization: Organization,
  contact: Contact | undefined,
  idOf: (name: Name) => string
): Outcome => {
  if (contact === undefined) return rejected("ContactNotFound")
  eraseThreads(organization, contact)
  eraseResources(organization, contact)
  if (isErased(contact)) return ok(undefined)
  if (contact.last !== null) contact.last = { ...contact.last, preview: erased }
  edit(organization, contact, () => {
    contact.plain = { ...nothingKnown, first_name: erased }
    contact.custom_values = {}
    contact.tags = []
    for (const identity of contact.identities) {
      identity.external_id = `erased-${idOf(identity.id)}`
      identity.display_name = null
      identity.marketing_opt_out_at = null
      identity.marketing_opt_in_at = null
    }
  })
  contact.updated_at = organization.now
  // The second pass of the erasure removes that of its own event.
  eraseResources(organization, contact)
  return ok(undefined)
}
