import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/core/conformance/Fixtures"
import { ContactStore } from "@messaging-crm/core/Contacts"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { Array, Effect, Fiber, Latch } from "effect"
import * as Processes from "./Processes.ts"

const phone = "+4915112345678"

it.layer(Processes.database, { excludeTestServices: true })("Contacts", (it) => {
  it.effect("makes one contact of a person whom 48 callers of four processes meet at once", () =>
    Effect.gen(function*() {
      const organization_id = yield* Fixtures.organization
      const claims = Effect.gen(function*() {
        const store = yield* ContactStore
        const { transact } = yield* UnitOfWork
        const claim = Effect.flatMap(
          Fixtures.stranger(phone, phone),
          ({ identity, newcomer }) => store.claimIdentity(organization_id, identity, newcomer, [])
        )
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

      const kept = yield* ContactStore.use((store) =>
        store.list(organization_id, Fixtures.everyone, { after: null, size: 100 })
      )
      assert.deepStrictEqual(
        kept.map(({ id, identities }) => ({ contact_id: id, identity_id: identities.map(({ id }) => id).join() })),
        met.slice(0, 1)
      )
    }))

  it.effect("lets the next caller in when the first one's unit of work is undone", () =>
    Effect.gen(function*() {
      const organization_id = yield* Fixtures.organization
      const store = yield* ContactStore
      const { transact } = yield* UnitOfWork
      const claimed = yield* Latch.make()
      const undo = yield* Latch.make()
      const undone = yield* Fixtures.stranger(phone, phone)
      const first = yield* Effect.forkChild(Effect.exit(
        store.claimIdentity(organization_id, undone.identity, undone.newcomer, []).pipe(
          Effect.andThen(claimed.open),
          Effect.andThen(undo.await),
          Effect.andThen(Effect.fail("undone")),
          transact
        )
      ))
      yield* claimed.await
      const { identity, newcomer } = yield* Fixtures.stranger(phone, phone)
      const second = yield* Effect.forkChild(store.claimIdentity(organization_id, identity, newcomer, []))
      yield* undo.open
      yield* Fiber.join(first)
      assert.deepStrictEqual(yield* Fiber.join(second), { identity_id: identity.id, contact_id: newcomer.id })
    }))
})
