/**
 * Contact identities: finds, creates and changes the identity behind a network's id (contract §8.2, §15.3, §15.6).
 *
 * A "name" here is an external id or an alias. Any number of names refer to one
 * identity; `identity_names` maps each to it.
 */
import { Option, Struct } from "effect"
import { ContactId, IdentityId } from "../kernel/Ids.ts"
import * as Changes from "../work/Changes.ts"
import type { Fresh } from "../work/Decide.ts"
import {
  type ContactIdentity,
  Identity,
  type IdentityRow,
  type KnownIdentity,
  type LoadedContact,
  type Person
} from "./Contact.ts"
import { change, ContactRows, insert, newContact } from "./Contacts.ts"

// ---------------------------------------------------------------- data

export const IdentityRows = Changes.rows<Omit<IdentityRow, "version">>()("identities", ["id"], [
  ...Struct.keys(Struct.omit(Identity.fields, ["id"])),
  "contact_id"
])

/** One name of an identity. Type of channel and name are its key, so a name can refer to one identity only. */
export interface IdentityName {
  readonly channel_type: Identity["channel_type"]
  readonly name: string
  readonly identity_id: IdentityId
}

export const IdentityNameRows = Changes.rows<IdentityName>()("identity_names", ["channel_type", "name"], [
  "identity_id"
])

// ----------------------------------------------------------- decisions

/** Returns the distinct names of a person, the external id first. */
export const namesOf = ({ aliases, external_id }: Pick<Person, "aliases" | "external_id">): ReadonlyArray<string> =>
  Array.from(new Set([external_id, ...aliases]))

/** Updates an identity and its copy in the contact's row. */
const updateIdentity = (
  { contact, identity }: Omit<KnownIdentity, "name">,
  set: Partial<Pick<Identity, "display_name" | "external_id" | "username">>
): Changes.Changes =>
  Changes.all(
    IdentityRows.update(identity, set),
    ContactRows.update(contact, {
      identities: contact.identities.map((one) => one.id === identity.id ? { ...one, ...set } : one)
    })
  )

/** Returns the display name and username of the person where they are given and differ from those stored. */
const newNames = (
  identity: Identity,
  { display_name, username }: Pick<Person, "display_name" | "username">
): Partial<Pick<Identity, "display_name" | "username">> => ({
  ...(display_name === null || display_name === identity.display_name ? {} : { display_name }),
  ...(username === null || username === identity.username ? {} : { username })
})

/** Adds names to an identity. A name that already refers to an identity, this one or another, stays as it is. */
export const addAliases = (
  channel_type: Identity["channel_type"],
  identity_id: IdentityId,
  names: ReadonlyArray<string>
): Changes.Changes => Changes.aliases(...names.map((name) => ({ channel_type, name, identity_id })))

const byId = (a: Identity, b: Identity): number => a.id < b.id ? -1 : 1

/** Creates the identity of a person, for the contact with their number or else for a new contact. */
const createIdentity = (
  person: Person,
  withPhone: Option.Option<LoadedContact>,
  { now, uuid }: Fresh
): Changes.Decision<ContactIdentity> => {
  const { channel_type, display_name, external_id, username } = person
  const identity: Identity = {
    id: IdentityId.make(uuid()),
    channel_type,
    external_id,
    display_name,
    username
  }
  const contact = Option.getOrElse(withPhone, () => newContact(ContactId.make(uuid()), person, now))
  const identities = [...contact.identities, identity].toSorted(byId)
  return {
    answer: { identity_id: identity.id, contact_id: contact.id },
    changes: Changes.all(
      Option.isSome(withPhone)
        ? ContactRows.update(withPhone.value, { identities })
        : insert({ ...contact, identities }),
      IdentityRows.insert({ ...identity, contact_id: contact.id }),
      ...namesOf(person).map((name) => IdentityNameRows.insert({ channel_type, name, identity_id: identity.id }))
    )
  }
}

/**
 * Finds a person's identity by any of their names and stores new aliases, display
 * name and username. If no name is known, creates the identity: for the contact
 * with their number if there is one (`withPhone`), else for a new contact.
 */
export const findOrCreateByIdentity = (
  person: Person,
  known: ReadonlyArray<KnownIdentity>,
  withPhone: Option.Option<LoadedContact>,
  fresh: Fresh
): Changes.Decision<ContactIdentity> => {
  const [found] = known
  if (found === undefined) return createIdentity(person, withPhone, fresh)
  const names = new Set(known.map(({ name }) => name))
  const aliases = namesOf(person).filter((name) => !names.has(name))
  const set = newNames(found.identity, person)
  // The identity is written, so that a concurrent erasure, which removes its names, does not miss these.
  const written = aliases.length > 0 ? IdentityRows.update(found.identity, {}) : Changes.none
  return {
    answer: { identity_id: found.identity.id, contact_id: found.contact.id },
    changes: Changes.all(
      addAliases(person.channel_type, found.identity.id, aliases),
      Object.keys(set).length === 0 ? written : updateIdentity(found, set)
    )
  }
}

/**
 * Replaces a name of an identity by another, after a person has changed their
 * number for example. A `primary_phone` of the contact that equals the former
 * name is replaced too. Changes nothing when the former name is unknown, or when
 * the new one belongs to another identity: people are never merged.
 */
export const changeIdentity = (
  former_external_id: string,
  person: Person,
  known: ReadonlyArray<KnownIdentity>,
  contact: Option.Option<LoadedContact>,
  { now }: Fresh
): Changes.Changes => {
  const found = known.find(({ name }) => name === former_external_id)
  const taken = known.find(({ name }) => name === person.external_id)
  if (found === undefined || Option.isNone(contact)) return Changes.none
  if (taken !== undefined && taken.identity.id !== found.identity.id) return Changes.none
  const { channel_type, external_id } = person
  const { identity } = found
  const set = {
    ...newNames(identity, person),
    ...(identity.external_id === former_external_id ? { external_id } : {})
  }
  const hadNumber = contact.value.primary_phone === former_external_id && person.phone !== null
  return Changes.all(
    former_external_id === external_id
      ? Changes.none
      : IdentityNameRows.remove({ channel_type, name: former_external_id }),
    taken === undefined
      ? IdentityNameRows.insert({ channel_type, name: external_id, identity_id: identity.id })
      : Changes.none,
    IdentityRows.update(identity, set),
    change(contact.value, {
      identities: contact.value.identities.map((one) => one.id === identity.id ? { ...one, ...set } : one),
      ...(hadNumber ? { primary_phone: person.phone } : {})
    }, now).changes
  )
}
