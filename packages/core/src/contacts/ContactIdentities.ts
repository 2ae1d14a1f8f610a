/**
 * Contact identities: finds, creates, and changes the identity with a network ID (contract §8.2, §15.3, §15.6).
 */
import { Option } from "effect"
import { ContactId, IdentityId } from "../kernel/Ids.ts"
import { numberOf } from "../kernel/Phones.ts"
import * as Changes from "../work/Changes.ts"
import type { DecisionContext } from "../work/Decide.ts"
import {
  type Contact,
  type ContactIdentity,
  type Identity,
  IdentityColumns,
  type KnownIdentity,
  type LoadedContact,
  no_marketing_preference,
  type Person
} from "./Contact.ts"
import { addContact, changeContact, ContactRows, newContact, raiseUpdated } from "./ContactDecisions.ts"
import type { Matched } from "./ContactMatches.ts"
import { addAliases, assignNetworkId, networkIdsOf, removeNetworkId, withSpellings } from "./ContactNetworkIds.ts"
import { searchText } from "./ContactSearch.ts"

export * from "./ContactNetworkIds.ts"

// ---------------------------------------------------------------- data

export const IdentityRows = Changes.declareTable(IdentityColumns)({
  name: "identities",
  key: { id: "uuid" },
  unique: { columns: ["channel_type", "external_id"], within: "organization" }
})

// ----------------------------------------------------------- decisions

/** Returns the identities in a contact's row with other fields of one. */
const withIdentity = (
  { identities }: Contact,
  { id }: Pick<Identity, "id">,
  set: Partial<Identity>
): ReadonlyArray<Identity> => identities.map((one) => one.id === id ? { ...one, ...set } : one)

/** Sets the copies of the identities in a contact's row, and the search text, but not `updated_at` (contract §8.10). */
const setIdentities = (
  contact: LoadedContact,
  identities: ReadonlyArray<Identity>,
  context: DecisionContext
): Changes.Changes =>
  Changes.all(
    ContactRows.update(contact, { identities, search_text: searchText({ ...contact, identities }) }),
    raiseUpdated({ ...contact, identities }, ["identities"], context)
  )

/** The names of a person on the network. */
type Profile = Pick<Identity, "display_name" | "username">

/** The fields of an identity that a network reports in addition to its network IDs. */
type Reported = Omit<Identity, "channel_type" | "external_id" | "id">

/** Updates what a network reported about an identity, and its copy in the contact's row. */
export const updateReported = (
  { identity }: Pick<KnownIdentity, "identity">,
  contact: LoadedContact,
  set: Partial<Reported>,
  context: DecisionContext
): Changes.Changes =>
  Changes.all(
    IdentityRows.update(identity, set),
    setIdentities(contact, withIdentity(contact, identity, set), context)
  )

/**
 * Returns whether the network provides the number of a person for the first time.
 *
 * Until then, the `external_id` is another ID.
 */
const hasFirstNumber = ({ external_id }: Identity, person: Person): boolean =>
  person.phone !== null && Option.isSome(numberOf(person.external_id)) && Option.isNone(numberOf(external_id))

/**
 * Returns whether a person has other names than those stored, or a number for the first time, so that their contact
 * must be loaded.
 */
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

const byId = (a: Identity, b: Identity): number => a.id < b.id ? -1 : 1

const toContactIdentity = (
  { display_name, external_id, id: identity_id, username }: Identity,
  { first_name, id: contact_id, last_name }: KnownIdentity["contact"] | Contact
): ContactIdentity => ({ identity_id, contact_id, first_name, last_name, display_name, external_id, username })

/** Returns an identity that is new, without a preference for marketing messages. */
export const newIdentity = (
  { channel_type, display_name, external_id, username }: Omit<Identity, "id" | keyof typeof no_marketing_preference>,
  { uuid }: DecisionContext
): Identity => ({
  id: IdentityId.make(uuid()),
  channel_type,
  external_id,
  display_name,
  username,
  ...no_marketing_preference
})

/** Inserts an identity of a contact, with the network IDs by which it is found. */
export const insertIdentity = (
  identity: Identity,
  contact_id: ContactId,
  network_ids: ReadonlyArray<string>
): Changes.Changes =>
  Changes.all(
    IdentityRows.insert({ ...identity, contact_id }),
    ...network_ids.map((network_id) => assignNetworkId(identity, network_id))
  )

/** Creates the identity of a person, for the contact with their number or else for a new contact. */
const createIdentity = (
  person: Person,
  { found: withPhone, free_id }: Matched,
  context: DecisionContext
): Changes.Decision<ContactIdentity> => {
  const { now, uuid } = context
  const identity = newIdentity(person, context)
  const contact = Option.getOrElse(withPhone, () => newContact(free_id ?? ContactId.make(uuid()), person, now))
  const identities = [...contact.identities, identity].toSorted(byId)
  return {
    result: toContactIdentity(identity, contact),
    changes: Changes.all(
      Option.isSome(withPhone)
        ? setIdentities(withPhone.value, identities, context)
        : addContact({ ...contact, identities }, context),
      insertIdentity(identity, contact.id, networkIdsOf(person))
    )
  }
}

/** Sets the number of a person as the `external_id` of their identity, and as the `primary_phone` of a contact that has none. */
const setNumber = (
  { identity }: KnownIdentity,
  contact: LoadedContact,
  phone: Person["phone"],
  set: Partial<Profile> & Pick<Identity, "external_id">,
  context: DecisionContext
): Changes.Changes =>
  Changes.all(
    IdentityRows.update(identity, set),
    changeContact(contact, {
      identities: withIdentity(contact, identity, set),
      ...(contact.primary_phone === null ? { primary_phone: phone } : {})
    }, context).changes
  )

/** Stores what is new about a person with a known identity: aliases, display name, username, and the first number. */
const updateIdentity = (
  person: Person,
  found: KnownIdentity,
  stored: ReadonlySet<string>,
  match: Matched,
  context: DecisionContext
): Changes.Decision<ContactIdentity> => {
  const { contact, identity } = found
  const aliases = networkIdsOf(person).filter((network_id) => !stored.has(network_id))
  const profile = newProfile(identity, person)
  // A conversation that is started by a number matches the contact with that phone, which can be another person's.
  const own = Option.getOrNull(Option.filter(match.found, ({ id }) => id === contact.id))
  const withNumber = own !== null && hasFirstNumber(identity, person)
    ? { ...profile, external_id: person.external_id }
    : null
  const change = () => {
    if (own !== null && withNumber !== null) return setNumber(found, own, person.phone, withNumber, context)
    if (own !== null && Object.keys(profile).length > 0) return updateReported(found, own, profile, context)
    // Updates the identity's row, so that this commit conflicts with a concurrent erasure, which removes its network IDs.
    return aliases.length > 0 ? IdentityRows.update(identity, {}) : Changes.none
  }
  return {
    result: toContactIdentity({ ...identity, ...withNumber ?? profile }, contact),
    changes: Changes.all(addAliases(person.channel_type, identity.id, aliases), change())
  }
}

/**
 * Finds a person's identity by any of their network IDs and stores what is new about them. If
 * no network ID is known, creates the identity: for the contact with their number if there is
 * one (`match`), else for a new contact.
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
  return updateIdentity(person, found, new Set(known.map(({ network_id }) => network_id)), match, context)
}

/**
 * Returns the network IDs that a person loses, when `former` IDs become those of `person`.
 *
 * The `external_id` is also lost if it is a number and the event names another number, which then replaces it.
 */
const lostNetworkIds = (
  former: ReadonlyArray<string>,
  person: Person,
  { external_id }: Identity
): ReadonlySet<string> => {
  const current = networkIdsOf(person)
  const isReplaced = person.phone !== null && Option.isSome(numberOf(external_id))
  return new Set((isReplaced ? [...former, external_id] : former).filter((network_id) => !current.includes(network_id)))
}

/** Writes which network IDs an identity has: it loses some that it had (`own`), and gets others. */
const replaceNetworkIds = (
  identity: Identity,
  person: Person,
  { added, lost, own }: {
    readonly own: ReadonlySet<string>
    readonly lost: ReadonlySet<string>
    readonly added: ReadonlyArray<string>
  }
): Changes.Changes =>
  Changes.all(
    ...Array.from(lost)
      .filter((network_id) => own.has(network_id) || network_id === identity.external_id)
      .map((network_id) => removeNetworkId(identity, network_id)),
    // If two commits assign this ID to two people at the same time, one of them conflicts. An alias stays with the first.
    own.has(person.external_id)
      ? Changes.none
      : assignNetworkId(identity, person.external_id),
    addAliases(identity.channel_type, identity.id, added.filter((network_id) => network_id !== person.external_id))
  )

/**
 * Replaces network IDs of an identity by others, after a person has changed their number or user id.
 *
 * A `primary_phone` of the contact that equals a former ID is replaced too.
 * An event with the same former and current ID only reports a new profile.
 * Changes nothing if no former ID is known, or if the new `external_id`, in
 * any spelling, belongs to another identity: people are never merged.
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
  if (found === undefined || Option.isNone(contact)) return Changes.none
  const { identity } = found
  const named = withSpellings(person.channel_type, [person.external_id])
  const isTaken = known.some((one) => named.includes(one.network_id) && one.identity.id !== identity.id)
  if (isTaken) return Changes.none
  const own = new Set(known.flatMap((one) => one.identity.id === identity.id ? one.network_id : []))
  const lost = lostNetworkIds(former, person, identity)
  const added = networkIdsOf(person).filter((network_id) => !own.has(network_id))
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
