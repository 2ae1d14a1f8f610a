/**
 * Network IDs: the IDs of a person on a network (contract §8.2).
 *
 * One network ID of an identity is its external ID, the others are its aliases. A number has its spellings as aliases. The table
 * `identity_names` has each network ID in its column `name`, with the identity.
 */
import { Option, Schema } from "effect"
import { ChannelType, networkOf } from "../catalog/Channels.ts"
import type { Country } from "../kernel/Countries.ts"
import { IdentityId } from "../kernel/Ids.ts"
import { canonical, numberOf, spellings } from "../kernel/Phones.ts"
import * as Changes from "../work/Changes.ts"
import type { Identity, Person } from "./Contact.ts"

/** A network ID of an identity. Type of channel and network ID are the key, so it can refer to one identity only. */
const IdentityNetworkId = Schema.Struct({
  channel_type: ChannelType,
  /** The network ID. Stored tables name its column so. */
  name: Schema.String,
  identity_id: IdentityId
})
export interface IdentityNetworkId extends Schema.Schema.Type<typeof IdentityNetworkId> {}

export const IdentityNetworkIdRows = Changes.removable(
  Changes.declareTable(IdentityNetworkId)({
    name: "identity_names",
    key: { channel_type: "text", name: "text" }
  })
)

/** The network ID on phone messaging looks like a number, but is not certain to be one. */
export class ExternalIdUnreadable extends Schema.TaggedError<ExternalIdUnreadable>()("ExternalIdUnreadable", {}) {}

/** Whether the network IDs of a type of channel can be phone numbers. */
const hasPhones = (channel_type: ChannelType | null): boolean =>
  channel_type !== null && networkOf(channel_type).has_phones

/** Digits and separators only, or the beginning of a number. Other IDs of networks have letters. */
const number_like = /^[\s(]*(?:\+|tel:)|^[^\p{L}]*$/iu

/** Returns whether a network ID that was read (`readNetworkId`) is a number, or cannot be taken for one. */
export const isReadable = (channel_type: ChannelType | null, network_id: string): boolean =>
  !hasPhones(channel_type) || !number_like.test(network_id) || Option.isSome(numberOf(network_id))

/** Returns the network ID that a client wrote: on phone messaging, a number in its canonical form. Networks write digits alone. */
export const readNetworkId = (
  channel_type: ChannelType | null,
  written: string,
  country: Country | null
): string => {
  if (!hasPhones(channel_type)) return written
  const bare = /^[0-9]+$/.test(written) ? canonical(`+${written}`) : Option.none()
  return Option.getOrElse(Option.orElse(canonical(written, country), () => bare), () => written)
}

/** Returns distinct network IDs, and then the other spellings of those that are numbers on phone messaging. */
export const withSpellings = (
  channel_type: ChannelType,
  network_ids: ReadonlyArray<string>
): ReadonlyArray<string> =>
  Array.from(
    new Set(hasPhones(channel_type) ? [...network_ids, ...network_ids.flatMap(spellings)] : network_ids)
  )

/** Returns the distinct network IDs of a person, the external ID first. */
export const networkIdsOf = (
  { aliases, channel_type, external_id }: Pick<Person, "aliases" | "channel_type" | "external_id">
): ReadonlyArray<string> => withSpellings(channel_type, [external_id, ...aliases])

/** Assigns a network ID to an identity. `Conflict` if it already refers to an identity. */
export const assignNetworkId = (
  { channel_type, id: identity_id }: Pick<Identity, "channel_type" | "id">,
  network_id: string
): Changes.Changes => IdentityNetworkIdRows.insert({ channel_type, name: network_id, identity_id })

/** Adds aliases to an identity. A network ID that already refers to an identity, this one or another, does not change. */
export const addAliases = (
  channel_type: ChannelType,
  identity_id: IdentityId,
  network_ids: ReadonlyArray<string>
): Changes.Changes => Changes.aliases(...network_ids.map((name) => ({ channel_type, name, identity_id })))

/** Removes a network ID from its identity. */
export const removeNetworkId = (
  { channel_type }: Pick<Identity, "channel_type">,
  network_id: string
): Changes.Changes => IdentityNetworkIdRows.remove({ channel_type, name: network_id })
