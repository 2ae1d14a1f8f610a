/** The model of conversations and identities (contract §10). */
import type { Channel } from "@messaging-crm/core/Channels"
import { no_marketing_preference } from "@messaging-crm/core/Contacts"
import type { MarketingPreferenceReported } from "@messaging-crm/core/Inbound"
import { DateTime } from "effect"
import { edit, idsOf, isIdentity, isNumberOf, newContact, withPhone } from "./Contacts.ts"
import { raise } from "./Events.ts"
import { newestFirst, ok, type Outcome, rejected, showConversation } from "./Results.ts"
import type { Contact, Conversation, Identity, Organization } from "./State.ts"

/** The contact with this external ID on channels of this type, a number in any spelling. */
const findIdentity = (organization: Organization, { type }: Pick<Channel, "type">, external_id: string) => {
  for (const contact of organization.contacts) {
    const identity = contact.identities.find((identity) => isIdentity(identity, type, external_id))
    if (identity !== undefined) return { contact, identity }
  }
  return undefined
}

/** Returns the person's contact and identity: the existing ones, or the latest contact with that number, or a new one. */
const findOrCreate = (
  organization: Organization,
  channel: Channel,
  external_id: string,
  display_name: string | null
) => {
  const existing = findIdentity(organization, channel, external_id)
  if (existing !== undefined) {
    edit(organization, existing.contact, () => {
      existing.identity.display_name = display_name ?? existing.identity.display_name
    })
    return existing
  }
  const isNumber = channel.type === "phone_messaging"
  const [shared] = isNumber ? withPhone(organization, external_id) : []
  const contact = shared ?? newContact(organization)
  if (isNumber && shared === undefined) contact.plain = { ...contact.plain, primary_phone: external_id }
  const identity: Identity = {
    id: organization.newName(),
    channel_type: channel.type,
    external_id,
    display_name,
    ...no_marketing_preference
  }
  const add = () => contact.identities.push(identity)
  if (shared === undefined) add()
  else edit(organization, contact, add)
  return { contact, identity }
}

/** Changes a person's external ID, unless another contact has the new one. */
export const changeIdentity = (
  organization: Organization,
  channel: Channel | undefined,
  former: string,
  now: { readonly external_id: string; readonly display_name: string | null }
): Outcome => {
  if (channel === undefined) return rejected("ChannelUnknown")
  const owner = findIdentity(organization, channel, former)
  const holder = findIdentity(organization, channel, now.external_id)
  if (owner === undefined || (holder !== undefined && holder.identity !== owner.identity)) return ok(undefined)
  const { contact, identity } = owner
  const isRenamed = now.display_name !== null && now.display_name !== identity.display_name
  const isSame = isIdentity(identity, channel.type, now.external_id)
  if (isSame && !isRenamed) return ok(undefined)
  edit(organization, contact, () => {
    if (!isSame) identity.external_id = now.external_id
    identity.display_name = now.display_name ?? identity.display_name
    const hadNumber = channel.type === "phone_messaging" && isNumberOf(contact, former)
    if (hadNumber && !isSame) contact.plain = { ...contact.plain, primary_phone: now.external_id }
  })
  contact.updated_at = organization.now
  return ok(undefined)
}

/** Stores the latest preference of a person. Of two at the same time, the person stopped marketing messages. */
export const prefer = (
  organization: Organization,
  channel: Channel | undefined,
  external_id: string,
  { at, preference }: Pick<MarketingPreferenceReported, "at" | "preference">
): Outcome => {
  if (channel === undefined) return rejected("ChannelUnknown")
  const found = findIdentity(organization, channel, external_id)
  if (found === undefined) return ok(undefined)
  const { contact, identity } = found
  const last = identity.marketing_opt_out_at ?? identity.marketing_opt_in_at
  if (last !== null && DateTime.isLessThan(at, last)) return ok(undefined)
  if (last !== null && DateTime.Equivalence(at, last) && preference === "resume") return ok(undefined)
  edit(organization, contact, () => {
    identity.marketing_opt_out_at = preference === "stop" ? at : null
    identity.marketing_opt_in_at = preference === "stop" ? null : at
  })
  return ok(undefined)
}

const findConversation = (organization: Organization, channel: Channel, identity: Identity | undefined) =>
  organization.conversations.find((conversation) =>
    conversation.channel === channel && conversation.identity === identity
  )

/** Returns the person's conversation on the channel. */
export const conversationWith = (organization: Organization, channel: Channel, external_id: string) =>
  findConversation(organization, channel, findIdentity(organization, channel, external_id)?.identity)

/** Finds or creates the person's conversation on the channel, and reopens it unless `reopens` is false. */
export const open = (
  organization: Organization,
  channel: Channel,
  external_id: string,
  display_name: string | null,
  { reopens }: { readonly reopens: boolean } = { reopens: true }
): Conversation => {
  const { contact, identity } = findOrCreate(organization, channel, external_id, display_name)
  const existing = findConversation(organization, channel, identity)
  if (existing !== undefined) {
    if (reopens) reopen(organization, existing)
    return existing
  }
  const conversation: Conversation = {
    id: organization.newName(),
    channel,
    contact,
    identity,
    created_at: organization.now,
    status: "open",
    close_category: null,
    assigned_user_id: null,
    opened_at: organization.now,
    closed_at: null,
    last_activity_at: organization.now,
    preview: null,
    last_inbound_at: null,
    lane: []
  }
  organization.conversations.push(conversation)
  raise(organization, "conversation.opened", { conversation_id: conversation.id })
  return conversation
}

export const listConversations = (
  organization: Organization,
  { assigned_user_id, channel, contact, status, unassigned }: {
    readonly status: string | null
    readonly assigned_user_id: string | null
    readonly unassigned: true | null
    readonly contact: Contact | "unknown" | null
    readonly channel: Channel | "unknown" | null
  }
) =>
  newestFirst(
    organization.conversations.filter((conversation) =>
      (status === null || conversation.status === status) &&
      (assigned_user_id === null || conversation.assigned_user_id === assigned_user_id) &&
      (unassigned === null || conversation.assigned_user_id === null) &&
      (contact === null || conversation.contact === contact) &&
      (channel === null || conversation.channel === channel)
    ),
    ({ last_activity_at }) => last_activity_at
  ).map(showConversation)

export const assign = (
  organization: Organization,
  conversation: Conversation | undefined,
  assigned_user_id: string | null,
  sync_contact_owner: boolean
): Outcome => {
  if (assigned_user_id !== null && !organization.members.some(({ id }) => id === assigned_user_id)) {
    return rejected("ReferenceUnknown", "assigned_user_id")
  }
  if (conversation === undefined) return rejected("ConversationNotFound")
  if (conversation.assigned_user_id !== assigned_user_id) {
    raise(organization, "conversation.assigned", { conversation_id: conversation.id, assigned_user_id })
  }
  conversation.assigned_user_id = assigned_user_id
  if (sync_contact_owner && assigned_user_id !== null) {
    setOwner(organization, conversation.contact, assigned_user_id)
  }
  return ok(showConversation(conversation))
}

const setOwner = (organization: Organization, contact: Contact, owner_user_id: string) => {
  // The former owner is irrelevant.
  raise(organization, "contact.updated", { ...idsOf(contact), changed_fields: ["owner_user_id"] })
  contact.plain = { ...contact.plain, owner_user_id }
  contact.updated_at = organization.now
}

export const close = (
  organization: Organization,
  conversation: Conversation | undefined,
  category: string | null
): Outcome => {
  if (conversation === undefined) return rejected("ConversationNotFound")
  if (conversation.status === "open") {
    conversation.status = "closed"
    conversation.close_category = category
    conversation.closed_at = organization.now
    raise(organization, "conversation.closed", { conversation_id: conversation.id })
  }
  return ok(showConversation(conversation))
}

export const reopen = (
  organization: Organization,
  conversation: Conversation | undefined
): Outcome => {
  if (conversation === undefined) return rejected("ConversationNotFound")
  if (conversation.status === "closed") {
    conversation.status = "open"
    conversation.close_category = null
    conversation.opened_at = organization.now
    conversation.closed_at = null
    raise(organization, "conversation.opened", { conversation_id: conversation.id })
  }
  return ok(showConversation(conversation))
}
