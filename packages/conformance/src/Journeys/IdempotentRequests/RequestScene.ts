/** How the journeys of idempotent requests start, and how they run an operation as a request does. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import { AddNote, Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import {
  type EncodedResponse,
  Idempotency,
  IdempotencyStore,
  type KeyedRequest,
  type Respond
} from "@messaging-crm/core/Idempotency"
import type { ContactId } from "@messaging-crm/core/Ids"
import { Rows } from "@messaging-crm/core/Rows"
import { CreateTag, TagRows, Tags, toTag } from "@messaging-crm/core/Tags"
import { Effect } from "effect"
import * as Fixtures from "../../Fixtures.ts"

export const { key } = Fixtures.keyedRequest

export const encoded = (status: number, value: unknown) => ({ status, body: JSON.stringify(value) })

const encode = (value: unknown) => Effect.succeed(encoded(201, value))

export type Encoded = Respond<unknown, EncodedResponse>

/** A request without an idempotency key. */
export const keyless: Encoded = { encode, record: null }

/** An operation as a request runs it: it returns the response. */
type Responding<E, R> = (respond: Encoded) => Effect.Effect<EncodedResponse, E, R>

/** Runs an operation as a request with an idempotency key does. */
export const request = <E, R>(operation: Responding<E, R>, fields: Partial<KeyedRequest> = {}) =>
  Idempotency.use((idempotency) =>
    idempotency.once(
      { ...Fixtures.keyedRequest, ...fields },
      (record) => operation({ encode, record })
    )
  )

/** Responds with an error of an operation, so that it is recorded. */
export const respondToErrors =
  (status: number) =>
  <E extends { readonly _tag: string }, R>(operation: Responding<E, R>): Responding<never, R> =>
  (respond) => Effect.catch(operation(respond), ({ _tag }) => Effect.succeed(encoded(status, { code: _tag })))

export const createTag = (name = "vip") => (respond: Encoded) =>
  Tags.use((tags) => tags.create(CreateTag.make({ name, color: "red" }), respond))

/** An organization with a contact, and the calls of the tests. */
export const makeScene = Effect.gen(function*() {
  const organization_id = yield* Fixtures.organization
  const as = Effect.provideService(CurrentActor, { organization_id, member_id: null })
  const contact = yield* Fixtures.contact(organization_id, { first_name: "Kim" })
  const get = (id: ContactId = contact.id) => Effect.orDie(as(Contacts.use((contacts) => contacts.get(id))))
  const rename = (first_name: string) => (respond: Encoded) =>
    Contacts.use((contacts) => contacts.update(contact.id, UpdateContact.make({ first_name }), undefined, respond))
  const addNote = (id: ContactId = contact.id) => (respond: Encoded) =>
    Contacts.use((contacts) => contacts.addNote(id, AddNote.make({ text: "Called" }), undefined, respond))
  const tags = Rows.use((rows) => Effect.map(rows.list(TagRows, organization_id), (all) => all.map(toTag)))
  const storedRecord = IdempotencyStore.use((store) => store.find(organization_id, key))
  return { addNote, as, contact, get, organization_id, rename, storedRecord, tags }
})
