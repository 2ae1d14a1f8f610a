/** What only the memory store can show: its rows. */
import { assert, it } from "@effect/vitest"
import { layer } from "@messaging-crm/adapter-memory"
import { World } from "@messaging-crm/adapter-memory/World"
import * as Fixtures from "@messaging-crm/core/conformance/Fixtures"
import { after } from "@messaging-crm/core/conformance/Fixtures"
import { Ids, WorkId } from "@messaging-crm/core/Ids"
import { OrganizationStore } from "@messaging-crm/core/Organizations"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { Effect, HashMap, HashSet, Layer, Option } from "effect"

const world = Layer.merge(layer, Ids.layer)

it.effect("begins anew each time the layer is built", () =>
  Effect.gen(function*() {
    const id = yield* Effect.provide(Fixtures.organization, world)
    const found = OrganizationStore.use((store) => store.find(id))
    assert.deepStrictEqual(yield* Effect.provide(found, world), Option.none())
  }))

it.effect("keeps nothing of a lane without items", () =>
  Effect.gen(function*() {
    const queue = yield* WorkQueue
    const ours = yield* Fixtures.organization
    const rows = World.use(({ read }) =>
      read(({ lanes, work_refs }) => ({ lanes: HashMap.size(lanes), work_refs: HashSet.size(work_refs) }))
    )
    for (let index = 0; index < 3; index++) {
      const [id, lane, ref] = [WorkId.make(yield* Fixtures.uuid), yield* Fixtures.uuid, yield* Fixtures.uuid]
      yield* queue.enqueue(ours, { id, kind: "send", lane, ref }, Fixtures.noon)
    }
    assert.deepStrictEqual(yield* rows, { lanes: 3, work_refs: 3 })
    const token = yield* Fixtures.uuid
    const claim = { kind: "send", limit: 9, now: Fixtures.noon, lease_until: after(60_000), token } as const
    yield* Effect.forEach(yield* queue.claim(claim), queue.finish)
    assert.deepStrictEqual(yield* rows, { lanes: 0, work_refs: 0 })
  }).pipe(Effect.provide(world)))

it.effect("gives units of work one turn after another", () =>
  Effect.gen(function*() {
    const { transact } = yield* UnitOfWork
    const log: Array<string> = []
    const turn = (name: string) =>
      transact(Effect.gen(function*() {
        log.push(`${name} begins`)
        yield* transact(Effect.yieldNow)
        log.push(`${name} ends`)
      }))
    yield* Effect.all([turn("a"), turn("b")], { concurrency: "unbounded" })
    assert.deepStrictEqual(log, ["a begins", "a ends", "b begins", "b ends"])
  }).pipe(Effect.provide(world)))
