/** Upserts of contacts: failures of a request, which are no outcome of a contact, and IDs (contract §8.11). */
import { assert, describe, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Provider from "@messaging-crm/conformance/Provider"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { OrganizationClosed } from "@messaging-crm/core/Commit"
import { Contacts, CreateContact } from "@messaging-crm/core/Contacts"
import { ContactUpserts, people_at_once, UpsertContacts } from "@messaging-crm/core/ContactUpserts"
import * as Crm from "@messaging-crm/core/Crm"
import { Decide } from "@messaging-crm/core/Decide"
import { IdempotencyConflict, RequestProcessing } from "@messaging-crm/core/Idempotency"
import { IdempotentParts } from "@messaging-crm/core/IdempotentParts"
import { Ids } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { Secrets } from "@messaging-crm/core/Secrets"
import { StorageUse } from "@messaging-crm/core/StorageUse"
import { WorkSignal } from "@messaging-crm/core/WorkQueue"
import { Effect, Fiber, Layer, Queue, Result, Schema } from "effect"

type Interruption = IdempotencyConflict | RequestProcessing

/** Upserts with a change to how their parts run. */
const withParts = (change: (parts: IdempotentParts["Service"]) => Partial<IdempotentParts["Service"]>) => {
  const changed = Layer.effect(
    IdempotentParts,
    Effect.map(IdempotentParts, (parts) => ({ ...parts, ...change(parts) }))
  )
  // The layer of every operation builds it too, and shares what was built.
  return Layer.fresh(ContactUpserts.layer).pipe(
    Layer.provide(changed),
    Layer.provide(Decide.layer),
    Layer.provide(Layer.mergeAll(Secrets.layer, StorageUse.layer)),
    Layer.provideMerge(Crm.layer),
    Layer.provideMerge(Layer.mergeAll(Memory.layer, Provider.layer("callback_ref"), Ids.layer, WorkSignal.layer)),
    Layer.fresh
  )
}

/** Upserts whose request runs, and whose second contact meets a failure. */
const failingWith = (failure: Effect.Effect<never, Interruption> | null) => {
  let count = 0
  return withParts((parts) => ({
    once: (request, part, work) => {
      count += 1
      return count === 2 && failure !== null ? failure : parts.once(request, part, work)
    }
  }))
}

const failingAt = (interruption: Interruption | null) =>
  failingWith(interruption === null ? null : Effect.fail(interruption))

const input = Schema.decodeSync(UpsertContacts)({
  match: "primary_email",
  contacts: [
    { primary_email: "kim@shop.example", first_name: "Kim" },
    { primary_email: "two@shop.example", first_name: "Ada" }
  ]
})

const encode = (results: ReadonlyArray<Result.Result<{ readonly outcome: string }, { readonly _tag: string }>>) => {
  const shown = results.map(Result.match({ onFailure: ({ _tag }) => _tag, onSuccess: ({ outcome }) => outcome }))
  return Effect.succeed({ status: 200, body: JSON.stringify(shown) })
}

const upserted = Effect.gen(function*() {
  const { body } = yield* ContactUpserts.use(({ upsertAndRespond }) =>
    upsertAndRespond(input, { encode, record: Fixtures.keyedRequest })
  )
  return JSON.parse(body)
})

const within = Effect.fnUntraced(function*<A, E, R>(effect: Effect.Effect<A, E, R | CurrentActor>) {
  const organization_id = yield* Fixtures.organization
  return yield* Effect.provideService(effect, CurrentActor, { organization_id, member_id: null })
})

describe("an upsert of two contacts", () => {
  for (const error of [new IdempotencyConflict(), new RequestProcessing()]) {
    it.effect(`fails with ${error._tag} of the second, so that a retry continues it`, () =>
      within(Effect.flip(upserted)).pipe(
        Effect.map((failure) => assert.strictEqual(failure, error)),
        Effect.provide(failingAt(error))
      ))
  }

  it.effect("is being processed if the organization is closed before the second, because the first is stored", () =>
    within(Effect.flip(upserted)).pipe(
      Effect.map((failure) => assert.instanceOf(failure, RequestProcessing)),
      Effect.provide(failingWith(Effect.die(new OrganizationClosed())))
    ))

  it.effect("whose second contact is rejected returns the outcome of each", () =>
    within(Effect.gen(function*() {
      const two = CreateContact.make({ primary_email: "two@shop.example" })
      yield* Effect.all([Contacts.use(({ create }) => create(two)), Contacts.use(({ create }) => create(two))])
      assert.deepStrictEqual(yield* upserted, ["created", "ContactAmbiguous"])
    })).pipe(Effect.provide(failingAt(null))))
})

it.effect("an id is compared as it is written, except a number on phone messaging", () =>
  within(Effect.forEach(
    [
      ["photo_social", "+49 151 12345678", "+49 151 12345678"],
      ["phone_messaging", "+49 151 12345678", "+4915112345678"],
      ["phone_messaging", "DE.user 1", "DE.user 1"]
    ] as const,
    Effect.fnUntraced(function*([channel_type, external_id, expected]) {
      const contacts = [{ external_id, first_name: "Kim" }]
      const upserts = Schema.decodeSync(UpsertContacts)({ match: "external_id", channel_type, contacts })
      const [result = assert.fail("There is a result.")] = yield* ContactUpserts.use(({ upsert }) => upsert(upserts))
      const { identities } = yield* Contacts.use(({ get }) => get(Result.getOrThrow(result).id))
      assert.deepStrictEqual(identities.map((one) => [one.channel_type, one.external_id]), [[channel_type, expected]])
    })
  )).pipe(Effect.provide(failingAt(null))))

it.effect("an organization that upserts many contacts lets another take its turn", () =>
  Effect.gen(function*() {
    const started = yield* Queue.unbounded<string>()
    const continued = yield* Queue.unbounded<void>()
    const stepwise = withParts((parts) => ({
      // Encryption of a response takes real time.
      respond: (_request, respond) => respond,
      once: (request, part, work) =>
        Effect.gen(function*() {
          const { organization_id } = yield* CurrentActor
          yield* Queue.offer(started, organization_id)
          yield* Queue.take(continued)
          return yield* parts.once(request, part, work)
        })
    }))
    yield* Effect.gen(function*() {
      const [many, few] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const upsert = (organization_id: typeof many, count: number) =>
        ContactUpserts.use(({ upsertAndRespond }) => {
          const contacts = Array.from({ length: count }, (_, index) => ({ primary_email: `${index}@shop.example` }))
          const upserts = Schema.decodeSync(UpsertContacts)({ match: "primary_email", contacts })
          return upsertAndRespond(upserts, { encode, record: Fixtures.keyedRequest })
        }).pipe(Effect.provideService(CurrentActor, { organization_id, member_id: null }), Effect.forkChild)
      yield* upsert(many, limits.upsert_contacts_max)
      const first = yield* Effect.replicateEffect(Queue.take(started), people_at_once)
      assert.deepStrictEqual(first, Array(people_at_once).fill(many))
      const other = yield* upsert(few, 1)
      yield* Effect.repeat(Effect.yieldNow, { times: 100 })
      assert.strictEqual(yield* Queue.size(started), 0)
      // One of the first organization waits longer, so the two take turns.
      yield* Queue.offerAll(continued, [undefined, undefined])
      assert.deepStrictEqual(yield* Effect.replicateEffect(Queue.take(started), 2), [many, few])
      yield* Effect.replicateEffect(Queue.offer(continued, undefined), limits.upsert_contacts_max)
      yield* Fiber.join(other)
    }).pipe(Effect.provide(stepwise))
  }))
