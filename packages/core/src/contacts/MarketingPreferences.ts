/**
 * Marketing preferences: whether a person stopped the organization's marketing messages on a network (contract §8.2).
 *
 * The service only stores them: the network rejects a marketing message to a person who stopped them.
 */
import { DateTime, Option, Schema } from "effect"
import { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import type { DecisionContext } from "../work/Decide.ts"
import { type Identity, type KnownIdentity, type LoadedContact, no_marketing_preference } from "./Contact.ts"
import { updateReported } from "./ContactIdentities.ts"

/** A person stopped or resumed marketing messages at the provider's time. */
export const MarketingPreference = Schema.Struct({
  preference: Schema.Literals(["stop", "resume"]),
  at: Timestamp
})
export interface MarketingPreference extends Schema.Schema.Type<typeof MarketingPreference> {}

/** Returns whether a preference is later than the stored one. Of two at the same time, `stop` counts, in any order. */
const isLater = (
  { at, preference }: MarketingPreference,
  { marketing_opt_in_at, marketing_opt_out_at }: Identity
): boolean => {
  if (marketing_opt_out_at !== null) return DateTime.isGreaterThan(at, marketing_opt_out_at)
  if (marketing_opt_in_at === null) return true
  return preference === "stop"
    ? DateTime.isGreaterThanOrEqualTo(at, marketing_opt_in_at)
    : DateTime.isGreaterThan(at, marketing_opt_in_at)
}

/** Stores the latest preference of a known person. An earlier or repeated one changes nothing, nor that of an unknown person. */
export const applyPreference = (
  { contact, known }: { readonly known: KnownIdentity | undefined; readonly contact: Option.Option<LoadedContact> },
  reported: MarketingPreference,
  context: DecisionContext
): Changes.Changes => {
  if (known === undefined || Option.isNone(contact) || !isLater(reported, known.identity)) return Changes.none
  const set = reported.preference === "stop"
    ? { marketing_opt_out_at: reported.at }
    : { marketing_opt_in_at: reported.at }
  return updateReported(known, contact.value, { ...no_marketing_preference, ...set }, context)
}
