/**
 * Contact identities: finds, creates and changes the identity behind a network ID (contract §8.2, §15.3, §15.6).
 *
 * A network ID is the external ID of an identity or one of its aliases. The table
 * `identity_names` maps each network ID, its `name`, to the identity.
 */
import { Option } from "effect"
import { ContactId, IdentityId } from "../kernel/Ids.ts"
import { numberOf } from "../kernel/Phones.ts"
import * as Changes from "../work/Changes.ts"
import type { DecisionContext } from "../work/Decide.ts"
import type {
  Contact,
  ContactIdentity,
  Identity,
  IdentityRow,
  KnownIdentity,
  LoadedContact,
  Person
} from "./Contact.ts"
import type { Matched } from "./ContactMatches.ts"
import {
  add as addContact,
  change as changeContact,
  ContactRows,
  newContact,
  raiseUpdated,
  searchText
} from "./Contacts.ts"

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

/** A network ID of an identity. Type of channel and network ID are the key, so it can refer to one identity only. */
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

/** Returns the distinct network IDs of a person, the external ID first. */
export const networkIdsOf = (
  { aliases, external_id }: Pick<Person, "aliases" | "external_id">
): ReadonlyArray<string> => Array.from(new Set([external_id, ...aliases]))

/** Returns the identities in a contact's row with other fields of one. */
const withIdentity = (
  { identities }: Contact,
  { id }: Pick<Identity, "id">,
  set: Partial<Identity>
): ReadonlyArray<Identity> => identities.map((one) => one.id === id ? { ...one, ...set } : one)

/** The names of a person on the network. */
type Profile = Pick<Identity, "display_name" | "username">

/** Updates the names of an identity, and their copy and the search text in the contact's row, but not `updated_at` (contract §8.10). */
const updateProfile = (
  { identity }: Pick<KnownIdentity, "identity">,
  contact: LoadedContact,
  set: Partial<Profile>,
  context: DecisionContext
): Changes.Changes => {
  const identities = withIdentity(contact, identity, set)
  return Changes.all(
    IdentityRows.update(identity, set),
    ContactRows.update(contact, { identities, search_text: searchText({ ...contact, identities }) }),
    raiseUpdated({ ...contact, identities }, ["identities"], context)
  )
}

/** Returns whether the network provides the number of a person for the first time. Until then, the `external_id` is another ID. */
const hasFirstNumber = ({ external_id }: Identity, person: Person): boolean =>
  person.phone !== null && Option.isSome(numberOf(person.external_id)) && Option.isNone(numberOf(external_id))

/** Returns whether a person has other names than those stored, or a number for the first time, so that their contact must be loaded. */
export const isNewToContact = ({ identity }: KnownIdentity, person: Person): boolean =>
  Object.keys(newProfile(identity, person)).length > 0 || hasFirstNumber(identity, person)

/** Returns the display name and username of the person if they are given and differ from those stored. */
const newProfile = (
  identity: Identity,
  { display_name, username }: Profile
): Partial<Profile> => ({
  ...(display_name === null || display_name === identity.display_name ? {} : { display_name }),
  ...(username === null || username === identity.username ? {} : { username })
})

/** Adds network IDs to an identity. One that already refers to an identity, this one or another, does not change. */
export const addAliases = (
  channel_type: Identity["channel_type"],
  identity_id: IdentityId,
  network_ids: ReadonlyArray<string>
): Changes.Changes => Changes.aliases(...network_ids.map((name) => ({ channel_type, name, identity_id })))

const byId = (a: Identity, b: Identity): number => a.id < b.id ? -1 : 1

const shownAs = (
  { display_name, external_id, id: identity_id, username }: Identity,
  { first_name, id: contact_id, last_name }: KnownIdentity["contact"] | Contact
): ContactIdentity => ({ identity_id, contact_id, first_name, last_name, display_name, external_id, username })

/**
 * Creates the identity of a person, for the contact with their number or else for a new contact. A new identity does not
 * set `updated_at` (contract §8.10).
 */
const createIdentity = (
  person: Person,
  { found: withPhone, free_id }: Matched,
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
  const contact = Option.getOrElse(withPhone, () => newContact(free_id ?? ContactId.make(uuid()), person, now))
  const identities = [...contact.identities, identity].toSorted(byId)
  return {
    result: shownAs(identity, contact),
    changes: Changes.all(
      Option.isSome(withPhone)
        ? Changes.all(
          ContactRows.update(withPhone.value, {
            identities,
            search_text: searchText({ ...withPhone.value, identities })
          }),
          raiseUpdated({ ...contact, identities }, ["identities"], context)
        )
        : addContact({ ...contact, identities }, context),
      IdentityRows.insert({ ...identity, contact_id: contact.id }),
      ...networkIdsOf(person).map((name) =>
        IdentityNetworkIdRows.insert({ channel_type, name, identity_id: identity.id })
      )
    )
  }
}

/** Makes the number of a person the `external_id` of their identity, and the `primary_phone` of a contact that has none. */
const setNumber = (
  { identity }: KnownIdentity,
  contact: LoadedContact,
  { external_id, phone }: Person,
  profile: Partial<Profile>,
  context: DecisionContext
): Changes.Changes => {
  const set = { ...profile, external_id }
  return Changes.all(
    IdentityRows.update(identity, set),
    changeContact(contact, {
      identities: withIdentity(contact, identity, set),
      ...(contact.primary_phone === null ? { primary_phone: phone } : {})
    }, context).changes
  )
}

/**
 * Finds a person's identity by any of their network IDs and stores new aliases, display
 * name, username, and the first number. If no network ID is known, creates the identity: for
 * the contact with their number if there is one (`match`), else for a new contact.
 *
 * If the contact changes (`isNewToContact`), `match` is the contact of the identity.
 */
export const findOrCreateByIdentity = (
  person: Person,
  known: ReadonlyArray<KnownIdentity>,
  match: Matched,
  context: DecisionContext
): Changes.Decision<ContactIdentity> => {
  const [found] = known
  if (found === undefined) return createIdentity(person, match, context)
  const stored = new Set(known.map(({ network_id }) => network_id))
  const aliases = networkIdsOf(person).filter((id) => !stored.has(id))
  const profile = newProfile(found.identity, person)
  // A conversation that is started by a number matches the contact with that phone, which can be another person's.
  const own = Option.filter(match.found, ({ id }) => id === found.contact.id)
  const hasNumber = Option.isSome(own) && hasFirstNumber(found.identity, person)
  // Updates the identity's row, so that this commit conflicts with a concurrent erasure, which removes its network IDs.
  const written = aliases.length > 0 ? IdentityRows.update(found.identity, {}) : Changes.none
  return {
    result: shownAs(
      { ...found.identity, ...profile, ...(hasNumber ? { external_id: person.external_id } : {}) },
      found.contact
    ),
    changes: Changes.all(
      addAliases(person.channel_type, found.identity.id, aliases),
      Option.match(own, {
        onNone: () => written,
        onSome: (contact) => {
          if (hasNumber) return setNumber(found, contact, person, profile, context)
          return Object.keys(profile).length === 0 ? written : updateProfile(found, contact, profile, context)
        }
      })
    )
  }
}

/**
 * Returns the network IDs that a person loses, when `former` IDs become those of `person`.
 *
 * The `external_id` is also lost if it is a number and the event names another number, which then replaces it.
 */
const lostIds = (
  former: ReadonlyArray<string>,
  person: Person,
  { external_id }: Identity
): ReadonlySet<string> => {
  const current = networkIdsOf(person)
  const isReplaced = person.phone !== null && Option.isSome(numberOf(external_id))
  return new Set((isReplaced ? [...former, external_id] : former).filter((id) => !current.includes(id)))
}

/** Writes which network IDs an identity has: it loses some that it had (`own`), and gets others. */
const replaceNetworkIds = (
  { channel_type, external_id, id: identity_id }: Identity,
  person: Person,
  { added, lost, own }: {
    readonly own: ReadonlySet<string>
    readonly lost: ReadonlySet<string>
    readonly added: ReadonlyArray<string>
  }
): Changes.Changes =>
  Changes.all(
    ...Array.from(lost)
      .filter((name) => own.has(name) || name === external_id)
      .map((name) => IdentityNetworkIdRows.remove({ channel_type, name })),
    // If two commits assign this ID to two people at the same time, one of them conflicts. An alias stays with the first.
    own.has(person.external_id)
      ? Changes.none
      : IdentityNetworkIdRows.insert({ channel_type, name: person.external_id, identity_id }),
    addAliases(channel_type, identity_id, added.filter((name) => name !== person.external_id))
  )

/**
 * Replaces network IDs of an identity by others, after a person has changed their number or user id.
 *
 * A `primary_phone` of the contact that equals a former ID is replaced too.
 * An event with the same former and current ID only reports a new profile.
 * Changes nothing if no former ID is known, or if the new `external_id`
 * belongs to another identity: people are never merged.
 */
export const changeIdentity = (
  former: ReadonlyArray<string>,
  person: Person,
  { contact, known }: {
    /** The identities with a former or a current network ID. */
    readonly known: ReadonlyArray<KnownIdentity>
    /** The contact of the identity with a former ID. */
    readonly contact: Option.Option<LoadedContact>
  },
  context: DecisionContext
): Changes.Changes => {
  const found = known.find(({ network_id }) => former.includes(network_id))
  const taken = known.find(({ network_id }) => network_id === person.external_id)
  if (found === undefined || Option.isNone(contact)) return Changes.none
  if (taken !== undefined && taken.identity.id !== found.identity.id) return Changes.none
  const { identity } = found
  const own = new Set(known.flatMap((one) => one.identity.id === identity.id ? one.network_id : []))
  const lost = lostIds(former, person, identity)
  const added = networkIdsOf(person).filter((name) => !own.has(name))
  const moved = lost.has(identity.external_id) ? { external_id: person.external_id } : {}
  const set = { ...newProfile(identity, person), ...moved }
  if (lost.size === 0 && added.length === 0 && Object.keys(set).length === 0) return Changes.none
  const { primary_phone } = contact.value
  const hadNumber = primary_phone !== null && lost.has(primary_phone) && person.phone !== null
  return Changes.all(
    replaceNetworkIds(identity, person, { added, lost, own }),
    IdentityRows.update(identity, set),
    changeContact(contact.value, {
      identities: withIdentity(contact.value, identity, set),
      ...(hadNumber ? { primary_phone: person.phone } : {})
    }, context).changes
  )
}
