/** The model of tags and contacts (contract §8, §9.3). */
import type { ChannelType } from "@messaging-crm/core/Channels"
import type { ContactField } from "@messaging-crm/core/ContactFields"
import { no_marketing_preference, WritableContact } from "@messaging-crm/core/Contacts"
import type { TagColor } from "@messaging-crm/core/Tags"
import { byCodePoint, foldCase, plain as plainText } from "@messaging-crm/core/Text"
import { DateTime } from "effect"
import { raise } from "./Events.ts"
import { fullName, newestFirst, ok, type Outcome, rejected, showContact } from "./Results.ts"
import type { Contact, Identity, Organization, Tag } from "./State.ts"

export const createTag = (organization: Organization, name: string, color: TagColor): Outcome => {
  if (organization.tags.some((tag) => foldCase(tag.name) === foldCase(name))) return rejected("TagNameTaken")
  const tag = { id: organization.newName(), name, color }
  organization.tags.push(tag)
  organization.tags.sort((a, b) => byCodePoint(foldCase(a.name), foldCase(b.name)))
  return ok(tag)
}

/** The input of a create or an update. A field that is absent stays unchanged. */
interface Input {
  readonly plain: Readonly<Record<string, string | null>>
  readonly custom_values?: Readonly<Record<string, string | null>> | null
  readonly tags?: ReadonlyArray<Tag | undefined>
}

const fits = (field: ContactField, value: string): boolean =>
  field.type === "text" || (field.type === "number" ? /^\d+$/.test(value) : field.options?.includes(value) ?? false)

/** Returns the error of a reference in the input, if any. */
const findRejection = (organization: Organization, { custom_values, plain, tags }: Input): Outcome | null => {
  const owner = plain["owner_user_id"] ?? null
  if (owner !== null && !organization.members.some(({ id }) => id === owner)) {
    return rejected("ReferenceUnknown", "owner_user_id")
  }
  for (const [id, value] of Object.entries(custom_values ?? {})) {
    const field = organization.fields.find((candidate) => candidate.id === id)
    if (field === undefined) return rejected("ReferenceUnknown", `custom_values.${id}`)
    if (value !== null && !fits(field, value)) return rejected("CustomValueInvalid", `custom_values.${id}`)
  }
  return tags?.includes(undefined) ? rejected("ReferenceUnknown", "tag_ids") : null
}

const setFields = (organization: Organization, contact: Contact, { custom_values, plain, tags }: Input) => {
  contact.plain = { ...contact.plain, ...plain }
  if (tags !== undefined) contact.tags = organization.tags.filter((tag) => tags.includes(tag))
  const values = custom_values === null ? {} : { ...contact.custom_values, ...custom_values }
  contact.custom_values = Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) => value === null ? [] : [[key, value]])
  )
}

/** Every field that a caller may write and that has one value. */
const fields = Object.keys(WritableContact.fields).filter((field) => field !== "custom_values" && field !== "tag_ids")

export const nothingKnown = Object.fromEntries(fields.map((field) => [field, null]))

/** Returns the IDs in the events of a contact. */
export const idsOf = ({ id, last }: Contact) => ({ conversation_id: last?.conversation.id ?? null, contact_id: id })

/** Edits a contact, and raises an event with the names of the fields that differ afterwards. Returns whether any does. */
export const edit = (organization: Organization, contact: Contact, how: () => void): boolean => {
  const fields = () =>
    Object.entries(showContact(contact)).map(([field, value]) => [field, JSON.stringify(value)] as const)
  const before = new Map(fields())
  how()
  const changed_fields = fields().flatMap(([field, value]) =>
    field === "updated_at" || before.get(field) === value ? [] : [field]
  )
  if (changed_fields.length > 0) {
    raise(organization, "contact.updated", { ...idsOf(contact), changed_fields: changed_fields.toSorted() })
  }
  return changed_fields.length > 0
}

/** Returns a new contact without any values. */
export const newContact = (organization: Organization): Contact => {
  const contact: Contact = {
    id: organization.newName(),
    plain: nothingKnown,
    custom_values: {},
    tags: [],
    identities: [],
    last: null,
    updated_at: organization.now
  }
  organization.contacts.push(contact)
  raise(organization, "contact.created", idsOf(contact))
  return contact
}

/** Returns why a contact cannot be created, if there is a reason. */
const findCreateRejection = (organization: Organization, input: Input): Outcome | null => {
  const naming = ["first_name", "last_name", "primary_phone", "primary_email"]
  if (naming.every((field) => (input.plain[field] ?? null) === null)) return rejected("ContactUnnamed")
  return findRejection(organization, input)
}

export const createContact = (organization: Organization, input: Input): Outcome => {
  const rejection = findCreateRejection(organization, input)
  if (rejection !== null) return rejection
  const contact = newContact(organization)
  setFields(organization, contact, input)
  return ok(showContact(contact))
}

/** Returns a number of Brazil without the ninth digit of mobile numbers: two spellings of a number are then equal. */
const numberKey = (number: string): string => number.replace(/^(\+55[0-9]{2})9([0-9]{8})$/, "$1$2")

/** Returns whether a contact has a phone in any spelling. */
export const isNumberOf = ({ plain }: Contact, phone: string): boolean =>
  numberKey(plain["primary_phone"] ?? "") === numberKey(phone)

/** Returns whether an identity has an external ID on a type of channel, a number in any spelling. */
export const isIdentity = (identity: Identity, type: ChannelType, external_id: string): boolean => {
  const key = type === "phone_messaging" ? numberKey : (name: string) => name
  return identity.channel_type === type && key(identity.external_id) === key(external_id)
}

/** Returns the contacts with a number as it is spelled, or else those with another spelling of it, the latest first. */
export const withPhone = (organization: Organization, phone: string): ReadonlyArray<Contact> => {
  const sharing = organization.contacts.filter((contact) => isNumberOf(contact, phone))
  const equal = sharing.filter(({ plain }) => plain["primary_phone"] === phone)
  return newestFirst(equal.length > 0 ? equal : sharing, ({ updated_at }) => updated_at)
}

/** By what an upsert finds a contact. */
export type Match =
  | { readonly by: "primary_email"; readonly value: string }
  | { readonly by: "primary_phone"; readonly value: string }
  | { readonly by: "external_id"; readonly value: string; readonly channel_type: ChannelType }

const isMatch = ({ identities, plain }: Contact, match: Exclude<Match, { readonly by: "primary_phone" }>): boolean =>
  match.by === "external_id"
    ? identities.some((identity) => isIdentity(identity, match.channel_type, match.value))
    : foldCase(plain["primary_email"] ?? "") === foldCase(match.value)

const matching = (organization: Organization, match: Match): ReadonlyArray<Contact> =>
  match.by === "primary_phone"
    ? withPhone(organization, match.value)
    : organization.contacts.filter((candidate) => isMatch(candidate, match))

export const upsertContact = (organization: Organization, match: Match, input: Input): Outcome => {
  const [contact, ...others] = matching(organization, match)
  if (others.length > 0) return rejected("ContactAmbiguous")
  const rejection = contact === undefined
    ? findCreateRejection(organization, input)
    : findRejection(organization, input)
  if (rejection !== null) return rejection
  if (contact !== undefined) {
    const isChanged = edit(organization, contact, () => setFields(organization, contact, input))
    if (isChanged) contact.updated_at = organization.now
    return ok({ id: contact.id, outcome: isChanged ? "updated" : "unchanged" })
  }
  const created = newContact(organization)
  setFields(organization, created, input)
  if (match.by === "external_id") {
    const { channel_type, value: external_id } = match
    created.identities.push({
      id: organization.newName(),
      channel_type,
      external_id,
      display_name: null,
      ...no_marketing_preference
    })
  }
  return ok({ id: created.id, outcome: "created" })
}

export const updateContact = (
  organization: Organization,
  contact: Contact | undefined,
  input: Input
): Outcome => {
  const rejection = findRejection(organization, input)
  if (rejection !== null) return rejection
  if (contact === undefined) return rejected("ContactNotFound")
  const isEmpty = Object.keys(input.plain).length === 0 && input.custom_values === undefined &&
    input.tags === undefined
  if (isEmpty) return ok(showContact(contact))
  edit(organization, contact, () => setFields(organization, contact, input))
  contact.updated_at = organization.now
  return ok(showContact(contact))
}

export const editTags = (
  organization: Organization,
  contact: Contact | undefined,
  { add, remove }: Readonly<Record<"add" | "remove", ReadonlyArray<Tag | undefined>>>
): Outcome => {
  if (add.includes(undefined)) return rejected("ReferenceUnknown", "add_tag_ids")
  if (remove.includes(undefined)) return rejected("ReferenceUnknown", "remove_tag_ids")
  if (contact === undefined) return rejected("ContactNotFound")
  const wanted = new Set([...contact.tags.filter((tag) => !remove.includes(tag)), ...add])
  edit(organization, contact, () => {
    contact.tags = organization.tags.filter((tag) => wanted.has(tag))
  })
  contact.updated_at = organization.now
  return ok(showContact(contact))
}

export const addNote = (
  organization: Organization,
  contact: Contact | undefined,
  text: string
): Outcome => {
  if (contact === undefined) return rejected("ContactNotFound")
  const before = contact.plain["notes"] ?? null
  const notes = before === null ? text : `${before}\n\n${text}`
  if (Array.from(notes).length > 200_000) return rejected("NotesTooLong")
  edit(organization, contact, () => {
    contact.plain = { ...contact.plain, notes }
  })
  contact.updated_at = organization.now
  return ok(showContact(contact))
}

export interface Filters {
  readonly query: string | null
  readonly tag: Tag | "unknown" | null
  readonly owner_user_id: string | null
  readonly lifecycle_stage: string | null
  readonly channel: string | null
  readonly phone: string | null
  readonly email: string | null
  readonly external_id: string | null
  readonly updated_since: DateTime.Utc | null
}

/** Returns a text as it is searched. */
const searched = (text: string): string => foldCase(plainText(text))

const contains = ({ plain, ...contact }: Contact, query: string): boolean => {
  const digits = plainText(query).replace(/[\s()\-./+]/g, "")
  const wanted = [searched(query), ...(/^\d+$/.test(digits) ? [digits] : [])]
  const name = fullName({ plain, ...contact })
  const names = contact.identities.map(({ display_name }) => display_name)
  const phone = plain["primary_phone"] ?? null
  const phones = phone === null ? [] : [phone, numberKey(phone), phone.replace(/^(\+55[0-9]{2})([0-9]{8})$/, "$19$2")]
  return [name, ...phones, plain["primary_email"], plain["company"], ...names].some((part) =>
    wanted.some((term) => searched(part ?? "").includes(term))
  )
}

export const listContacts = (organization: Organization, filters: Filters) => {
  const { channel, email, external_id, lifecycle_stage, owner_user_id, phone, query, tag, updated_since } = filters
  const matching = organization.contacts.filter((contact) =>
    (query === null || plainText(query).trim() === "" || contains(contact, query)) &&
    (tag === null || (tag !== "unknown" && contact.tags.includes(tag))) &&
    (owner_user_id === null || contact.plain["owner_user_id"] === owner_user_id) &&
    (lifecycle_stage === null || contact.plain["lifecycle_stage"] === lifecycle_stage) &&
    (external_id === null ||
      contact.identities.some((identity) =>
        isIdentity(identity, identity.channel_type, external_id) &&
        (channel === null || identity.channel_type === channel)
      )) &&
    (phone === null || isNumberOf(contact, phone)) &&
    (email === null || foldCase(contact.plain["primary_email"] ?? "") === foldCase(email)) &&
    (updated_since === null || DateTime.isGreaterThanOrEqualTo(contact.updated_at, updated_since)) &&
    (channel === null || contact.identities.some(({ channel_type }) => channel_type === channel) ||
      (channel === "phone_messaging" && contact.plain["primary_phone"] !== null))
  )
  return newestFirst(matching, ({ updated_at }) => updated_at).map(showContact)
}
