import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/core/conformance/Fixtures"
import { type OrganizationId, WorkId } from "@messaging-crm/core/Ids"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { type ClaimedWork, type WorkKind, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { Context, DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "./Processes.ts"

const now = DateTime.makeUnsafe(0)
const lease_until = DateTime.makeUnsafe(60_000)

type Queue = Context.Service.Shape<typeof WorkQueue>

/** The queue as four processes see it. */
const queues = Effect.replicateEffect(Effect.map(Processes.start, Context.get(WorkQueue)), 4)

const enqueue = Effect.fnUntraced(function*(organization_id: OrganizationId, lane: string, kind: WorkKind = "send") {
  const queue = yield* WorkQueue
  const ref = yield* Fixtures.uuid
  const id = WorkId.make(globalThis.crypto.randomUUID())
  yield* queue.enqueue(organization_id, { id, kind, lane, ref }, now)
  return ref
})

/** Fills lanes and returns what each holds, in order. */
const fill = Effect.fnUntraced(function*(
  options: { readonly lanes: number; readonly items: number; readonly kind?: WorkKind }
) {
  const organization_id = yield* Fixtures.organization
  const lanes = yield* Effect.replicateEffect(Fixtures.uuid, options.lanes)
  const filled = yield* Effect.forEach(lanes, (lane) =>
    Effect.map(
      Effect.replicateEffect(enqueue(organization_id, lane, options.kind), options.items),
      (refs) => [lane, refs] as const
    ), { concurrency: "unbounded" })
  return new Map(filled)
})

/** What has been finished, by lane. */
class Done {
  readonly lanes = new Map<string, Array<string>>()
  count = 0
  readonly add = ({ lane, ref }: ClaimedWork) => {
    this.count++
    this.lanes.set(lane, [...(this.lanes.get(lane) ?? []), ref])
  }
}

/** Claims and carries out until so many items are done. */
const work = <R>(
  queue: Queue,
  kind: WorkKind,
  done: Done,
  total: number,
  perform: (item: ClaimedWork) => Effect.Effect<unknown, never, R>
) =>
  Effect.gen(function*() {
    while (done.count < total) {
      const claimed = yield* queue.claim({ kind, limit: 8, now, lease_until, token: yield* Fixtures.uuid })
      yield* Effect.forEach(claimed, perform, { concurrency: "unbounded" })
    }
  })

const assertNothingLeft = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const left = yield* sql`
    SELECT lane_name FROM work
    UNION ALL
    SELECT name FROM work_lanes
  `
  assert.lengthOf(left, 0)
})

it.layer(Processes.database, { excludeTestServices: true })("WorkQueue", (it) => {
  it.effect("gives four processes a lane's items one by one and in order, also when some are put off", () =>
    Effect.gen(function*() {
      const filled = yield* fill({ lanes: 20, items: 15 })
      const done = new Done()
      const out = new Set<string>()
      yield* Effect.forEach(yield* queues, (queue) =>
        work(queue, "send", done, 300, (item) =>
          Effect.gen(function*() {
            assert.isFalse(out.has(item.lane), "two of a lane are out")
            out.add(item.lane)
            yield* Effect.yieldNow
            out.delete(item.lane)
            if (item.attempt === 1 && item.ref < "8") return assert.isTrue(yield* queue.postpone(item, now))
            done.add(item)
            assert.isTrue(yield* queue.finish(item))
          })), { concurrency: "unbounded" })
      assert.deepStrictEqual(done.lanes, filled)
      yield* assertNothingLeft
    }))

  it.effect("has every item finished once and in order, although every lease keeps ending", () =>
    Effect.gen(function*() {
      const filled = yield* fill({ lanes: 20, items: 15 })
      const done = new Done()
      yield* Effect.forEach(yield* queues, (queue) =>
        work(queue, "send", done, 300, (item) =>
          Effect.gen(function*() {
            if (item.attempt % 3 === 1) yield* queue.sweep(lease_until)
            if (yield* queue.finish(item)) done.add(item)
          })), { concurrency: "unbounded" })
      assert.deepStrictEqual(done.lanes, filled)
      yield* assertNothingLeft
    }))

  it.effect("never has more of a lane without order out than may be, whoever claims, puts off and sweeps", () =>
    Effect.gen(function*() {
      const filled = yield* fill({ lanes: 4, items: 75, kind: "delivery" })
      const done = new Done()
      const out = new Map<string, number>()
      const most = new Map<string, number>()
      yield* Effect.forEach(
        yield* queues,
        (queue) =>
          work(queue, "delivery", done, 300, (item) =>
            Effect.gen(function*() {
              const beside = (out.get(item.lane) ?? 0) + 1
              out.set(item.lane, beside)
              most.set(item.lane, Math.max(beside, most.get(item.lane) ?? 0))
              // No lease has ended yet: this frees nothing.
              yield* queue.sweep(now)
              out.set(item.lane, (out.get(item.lane) ?? 0) - 1)
              if (item.attempt === 1 && item.ref < "8") return assert.isTrue(yield* queue.postpone(item, now))
              done.add(item)
              assert.isTrue(yield* queue.finish(item))
            })),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(Array.from(most.values()), [8, 8, 8, 8])
      for (const [lane, refs] of filled) assert.sameMembers(done.lanes.get(lane) ?? [], refs)
      yield* assertNothingLeft
    }))

  it.effect("finishes every item of a lane without order once, although every lease keeps ending", () =>
    Effect.gen(function*() {
      const filled = yield* fill({ lanes: 4, items: 50, kind: "delivery" })
      const done = new Done()
      yield* Effect.forEach(
        yield* queues,
        (queue) =>
          work(queue, "delivery", done, 200, (item) =>
            Effect.gen(function*() {
              if (item.attempt % 3 === 1) yield* queue.sweep(lease_until)
              if (yield* queue.finish(item)) done.add(item)
            })),
        { concurrency: "unbounded" }
      )
      for (const [lane, refs] of filled) assert.sameMembers(done.lanes.get(lane) ?? [], refs)
      yield* assertNothingLeft
    }))

  it.effect("serves a hundred lanes beside one with 20,000 items that have waited longer", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const queue = yield* WorkQueue
      const organization_id = yield* Fixtures.organization
      const backlog = yield* Fixtures.uuid
      yield* enqueue(organization_id, backlog, "delivery")
      yield* sql`
        INSERT INTO work (id, organization_id, lane_name, kind, lane, ref, due_at)
        SELECT uuidv7(), organization_id, lane_name, kind, lane, uuidv7(), due_at - interval '1 hour'
        FROM work
        CROSS JOIN generate_series(1, 20000)
      `
      const lanes = yield* Effect.replicateEffect(Fixtures.uuid, 100)
      yield* Effect.forEach(lanes, (lane) => enqueue(organization_id, lane, "delivery"))
      const served: Array<string> = []
      for (let turn = 0; turn < 4; turn++) {
        const claimed = yield* queue.claim({
          kind: "delivery",
          limit: 32,
          now,
          lease_until,
          token: yield* Fixtures.uuid
        })
        served.push(...claimed.map(({ lane }) => lane))
        yield* Effect.forEach(claimed, queue.finish)
      }
      assert.includeMembers(served, lanes)
      yield* sql`TRUNCATE work, work_lanes`
    }))

  it.effect("loses nothing that is put in a lane while its only item is taken out", () =>
    Effect.gen(function*() {
      const { transact } = yield* UnitOfWork
      const organization_id = yield* Fixtures.organization
      const lanes = yield* Effect.replicateEffect(Fixtures.uuid, 10)
      // A unit of work goes on after it has enqueued.
      const enqueueNext = (lane: string) =>
        transact(Effect.andThen(enqueue(organization_id, lane), Fixtures.organization))
      yield* Effect.forEach(lanes, (lane) => enqueue(organization_id, lane))
      const done = new Done()
      yield* Effect.forEach(yield* queues, (queue) =>
        work(queue, "send", done, 400, (item) =>
          Effect.gen(function*() {
            done.add(item)
            const next = done.count + lanes.length <= 400 ? enqueueNext(item.lane) : Effect.void
            const [finished] = yield* Effect.all([queue.finish(item), next], { concurrency: "unbounded" })
            assert.isTrue(finished)
          })), { concurrency: "unbounded" })
      assert.sameMembers(Array.from(done.lanes.keys()), lanes)
      yield* assertNothingLeft
    }))

  it.effect("passes over a lane that somebody has locked, instead of waiting for it", () =>
    Effect.gen(function*() {
      const { transact } = yield* UnitOfWork
      const queue = yield* WorkQueue
      const organization_id = yield* Fixtures.organization
      const [busy, free] = [yield* Fixtures.uuid, yield* Fixtures.uuid]
      const passedOver = yield* enqueue(organization_id, busy)
      const given = yield* enqueue(organization_id, free)
      const claim = (from: Queue) =>
        Effect.flatMap(Fixtures.uuid, (token) => from.claim({ kind: "send", limit: 8, now, lease_until, token }))
      const [other = queue] = yield* queues
      // The lane stays locked by what is put in it until the unit of work ends, which waits for the claim.
      const claimed = yield* transact(Effect.andThen(enqueue(organization_id, busy), claim(other)))
      assert.deepStrictEqual(claimed.map(({ ref }) => ref), [given])
      const later = yield* claim(queue)
      assert.deepStrictEqual(later.map(({ ref }) => ref), [passedOver])
      yield* Effect.forEach([...claimed, ...later], queue.finish)
      yield* Effect.forEach(yield* claim(queue), queue.finish)
      yield* assertNothingLeft
    }))
})
