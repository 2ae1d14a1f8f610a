/** Tests of the memory store only: its rows, and the access to them. */
import { assert, it } from "@effect/vitest"
import { layer, stores } from "@messaging-crm/adapter-memory"
import { World } from "@messaging-crm/adapter-memory/World"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { afterNoon } from "@messaging-crm/conformance/Fixtures"
import * as Changes from "@messaging-crm/core/Changes"
import { IdentityNetworkIdRows } from "@messaging-crm/core/ContactIdentities"
import { ContactStore } from "@messaging-crm/core/Contacts"
import { Ids } from "@messaging-crm/core/Ids"
import { MessageRetentionStore } from "@messaging-crm/core/MessageRetention"
import { OrganizationStore } from "@messaging-crm/core/Organizations"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { Effect, Equal, HashMap, HashSet, Layer, Option } from "effect"
import { BytesRows } from "../src/work/PrivateTables.ts"
import * as Table from "../src/world/Table.ts"

const world = Layer.merge(layer, Ids.layer)

it.effect("is empty each time the layer is built", () =>
  Effect.gen(function*() {
    const id = yield* Effect.provide(Fixtures.organization, world)
    const found = OrganizationStore.use((store) => store.find(id))
    assert.deepStrictEqual(yield* Effect.provide(found, world), Option.none())
  }))

it.effect("deletes a lane without items", () =>
  Effect.gen(function*() {
    const queue = yield* WorkQueue
    const ours = yield* Fixtures.organization
    const kept = World.use(({ read }) =>
      read(({ queue: { lanes, refs } }) => ({ lanes: HashMap.size(lanes), refs: HashSet.size(refs) }))
    )
    for (let index = 0; index < 3; index++) {
      const [lane, ref] = [yield* Fixtures.uuid, yield* Fixtures.uuid]
      yield* Fixtures.mustCommit(ours, Changes.enqueue({ kind: "send", lane, ref, due_at: Fixtures.noon }))
    }
    assert.deepStrictEqual(yield* kept, { lanes: 3, refs: 3 })
    const token = yield* Fixtures.uuid
    const claim = { kind: "send", limit: 9, now: Fixtures.noon, lease_until: afterNoon(60_000), token } as const
    yield* Effect.forEach(yield* queue.claim(claim), Fixtures.finishWork)
    assert.deepStrictEqual(yield* kept, { lanes: 0, refs: 0 })
  }).pipe(Effect.provide(world)))

it.effect("deletes the unique keys of a deleted row", () =>
  Effect.gen(function*() {
    const ours = yield* Fixtures.organization
    const { contact_id, identity_id } = yield* Fixtures.thread(ours)
    const name = { channel_type: "phone_messaging", name: "Ada" } as const
    const rows = World.use(({ read }) => read(({ tables }) => tables))
    const before = yield* rows
    yield* Fixtures.mustCommit(ours, Changes.aliases({ ...name, identity_id }))
    yield* Fixtures.mustCommit(ours, IdentityNetworkIdRows.remove(name))
    // Compared as maps, because the internal structure depends on earlier entries.
    assert.isTrue(Equal.equals(yield* rows, before))
    assert.isTrue(Option.isSome(yield* ContactStore.use((store) => store.find(ours, contact_id))))
  }).pipe(Effect.provide(world)))

it.effect("deletes the bytes of a file with the message that is too old", () =>
  Effect.gen(function*() {
    const ours = yield* Fixtures.organization
    const thread = yield* Fixtures.thread(ours)
    const { id, ...file } = yield* Fixtures.file(ours)
    const media = { ...file, id, kind: "image", transcript: null } as const
    yield* Fixtures.message(ours, thread, { created_at: afterNoon(1), media })
    const stored = World.use(({ read }) => read(({ tables }) => Table.allOfEveryOwner(tables, BytesRows).length))
    assert.strictEqual(yield* stored, 1)
    yield* MessageRetentionStore.use((store) => store.purge(afterNoon(2), 9))
    assert.strictEqual(yield* stored, 0)
  }).pipe(Effect.provide(world)))

it.effect("accesses the world in one step for each call, so that a test can replace it", () => {
  let steps = 0
  const counting = Layer.effect(
    World,
    World.useSync(({ modify, read }) =>
      World.of({
        read: (look) => Effect.andThen(Effect.sync(() => steps++), read(look)),
        modify: (change) => Effect.andThen(Effect.sync(() => steps++), modify(change))
      })
    )
  ).pipe(Layer.provide(World.layer))
  return Effect.gen(function*() {
    const ours = yield* Fixtures.organization
    assert.strictEqual(steps, 1)
    yield* Fixtures.thread(ours)
    assert.strictEqual(steps, 3)
    yield* Fixtures.contact(ours)
    yield* ContactStore.use((store) => store.list(ours, Fixtures.everyone, { after: null, size: 9 }))
    assert.strictEqual(steps, 5)
  }).pipe(Effect.provide(Layer.merge(Layer.provide(stores, counting), Ids.layer)))
})
