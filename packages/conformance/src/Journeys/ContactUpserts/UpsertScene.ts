/** How the tests of upserts start, and how they kill a request between its commits. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Commit } from "@messaging-crm/core/Commit"
import { Contacts, ContactStore, CreateContact } from "@messaging-crm/core/Contacts"
import { ContactUpserts, UpsertContacts, type UpsertResult } from "@messaging-crm/core/ContactUpserts"
import type * as Crm from "@messaging-crm/core/Crm"
import { type EncodedResponse, Idempotency, IdempotencyKey } from "@messaging-crm/core/Idempotency"
import { Effect, Layer, Result, Schema } from "effect"
import * as Fixtures from "../../Fixtures.ts"

const decode = Schema.decodeUnknownSync(UpsertContacts)

/** The outcome of each contact, an error by its tag. */
const outcomes = (results: ReadonlyArray<UpsertResult>) =>
  results.map(Result.match({ onSuccess: ({ outcome }) => outcome, onFailure: ({ _tag }) => _tag }))

export const makeScene = Effect.gen(function*() {
  const organization_id = yield* Fixtures.organization
  const { id: member_id } = yield* Fixtures.member(organization_id)
  const as = Effect.provideService(CurrentActor, { organization_id, member_id })
  const upsert = (match: UpsertContacts["match"], contacts: ReadonlyArray<unknown>, rest: object = {}) =>
    as(Effect.map(ContactUpserts.use((upserts) => upserts.upsert(decode({ match, contacts, ...rest }))), outcomes))
  const everyone = as(
    Effect.map(Contacts.use((contacts) => contacts.list({ cursor: null, page_size: 100 })), ({ data }) => data)
  )
  const create = (fields: object) =>
    as(Contacts.use((contacts) => contacts.create(Schema.decodeUnknownSync(CreateContact)(fields))))
  /** Sends a request under a key, as the API does. */
  const request = (key: string, contacts: ReadonlyArray<unknown>, fingerprint = Fixtures.keyedRequest.fingerprint) =>
    as(Idempotency.use((idempotency) =>
      idempotency.once(
        { ...Fixtures.keyedRequest, key: IdempotencyKey.make(key), fingerprint },
        (record) =>
          ContactUpserts.use((upserts) =>
            upserts.upsertAndRespond(decode({ match: "primary_email", contacts }), {
              encode: (results): Effect.Effect<EncodedResponse> =>
                Effect.succeed({ status: 200, body: outcomes(results).join() }),
              record
            })
          )
      )
    )).pipe(Effect.map(({ body, replayed }) => ({ outcomes: body, replayed })))
  return { as, create, everyone, organization_id, request, upsert }
})

export interface CommitControl {
  /** How many further commits take effect. Those after them fail with a defect and change nothing, as if the process were killed. */
  commitsLeft: number
  /** An effect that runs once, before the next lookup of a contact. */
  beforeLookup: Effect.Effect<unknown>
}

/** Runs a request that is killed after some commits, and returns its exit. */
export const killAfter = Effect.fnUntraced(
  function*<A, E, R>(control: CommitControl, commits: number, request: Effect.Effect<A, E, R>) {
    control.commitsLeft = commits
    const exit = yield* Effect.exit(request)
    control.commitsLeft = Infinity
    return exit
  }
)

/** A storage, and the object with which a test controls its commits and lookups. */
export const controlStorage = (storage: Layer.Layer<Crm.StoragePorts, unknown>) => {
  const control: CommitControl = { commitsLeft: Infinity, beforeLookup: Effect.void }
  const layer = Layer.effect(
    Commit,
    Commit.useSync(({ commit }) => ({
      commit: (organization_id, changes) =>
        Effect.suspend(() =>
          control.commitsLeft-- > 0 ? commit(organization_id, changes) : Effect.die(new Error("Killed."))
        )
    }))
  ).pipe(
    Layer.merge(Layer.effect(
      ContactStore,
      ContactStore.useSync((store) => ({
        ...store,
        match: (...value) =>
          Effect.suspend(() => {
            const { beforeLookup } = control
            control.beforeLookup = Effect.void
            return Effect.andThen(beforeLookup, store.match(...value))
          })
      }))
    )),
    Layer.provideMerge(storage)
  )
  return { control, layer }
}
