import { assert, it } from "@effect/vitest"
import { type Contact, ContactStore, type Identity, introduce } from "@messaging-crm/core/Contacts"
import { ContactId, IdentityId } from "@messaging-crm/core/Ids"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { Array, DateTime, Effect, Fiber, Latch } from "effect"
import * as Processes from "./Processes.ts"

const phone = "+4915112345678"

const stranger = Effect.gen(function*() {
  const person = {
    channel_type: "phone_messaging",
    external_id: phone,
    phone,
    display_name: null,
    username: null
  } as const
  const newcomer: Contact = introduce(ContactId.make(yield* Processes.newId), person, DateTime.makeUnsafe(0))
  const { phone: _, ...shown } = person
  const identity: Identity = { id: IdentityId.make(yield* Processes.newId), ...shown }
  return [identity, newcomer] as const
})

it.layer(Processes.database, { excludeTestServices: true })("Contacts", (it) => {
  it.effect("makes one contact of a person whom 48 callers of four processes meet at once", () =>
    Effect.gen(function*() {
      const organization_id = yield* Processes.newOrganization
      const claims = Effect.gen(function*() {
        const store = yield* ContactStore
        const { transact } = yield* UnitOfWork
        const claim = Effect.flatMap(stranger, (who) => store.claimIdentity(organization_id, ...who))
        return yield* Effect.all(Array.makeBy(12, (index) => index % 2 === 0 ? claim : transact(claim)), {
          concurrency: "unbounded"
        })
      })
      const processes = yield* Effect.replicateEffect(Processes.start, 4)
      const met = Array.flatten(
        yield* Effect.forEach(processes, (process) => Effect.provide(claims, process), { concurrency: "unbounded" })
      )
      assert.lengthOf(new Set(met.map(({ contact_id }) => contact_id)), 1)
      assert.lengthOf(new Set(met.map(({ identity_id }) => identity_id)), 1)

      const kept = yield* ContactStore.use((store) => store.list(organization_id, { after: null, size: 100 }))
      assert.deepStrictEqual(
        kept.map(({ id, identities }) => ({ contact_id: id, identity_id: identities.map(({ id }) => id).join() })),
        met.slice(0, 1)
      )
    }))

  it.effect("lets the next caller in when the first one's unit of work is undone", () =>
    Effect.gen(function*() {
      const organization_id = yield* Processes.newOrganization
      const store = yield* ContactStore
      const { transact } = yield* UnitOfWork
      const claimed = yield* Latch.make()
      const undo = yield* Latch.make()
      const first = yield* Effect.forkChild(Effect.exit(
        store.claimIdentity(organization_id, ...(yield* stranger)).pipe(
          Effect.andThen(claimed.open),
          Effect.andThen(undo.await),
          Effect.andThen(Effect.fail("undone")),
          transact
        )
      ))
      yield* claimed.await
      const [identity, newcomer] = yield* stranger
      const second = yield* Effect.forkChild(store.claimIdentity(organization_id, identity, newcomer))
      yield* undo.open
      yield* Fiber.join(first)
      assert.deepStrictEqual(yield* Fiber.join(second), { identity_id: identity.id, contact_id: newcomer.id })
    }))
})
