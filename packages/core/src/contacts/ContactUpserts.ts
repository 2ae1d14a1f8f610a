/**
 * Upserts: contacts that are found by a value and updated, or else created (contract §8.11).
 *
 * Each contact is an operation of its own, with its own commit and outcome. Under an idempotency key, it is a part of the
 * request (`IdempotentParts.ts`), so a retry repeats what was done and continues with the rest.
 */
import { Context, DateTime, Effect, Layer, Option, Result, Schema } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { DefaultCountry } from "../kernel/Countries.ts"
import { ContactId, Ids, type OrganizationId } from "../kernel/Ids.ts"
import { operation } from "../kernel/Operations.ts"
import { sharedSpelling } from "../kernel/Phones.ts"
import { Turns } from "../kernel/Turns.ts"
import * as Changes from "../work/Changes.ts"
import { type ConcurrentChanges, Decide, type DecisionContext } from "../work/Decide.ts"
import {
  canonicalJson,
  type EncodedResponse,
  type KeyedRequest,
  type KeyError,
  type Respond
} from "../work/Idempotency.ts"
import { IdempotentParts } from "../work/IdempotentParts.ts"
import {
  type Contact,
  type ContactUnnamed,
  isErasedExternalId,
  type KnownIdentity,
  type LoadedContact
} from "./Contact.ts"
import { addContact, composeContact, type ContactRejection, expectOwners, update } from "./ContactDecisions.ts"
import { IdentityRows, insertIdentity, newIdentity } from "./ContactIdentities.ts"
import { makeFindMatch, type Matched, unmatched } from "./ContactMatches.ts"
import { ExternalIdUnreadable, isReadable, withSpellings } from "./ContactNetworkIds.ts"
import { makeLoadReferences, type References } from "./ContactReferences.ts"
import { ContactStore } from "./Contacts.ts"
import { type UpsertContacts, Upserted, UpsertMatch, type Wanted, wantedOf } from "./ContactUpsert.ts"

export * from "./ContactUpsert.ts"

// -------------------------------------------------------------- errors

/** More than one contact has the value of the match. */
export class ContactAmbiguous extends Schema.TaggedError<ContactAmbiguous>()("ContactAmbiguous", {
  match: UpsertMatch
}) {}

/** The external ID is one that erased identities have. */
export class ExternalIdErased extends Schema.TaggedError<ExternalIdErased>()("ExternalIdErased", {}) {}

/** Why a contact is not upserted. */
export type UpsertRejection =
  | ContactAmbiguous
  | ContactRejection
  | ContactUnnamed
  | ConcurrentChanges
  | ExternalIdErased
  | ExternalIdUnreadable

export type UpsertResult = Result.Result<Upserted, UpsertRejection>

// ----------------------------------------------------------- decisions

/** A contact of a request. */
interface Item {
  readonly index: number
  readonly wanted: Wanted
}

/** The loaded rows of one upsert. */
interface Loaded extends Matched {
  readonly references: References
  /** The identity by which the contact was found; null if it was found by another value. */
  readonly identity: KnownIdentity["identity"] | null
}

/** The contact after an upsert, without an identity that the upsert adds, and whether it is new or has changed. */
interface Written {
  readonly contact: Contact
  readonly outcome: Upserted["outcome"]
}

/** Returns a contact without what every write changes. */
const contentOf = ({ updated_at: _updated_at, ...content }: Contact): string => canonicalJson(content)

/**
 * Creates a contact, with an identity where it is found by one.
 *
 * Of concurrent upserts of one person, one inserts its row: they have one ID, or one identity.
 */
const create = (
  { channel_type, create: input, match, value }: Wanted,
  { free_id, references }: Loaded,
  context: DecisionContext
): Result.Result<Changes.Decision<Written>, UpsertRejection> =>
  Result.map(composeContact(references, input), (described) => {
    const { now, uuid } = context
    const id = free_id ?? ContactId.make(uuid())
    const contact: Contact = { ...described, id, updated_at: now }
    const identities = match !== "external_id" || channel_type === null
      ? []
      : [newIdentity({ channel_type, external_id: value, display_name: null, username: null }, context)]
    return {
      result: { contact, outcome: "created" },
      changes: Changes.all(
        addContact({ ...contact, identities }, context),
        ...identities.map((identity) => insertIdentity(identity, id, withSpellings(identity.channel_type, [value]))),
        expectOwners(references)
      )
    }
  })

/** Updates the contact that was found if a field differs, or creates one. */
const upsert = (
  wanted: Wanted,
  loaded: Loaded,
  context: DecisionContext
): Result.Result<Changes.Decision<Written>, UpsertRejection> => {
  const { found, identity, is_ambiguous, references } = loaded
  if (is_ambiguous) return Result.fail(new ContactAmbiguous({ match: wanted.match }))
  if (wanted.match === "external_id") {
    if (isErasedExternalId(wanted.value)) return Result.fail(new ExternalIdErased())
    if (!isReadable(wanted.channel_type, wanted.value)) return Result.fail(new ExternalIdUnreadable())
  }
  if (Option.isNone(found)) return create(wanted, loaded, context)
  const { version: _version, ...before } = found.value
  return Result.map(
    update(found, references, wanted.update, context),
    ({ result, changes }) =>
      contentOf(result) === contentOf(before)
        ? { result: { contact: result, outcome: "unchanged" as const }, changes: Changes.none }
        : {
          result: { contact: result, outcome: "updated" as const },
          // A concurrent erasure, which writes the identity, makes this commit fail.
          changes: Changes.all(changes, identity === null ? Changes.none : IdentityRows.expect(identity))
        }
  )
}

const toUpserted = ({ contact: { id }, outcome }: Written): Upserted => ({ id, outcome })

/** The contacts that the upserts of a preview would have written, by the ID of a stored contact or by the value of the match. */
export interface UpsertPreview extends Map<string, Contact> {}

/** Returns the outcome of an upsert that follows those of a preview, and adds its contact to the preview. */
const preview = (
  upserted: UpsertPreview,
  wanted: Wanted,
  loaded: Loaded,
  context: DecisionContext
): UpsertResult => {
  const person = Option.match(loaded.found, { onNone: () => sharedSpelling(wanted.value), onSome: ({ id }) => id })
  const earlier = upserted.get(person)
  const found = earlier === undefined
    ? loaded
    : { ...loaded, ...unmatched, found: Option.some({ ...earlier, version: 1 }) }
  return Result.map(upsert(wanted, found, context), ({ result }) => {
    upserted.set(person, result.contact)
    return toUpserted(result)
  })
}

// ---------------------------------------------------------- operations

const decodeUpserted = Schema.decodeUnknownSync(Schema.fromJsonString(Upserted))
const readRecorded = ({ body }: Pick<EncodedResponse, "body">): Upserted => decodeUpserted(body)

/** How a contact's outcome is recorded. */
const recorded = (result: Upserted): Effect.Effect<EncodedResponse> =>
  Effect.succeed({ status: 200, body: JSON.stringify(result) })

/** Returns whether a request is not finished. A retry continues it. */
const isUnfinished = (error: KeyError | UpsertRejection): error is KeyError =>
  error._tag === "IdempotencyConflict" || error._tag === "RequestProcessing" || error._tag === "StorageExhausted"

/** Makes the functions that upsert one contact, and that only preview it. */
const makeUpsertOne = Effect.gen(function*() {
  const { next: uuid } = yield* Ids
  const findMatch = yield* makeFindMatch
  const loadReferences = yield* makeLoadReferences
  const { write } = yield* Decide
  const store = yield* ContactStore

  /** Finds the contact with the value of the match. */
  const findContact = Effect.fnUntraced(function*(organization_id: OrganizationId, wanted: Wanted) {
    const { channel_type, match, value } = wanted
    if (match !== "external_id") {
      const matched = yield* findMatch(organization_id, match === "primary_phone" ? match : "email_key", value)
      return { ...matched, identity: null }
    }
    const [known] = channel_type === null
      ? []
      : yield* store.identify(organization_id, channel_type, withSpellings(channel_type, [value]))
    const found = known === undefined
      ? Option.none<LoadedContact>()
      : yield* store.load(organization_id, known.contact.id)
    return { ...unmatched, found, identity: known?.identity ?? null }
  })

  /** Loads the contact with the value of the match, and the references of its update. */
  const load = Effect.fnUntraced(function*(organization_id: OrganizationId, wanted: Wanted) {
    const references = yield* loadReferences([wanted.update])
    return { ...yield* findContact(organization_id, wanted), references }
  })

  const upsertOne = write("contacts.upsert", function*(wanted: Wanted) {
    const { organization_id } = yield* CurrentActor
    return {
      load: load(organization_id, wanted),
      decide: (loaded, context) =>
        Result.map(
          upsert(wanted, loaded, context),
          ({ changes, result }) => ({ result: toUpserted(result), changes })
        )
    }
  })

  const previewOne = Effect.fnUntraced(function*(wanted: Wanted, upserted: UpsertPreview) {
    const { organization_id } = yield* CurrentActor
    const loaded = yield* load(organization_id, wanted)
    return preview(upserted, wanted, loaded, { now: yield* DateTime.now, uuid })
  })

  return { previewOne, upsertOne }
})

/** How many people all requests upsert at once. More would occupy the event loop for seconds. */
export const people_at_once = 64

/** Upserts the contacts of a request in turns, and returns the outcome of each in the given order. */
const upsertEach = Effect.fnUntraced(function*<E>(
  turns: Turns<OrganizationId>,
  input: UpsertContacts,
  upsertItem: (item: Item) => Effect.Effect<UpsertResult, E, CurrentActor>
) {
  const { organization_id } = yield* CurrentActor
  const country = yield* DefaultCountry
  const items = input.contacts.map((contact, index): Item => ({ index, wanted: wantedOf(input, contact, country) }))
  // Contacts with the same value are one person; they are written in the given order.
  const people = Array.from(Map.groupBy(items, ({ wanted }) => sharedSpelling(wanted.value)).values())
  const upsertPerson = Effect.forEach((item: Item) =>
    Effect.map(upsertItem(item), (result) => ({ index: item.index, result }))
  )
  const results = yield* Effect.forEach(people, (person) => turns.run(organization_id, upsertPerson(person)), {
    concurrency: "unbounded"
  })
  return results.flat().toSorted((a, b) => a.index - b.index).map(({ result }) => result)
})

/** Operations that find or create contacts of the current actor's organization. */
export class ContactUpserts extends Context.Service<ContactUpserts, {
  /** Updates or creates each contact, and returns the outcome of each in the given order (contract §8.11). */
  readonly upsert: (input: UpsertContacts) => Effect.Effect<ReadonlyArray<UpsertResult>, never, CurrentActor>
  /** Returns what `upsert` would return after the given earlier upserts, to which it adds its own, and writes nothing. */
  readonly preview: (
    input: UpsertContacts,
    upserted: UpsertPreview
  ) => Effect.Effect<ReadonlyArray<UpsertResult>, never, CurrentActor>
  /** Upserts as `upsert` does, but returns the response to a request. Under an idempotency key each contact is upserted once. */
  readonly upsertAndRespond: (
    input: UpsertContacts,
    respond: Respond<ReadonlyArray<UpsertResult>, EncodedResponse>
  ) => Effect.Effect<EncodedResponse, KeyError, CurrentActor>
}>()("@messaging-crm/core/ContactUpserts") {
  static readonly layer = Layer.effect(
    ContactUpserts,
    Effect.gen(function*() {
      const parts = yield* IdempotentParts
      const { previewOne, upsertOne } = yield* makeUpsertOne
      const turns = new Turns<OrganizationId>({ places: people_at_once })

      /**
       * Upserts one contact of a request, at most once for the request's key. Returns its outcome, rejected or not, unless
       * the request must be retried.
       */
      const upsertOnce = (
        { index, wanted }: Item,
        request: KeyedRequest
      ): Effect.Effect<UpsertResult, KeyError, CurrentActor> =>
        parts.once(request, String(index), (record) => upsertOne(wanted, { encode: recorded, record })).pipe(
          Effect.map((response): UpsertResult => Result.succeed(readRecorded(response))),
          Effect.catch((error) => isUnfinished(error) ? Effect.fail(error) : Effect.succeed(Result.fail(error)))
        )

      const upsertWithoutKey = (input: UpsertContacts) =>
        upsertEach(turns, input, ({ wanted }) => Effect.result(upsertOne(wanted)))

      const upsertContacts = operation("contacts.upsert")(function*(input: UpsertContacts) {
        return yield* upsertWithoutKey(input)
      })

      const upsertAndRespond = operation("contacts.upsert")(function*(
        input: UpsertContacts,
        { encode, record }: Respond<ReadonlyArray<UpsertResult>, EncodedResponse>
      ) {
        if (record === null) return yield* encode(yield* upsertWithoutKey(input))
        const results = upsertEach(turns, input, (item) => upsertOnce(item, record))
        return yield* parts.respond(record, Effect.flatMap(results, encode))
      })

      const previewContacts = operation("contacts.upsert")(function*(input: UpsertContacts, upserted: UpsertPreview) {
        return yield* upsertEach(turns, input, ({ wanted }) => previewOne(wanted, upserted))
      })

      return ContactUpserts.of({ preview: previewContacts, upsert: upsertContacts, upsertAndRespond })
    })
  )
}
