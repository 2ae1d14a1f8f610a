import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { Commit } from "@messaging-crm/core/Commit"
import { findOrCreateByIdentity, namesOf } from "@messaging-crm/core/ContactIdentities"
import { ContactStore, type Person } from "@messaging-crm/core/Contacts"
import { Decide } from "@messaging-crm/core/Decide"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { WorkSignal } from "@messaging-crm/core/WorkQueue"
import { Array, Effect, Fiber, Latch, Layer, Option, Result } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "./Processes.ts"

const phone = "+4915112345678"

/** A person whose first name is the number for half of the callers, and an id of the network for the other half. */
const person = (index: number): Person => ({
  channel_type: "phone_messaging",
  external_id: index % 2 === 0 ? phone : "network-name",
  aliases: [index % 2 === 0 ? "network-name" : phone],
  phone,
  display_name: null,
  username: null
})

const load = Effect.fnUntraced(function*(organization_id: OrganizationId, met: Person) {
  const store = yield* ContactStore
  const known = yield* store.identify(organization_id, met.channel_type, namesOf(met))
  return { known, withPhone: yield* store.findByPhone(organization_id, phone) }
})

/** Finds or creates the contact of a person, as operations do. */
const findOrCreate = Effect.fnUntraced(function*(organization_id: OrganizationId, met: Person) {
  const { decide } = yield* Effect.provide(Decide, Layer.provide(Decide.layer, WorkSignal.layer))
  return yield* decide(organization_id, {
    load: load(organization_id, met),
    decide: ({ known, withPhone }, fresh) => Result.succeed(findOrCreateByIdentity(met, known, withPhone, fresh))
  })
})

it.layer(Processes.database, { excludeTestServices: true })("Contacts", (it) => {
  it.effect("creates one contact for a person in 48 concurrent calls of four processes", () =>
    Effect.gen(function*() {
      const organization_id = yield* Fixtures.organization
      const calls = Effect.all(Array.makeBy(12, (index) => findOrCreate(organization_id, person(index))), {
        concurrency: "unbounded"
      })
      const processes = yield* Effect.replicateEffect(Processes.start, 4)
      const met = Array.flatten(
        yield* Effect.forEach(processes, (process) => Effect.provide(calls, process), { concurrency: "unbounded" })
      )
      assert.lengthOf(met, 48)
      assert.lengthOf(new Set(met.map(({ contact_id }) => contact_id)), 1)
      assert.lengthOf(new Set(met.map(({ identity_id }) => identity_id)), 1)

      const stored = yield* ContactStore.use((store) =>
        store.list(organization_id, Fixtures.everyone, { after: null, size: 100 })
      )
      assert.deepStrictEqual(
        stored.map(({ id, identities }) => ({ contact_id: id, identity_id: identities.map(({ id }) => id).join() })),
        met.slice(0, 1)
      )
      const known = yield* ContactStore.use((store) =>
        store.identify(organization_id, "phone_messaging", [phone, "network-name"])
      )
      assert.deepStrictEqual(known.map(({ name }) => name), [phone, "network-name"])
    }))

  it.effect("lets the next caller succeed when the first one's transaction is rolled back", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { commit } = yield* Commit
      const organization_id = yield* Fixtures.organization
      const written = yield* Latch.make()
      const undo = yield* Latch.make()
      const undone = findOrCreateByIdentity(person(0), [], Option.none(), yield* Fixtures.fresh)
      const first = yield* Effect.forkChild(Effect.exit(
        commit(organization_id, undone.changes).pipe(
          Effect.andThen(written.open),
          Effect.andThen(undo.await),
          Effect.andThen(Effect.fail("undone")),
          sql.withTransaction
        )
      ))
      yield* written.await
      const { answer, changes } = findOrCreateByIdentity(person(0), [], Option.none(), yield* Fixtures.fresh)
      const second = yield* Effect.forkChild(commit(organization_id, changes))
      yield* undo.open
      yield* Fiber.join(first)
      yield* Fiber.join(second)
      const { known } = yield* load(organization_id, person(0))
      assert.deepStrictEqual(
        known.map(({ contact, identity }) => ({ contact_id: contact.id, identity_id: identity.id })),
        [answer, answer]
      )
    }))
})
