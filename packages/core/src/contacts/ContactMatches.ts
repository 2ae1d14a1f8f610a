/**
 * Matches: the contact with a phone or an email, or else the ID for a new contact with it.
 *
 * The ID is derived from the value, and is the same for each spelling of a number. Of concurrent operations that create a
 * contact for one value, one inserts its row. The others conflict, and then find it.
 */
import { Effect, Option } from "effect"
import { ContactId, type OrganizationId, uuidOf } from "../kernel/Ids.ts"
import { sharedSpelling, spellings } from "../kernel/Phones.ts"
import { Secrets } from "../kernel/Secrets.ts"
import type { LoadedContact, MatchedContact } from "./Contact.ts"
import { ContactStore } from "./Contacts.ts"

/** The result of a lookup by a value. */
export interface Matched {
  readonly found: Option.Option<LoadedContact>
  /** Whether other contacts have the value too. */
  readonly is_ambiguous: boolean
  /** The ID for a new contact; null where any will do. */
  readonly free_id: ContactId | null
}

/** A lookup that found no contact, without an ID for a new one. */
export const unmatched: Matched = { found: Option.none(), is_ambiguous: false, free_id: null }

/** A lookup that found a contact. */
const matchedOf = ({ is_ambiguous, ...contact }: MatchedContact): Matched => ({
  found: Option.some(contact),
  is_ambiguous,
  free_id: null
})

/**
 * Returns the first attempt whose ID is not taken.
 *
 * Contacts get the attempts in order, so the number of reads grows with the logarithm of the contacts that once had the value.
 */
const firstFree = Effect.fnUntraced(function*(isTaken: (attempt: number) => Effect.Effect<boolean>) {
  let [taken, free] = [-1, 0]
  while (yield* isTaken(free)) [taken, free] = [free, 2 * free + 1]
  while (free - taken > 1) {
    const middle = Math.floor((taken + free) / 2)
    if (yield* isTaken(middle)) taken = middle
    else free = middle
  }
  return free
})

/**
 * Makes the function that finds the contact with a value, or else the ID for a new one.
 *
 * A contact with the number as given comes before one with another spelling of it. An email has one spelling.
 */
export const makeFindMatch = Effect.gen(function*() {
  const secrets = yield* Secrets
  const store = yield* ContactStore

  return Effect.fnUntraced(
    function*(organization_id: OrganizationId, by: Parameters<ContactStore["Service"]["match"]>[1], value: string) {
      /** Returns the ID of the `attempt`th contact with the value. It is signed, so that it does not reveal the value. */
      const idOf = (attempt: number) =>
        Effect.map(
          secrets.sign("contact", JSON.stringify([organization_id, by, sharedSpelling(value), attempt])),
          (signature) => ContactId.make(uuidOf(organization_id, signature))
        )
      const isTaken = (attempt: number) =>
        Effect.map(Effect.flatMap(idOf(attempt), (id) => store.load(organization_id, id)), Option.isSome)
      const find = Effect.map(store.match(organization_id, by, spellings(value)), Option.map(matchedOf))

      const known = yield* find
      if (Option.isSome(known)) return known.value
      const free = yield* firstFree(isTaken)
      const free_id = yield* idOf(free)
      // A concurrent operation may have taken an earlier ID since. A contact that is created after this read gets the free ID,
      // so that one of the commits conflicts.
      const meanwhile = free === 0 ? Option.none() : yield* find
      return Option.getOrElse(meanwhile, () => ({ ...unmatched, free_id }))
    }
  )
})
