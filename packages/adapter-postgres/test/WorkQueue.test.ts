import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Changes from "@messaging-crm/core/Changes"
import { DateTime, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import * as Lanes from "../testing/Lanes.ts"
import * as Processes from "./Processes.ts"
import { waiterFor, whileOpen } from "./Sessions.ts"
import { assertNothingLeft, claim, Done, enqueue, fill, own, queues, sweepAll, Time, work } from "./WorkQueueScene.ts"

it.layer(Processes.database, { excludeTestServices: true })("WorkQueue", (it) => {
  it.effect("gives four processes a lane's items one by one and in order, also when some are postponed", () =>
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
            if (item.attempt === 1 && item.ref < "8") return assert.isTrue(yield* queue.postpone(item, done.time.now))
            done.add(item)
            assert.isTrue(yield* queue.finish(item))
          })), { concurrency: "unbounded" })
      assert.deepStrictEqual(done.lanes, filled)
      yield* assertNothingLeft
    }))

  it.effect("finishes every item once and in order, although leases keep ending", () =>
    Effect.gen(function*() {
      const filled = yield* fill({ lanes: 20, items: 15 })
      const done = new Done()
      yield* Effect.forEach(yield* queues, (queue) =>
        work(queue, "send", done, 300, (item) =>
          Effect.gen(function*() {
            if (item.attempt % 3 === 1) yield* sweepAll(queue, done.time)
            if (yield* queue.finish(item)) done.add(item)
          })), { concurrency: "unbounded" })
      assert.deepStrictEqual(done.lanes, filled)
      yield* assertNothingLeft
    }))

  it.effect("never exceeds the cap of a lane that is not fifo, with concurrent claims, postponements and sweeps", () =>
    Effect.gen(function*() {
      const filled = yield* fill({ lanes: 4, items: 75, kind: "webhook_delivery" })
      const done = new Done()
      const queue = yield* own
      const full = yield* claim(queue, "webhook_delivery", done.time, 100)
      const perLane = Array.from(Map.groupBy(full, ({ lane }) => lane).values(), (items) => items.length)
      assert.deepStrictEqual(perLane, [16, 16, 16, 16])
      assert.deepStrictEqual(yield* claim(queue, "webhook_delivery", done.time, 100), [])
      yield* Effect.forEach(full, queue.release)
      const out = new Map<string, number>()
      const most = new Map<string, number>()
      yield* Effect.forEach(
        yield* queues,
        (queue) =>
          work(queue, "webhook_delivery", done, 300, (item) =>
            Effect.gen(function*() {
              const claimed = (out.get(item.lane) ?? 0) + 1
              out.set(item.lane, claimed)
              most.set(item.lane, Math.max(claimed, most.get(item.lane) ?? 0))
              // No lease has ended yet: this frees nothing, and lets the other queues claim meanwhile.
              yield* queue.sweep(done.time.now)
              out.set(item.lane, (out.get(item.lane) ?? 0) - 1)
              if (item.attempt === 1 && item.ref < "8") return assert.isTrue(yield* queue.postpone(item, done.time.now))
              done.add(item)
              assert.isTrue(yield* queue.finish(item))
            })),
        { concurrency: "unbounded" }
      )
      assert.isAtMost(Math.max(...most.values()), 16)
      for (const [lane, refs] of filled) assert.sameMembers(done.lanes.get(lane) ?? [], refs)
      yield* assertNothingLeft
    }))

  it.effect("finishes every item of a lane that is not fifo once, although leases keep ending", () =>
    Effect.gen(function*() {
      const filled = yield* fill({ lanes: 4, items: 50, kind: "webhook_delivery" })
      const done = new Done()
      yield* Effect.forEach(
        yield* queues,
        (queue) =>
          work(queue, "webhook_delivery", done, 200, (item) =>
            Effect.gen(function*() {
              if (item.attempt % 3 === 1) yield* sweepAll(queue, done.time)
              if (yield* queue.finish(item)) done.add(item)
            })),
        { concurrency: "unbounded" }
      )
      for (const [lane, refs] of filled) assert.sameMembers(done.lanes.get(lane) ?? [], refs)
      yield* assertNothingLeft
    }))

  it.effect("serves a hundred lanes while another one has 20,000 items that have waited longer", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const queue = yield* own
      const organization_id = yield* Fixtures.organization
      const backlog = yield* Fixtures.uuid
      yield* enqueue(organization_id, backlog, "webhook_delivery")
      yield* sql`
        INSERT INTO work (organization_id, lane_name, kind, lane, ref, due_at)
        SELECT organization_id, lane_name, kind, lane, uuidv7(), due_at - interval '1 hour'
        FROM work
        CROSS JOIN generate_series(1, 20000)
      `
      const lanes = yield* Effect.replicateEffect(Fixtures.uuid, 100)
      yield* Effect.forEach(lanes, (lane) => enqueue(organization_id, lane, "webhook_delivery"))
      const served: Array<string> = []
      const time = new Time()
      for (let turn = 0; turn < 4; turn++) {
        // A lane that was served has waited for a shorter time than the others.
        time.pass()
        const claimed = yield* claim(queue, "webhook_delivery", time, 32)
        served.push(...claimed.map(({ lane }) => lane))
        yield* Effect.forEach(claimed, queue.finish)
      }
      assert.includeMembers(served, lanes)
      yield* Lanes.removeAll
    }))

  it.effect("loses no item that is enqueued in a lane while its only other item is finished", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const organization_id = yield* Fixtures.organization
      const lanes = yield* Effect.replicateEffect(Fixtures.uuid, 10)
      // Half of the items are enqueued inside a transaction that runs another statement afterwards, as a caller's may.
      const enqueueNext = (lane: string, goes_on: boolean) =>
        goes_on
          ? Effect.orDie(sql.withTransaction(Effect.andThen(enqueue(organization_id, lane), Fixtures.organization)))
          : enqueue(organization_id, lane)
      yield* Effect.forEach(lanes, (lane) => enqueue(organization_id, lane))
      const done = new Done()
      yield* Effect.forEach(yield* queues, (queue) =>
        work(queue, "send", done, 400, (item) =>
          Effect.gen(function*() {
            done.add(item)
            const next = done.count + lanes.length <= 400
              ? enqueueNext(item.lane, done.count % 2 === 0)
              : Effect.void
            const [finished] = yield* Effect.all([queue.finish(item), next], { concurrency: "unbounded" })
            assert.isTrue(finished)
          })), { concurrency: "unbounded" })
      assert.sameMembers(Array.from(done.lanes.keys()), lanes)
      yield* assertNothingLeft
    }))

  it.effect("skips a locked lane instead of waiting for it", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const queue = yield* own
      const organization_id = yield* Fixtures.organization
      const [busy, free] = [yield* Fixtures.uuid, yield* Fixtures.uuid]
      const passedOver = yield* enqueue(organization_id, busy)
      const given = yield* enqueue(organization_id, free)
      const [other = queue] = yield* queues
      const time = new Time()
      const throttle = Changes.throttle({ kind: "send", lane: busy, until: null, cap: 1 })
      // The throttle keeps the lane locked until its transaction ends, after the claim.
      const claimed = yield* sql.withTransaction(
        Effect.andThen(Fixtures.mustCommit(organization_id, throttle), claim(other, "send", time))
      )
      assert.deepStrictEqual(claimed.map(({ ref }) => ref), [given])
      const later = yield* claim(queue, "send", time)
      assert.deepStrictEqual(later.map(({ ref }) => ref), [passedOver])
      yield* Effect.forEach([...claimed, ...later], queue.finish)
      yield* assertNothingLeft
    }))

  it.effect("conflicts when it throttles a lane that another commit inserts meanwhile, and throttles it then", () =>
    Effect.gen(function*() {
      const queue = yield* own
      const organization_id = yield* Fixtures.organization
      const lane = yield* Fixtures.uuid
      const kind = "webhook_delivery"
      const time = new Time()
      const until = DateTime.add(time.now, { minutes: 1 })
      const throttle = Fixtures.commitOutcome(organization_id, Changes.throttle({ kind, lane, until, cap: 1 }))
      const throttling = yield* whileOpen(
        enqueue(organization_id, lane, kind),
        (pid) => Effect.tap(Effect.forkChild(throttle, { startImmediately: true }), () => waiterFor(pid))
      )
      assert.strictEqual(yield* Fiber.join(throttling), "Conflict")
      assert.strictEqual(yield* throttle, "committed")
      assert.deepStrictEqual(yield* claim(queue, kind, time), [])
      time.now = until
      const items = yield* claim(queue, kind, time)
      assert.deepStrictEqual(items.map(({ lane_cap }) => lane_cap), [1])
      yield* Effect.forEach(items, queue.finish)
      yield* Fixtures.mustCommit(organization_id, Changes.throttle({ kind, lane, until: null, cap: 16 }))
      yield* assertNothingLeft
    }))

  it.effect("gives a lane that an earlier version inserted the cap of its kind with its next throttle", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const queue = yield* own
      const organization_id = yield* Fixtures.organization
      const [lane, kind, time] = [yield* Fixtures.uuid, "webhook_delivery", new Time()] as const
      yield* Effect.replicateEffect(enqueue(organization_id, lane, kind), 20)
      yield* sql`UPDATE work_lanes SET cap = 8, allowed = 8 WHERE name LIKE ${`%${lane}`}`
      const before = yield* claim(queue, kind, time, 20)
      assert.deepStrictEqual(before.map(({ lane_cap }) => lane_cap), Array<number>(8).fill(8))
      yield* Fixtures.mustCommit(organization_id, Changes.throttle({ kind, lane, until: null, cap: 16 }))
      const after = yield* claim(queue, kind, time, 20)
      assert.lengthOf(after, 8)
      yield* Effect.forEach([...before, ...after, ...yield* claim(queue, kind, time)], queue.finish)
      yield* Effect.forEach(yield* claim(queue, kind, time, 20), queue.finish)
      yield* assertNothingLeft
    }))

  it.effect("does not close a fifo lane because of an item that is settled during a claim", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const queue = yield* own
      const organization_id = yield* Fixtures.organization
      const lane = yield* Fixtures.uuid
      const time = new Time()
      yield* enqueue(organization_id, lane)
      const next = yield* enqueue(organization_id, lane)
      const [first] = yield* claim(queue, "send", time)
      if (first === undefined) return assert.fail("Nothing was claimed.")
      // The throttle opens the lane, although its first item is claimed.
      yield* Fixtures.mustCommit(organization_id, Changes.throttle({ kind: "send", lane, until: null, cap: 1 }))
      const finishing = yield* sql.withTransaction(Effect.gen(function*() {
        const at = DateTime.toDateUtc(time.now)
        const [claimer] = yield* sql<{ readonly pid: number; readonly given: number }>`
          SELECT pg_backend_pid() AS pid, count(*)::int AS given
          FROM claim_work('send', 8, ${at}, ${at}, ${lane}, '{}', '{}', 8)
        `
        if (claimer === undefined) return assert.fail("The claim did not run.")
        assert.strictEqual(claimer.given, 0)
        const [other = queue] = yield* queues
        const fiber = yield* Effect.forkChild(other.finish(first))
        yield* Effect.race(waiterFor(claimer.pid), Fiber.await(fiber))
        return fiber
      }))
      assert.isTrue(yield* Fiber.join(finishing))
      const second = yield* claim(queue, "send", time)
      assert.deepStrictEqual(second.map(({ ref }) => ref), [next])
      yield* Effect.forEach(second, queue.finish)
      yield* assertNothingLeft
    }))
})
