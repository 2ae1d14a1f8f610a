/**
 * Contact identities: finds, creates and changes the identity behind a network's id (contract §8.2, §15.3, §15.6).
 *
 * A "name" here is an external id or an alias. Any number of names refer to one
 * identity; `identity_names` maps each to it.
 */
import { Option } from "effect"
import { ContactId, IdentityId } from "../kernel/Ids.ts"
import { canonical } from "../kernel/Phones.ts"
import * as Changes from "../work/Changes.ts"
import type { DecisionContext } from "../work/Decide.ts"
import type { ContactIdentity, Identity, IdentityRow, KnownIdentity, LoadedContact, Person } from "./Contact.ts"
import { add, change, ContactRows, newContact, raiseUpdated, searchText } from "./Contacts.ts"

// ---------------------------------------------------------------- data

export const IdentityRows = Changes.rows<Omit<IdentityRow, "version">>()({
  name: "identities",
  key: { id: "uuid" },
  columns: {
    channel_type: "text",
    external_id: "text",
    display_name: "text",
    username: "text",
    contact_id: "uuid"
  },
  unique: { columns: ["channel_type", "external_id"], within: "organization" },
  activity: null
})

/** One name of an identity. Type of channel and name are its key, so a name can refer to one identity only. */
export interface IdentityNetworkId {
  readonly channel_type: Identity["channel_type"]
  readonly name: string
  readonly identity_id: IdentityId
}

export const IdentityNetworkIdRows = Changes.rows<IdentityNetworkId>()({
  name: "identity_names",
  key: { channel_type: "text", name: "text" },
  columns: {
    identity_id: "uuid"
  },
  unique: null,
  activity: null
})

// ----------------------------------------------------------- decisions

/** Returns the distinct names of a person, the external id first. */
export const networkIdsOf = (
  { aliases, external_id }: Pick<Person, "aliases" | "external_id">
): ReadonlyArray<string> => Array.from(new Set([external_id, ...aliases]))

/** Updates an identity, and its copy and the search text in the contact's row. */
const updateIdentity = (
  { identity }: Pick<KnownIdentity, "identity">,
  contact: LoadedContact,
  set: Partial<Pick<Identity, "display_name" | "external_id" | "username">>,
  context: DecisionContext
): Changes.Changes => {
  const identities = contact.identities.map((one) => one.id === identity.id ? { ...one, ...set } : one)
  return Changes.all(
    IdentityRows.update(identity, set),
    ContactRows.update(contact, { identities, search_text: searchText({ ...contact, identities }) }),
    raiseUpdated(contact.id, ["identities"], context)
  )
}

/** Returns whether a person is known by other names than those stored, so that their contact must be loaded. */
export const isRenamed = ({ identity }: KnownIdentity, person: Person): boolean =>
  Object.keys(newNames(identity, person)).length > 0

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
  context: DecisionContext
): Changes.Decision<ContactIdentity> => {
  const { now, uuid } = context
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
    result: { identity_id: identity.id, contact_id: contact.id },
    changes: Changes.all(
      Option.isSome(withPhone)
        ? Changes.all(
          ContactRows.update(withPhone.value, {
            identities,
            search_text: searchText({ ...withPhone.value, identities })
          }),
          raiseUpdated(contact.id, ["identities"], context)
        )
        : add({ ...contact, identities }, context),
      IdentityRows.insert({ ...identity, contact_id: contact.id }),
      ...networkIdsOf(person).map((name) =>
        IdentityNetworkIdRows.insert({ channel_type, name, identity_id: identity.id })
      )
    )
  }
}

/**
 * Finds a person's identity by any of their names and stores new aliases, display
 * name and username. If no name is known, creates the identity: for the contact
 * with their number if there is one (`contact`), else for a new contact.
 *
 * If names change (`isRenamed`), `contact` is the one of the identity.
 */
export const findOrCreateByIdentity = (
  person: Person,
  known: ReadonlyArray<KnownIdentity>,
  contact: Option.Option<LoadedContact>,
  context: DecisionContext
): Changes.Decision<ContactIdentity> => {
  const [found] = known
  if (found === undefined) return createIdentity(person, contact, context)
  const names = new Set(known.map(({ name }) => name))
  const aliases = networkIdsOf(person).filter((name) => !names.has(name))
  const set = newNames(found.identity, person)
  // The identity is written, so that a concurrent erasure, which removes its names, does not miss these.
  const written = aliases.length > 0 ? IdentityRows.update(found.identity, {}) : Changes.none
  return {
    result: { identity_id: found.identity.id, contact_id: found.contact.id },
    changes: Changes.all(
      addAliases(person.channel_type, found.identity.id, aliases),
      Option.match(contact, {
        onNone: () => written,
        onSome: (contact) => Object.keys(set).length === 0 ? written : updateIdentity(found, contact, set, context)
      })
    )
  }
}

/**
 * Returns the names that a person loses and the address that they get, when `former` ids become those of `person`.
 *
 * The address moves if it is lost. A number is also lost when the event names another number, which is then the one of
 * the person.
 */
const movedNames = (former: ReadonlyArray<string>, person: Person, { external_id }: Identity) => {
  const names = networkIdsOf(person)
  const isReplaced = person.phone !== null && Option.isSome(canonical(external_id))
  const isLost = !names.includes(external_id) && (isReplaced || former.includes(external_id))
  return {
    lost: new Set(former.filter((name) => !names.includes(name)).concat(isLost ? external_id : [])),
    address: isLost ? person.external_id : external_id
  }
}

/**
 * Replaces names of an identity by others, after a person has changed their number or user id.
 *
 * A `primary_phone` of the contact that equals a former name is replaced too.
 * An event that names an id as former and present tells of other names only.
 * Changes nothing when no former name is known, or when the new `external_id`
 * belongs to another identity: people are never merged.
 */
export const changeIdentity = (
  former: ReadonlyArray<string>,
  person: Person,
  known: ReadonlyArray<KnownIdentity>,
  contact: Option.Option<LoadedContact>,
  context: DecisionContext
): Changes.Changes => {
  const found = known.find(({ name }) => former.includes(name))
  const taken = known.find(({ name }) => name === person.external_id)
  if (found === undefined || Option.isNone(contact)) return Changes.none
  if (taken !== undefined && taken.identity.id !== found.identity.id) return Changes.none
  const { channel_type } = person
  const { identity } = found
  const own = new Set(known.flatMap((one) => one.identity.id === identity.id ? one.name : []))
  const { address, lost } = movedNames(former, person, identity)
  const isAddressLost = lost.has(identity.external_id)
  const set = { ...newNames(identity, person), ...(isAddressLost ? { external_id: address } : {}) }
  const { primary_phone } = contact.value
  const hadNumber = primary_phone !== null && lost.has(primary_phone) && person.phone !== null
  const added = networkIdsOf(person).filter((name) => !own.has(name))
  if (lost.size === 0 && added.length === 0 && Object.keys(set).length === 0) return Changes.none
  return Changes.all(
    ...Array.from(lost)
      .filter((name) => own.has(name) || name === identity.external_id)
      .map((name) => IdentityNetworkIdRows.remove({ channel_type, name })),
    // The insertion of the address conflicts with somebody who takes it at the same time. A further name stays theirs.
    taken === undefined
      ? IdentityNetworkIdRows.insert({ channel_type, name: person.external_id, identity_id: identity.id })
      : Changes.none,
    addAliases(channel_type, identity.id, added.filter((name) => name !== person.external_id)),
    IdentityRows.update(identity, set),
    change(contact.value, {
      identities: contact.value.identities.map((one) => one.id === identity.id ? { ...one, ...set } : one),
      ...(hadNumber ? { primary_phone: person.phone } : {})
    }, context).changes
  )
}
