/** Items of writers that commit after claims have looked at their lane: they are found although no claim could see them. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { kind_rules, type WorkKind } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import * as Lanes from "../testing/Lanes.ts"
import * as Processes from "./Processes.ts"
import { claim, enqueue, own, type Queue, queues, Time } from "./WorkQueueScene.ts"

/** A lane without items, the queues of two processes, and a function that enqueues an item in the lane. */
const scene = Effect.fnUntraced(function*(kind: WorkKind) {
  const queue = yield* own
  const [other = queue] = yield* queues
  const organization_id = yield* Fixtures.organization
  const lane = yield* Fixtures.uuid
  return {
    sql: yield* SqlClient.SqlClient,
    queue,
    other,
    lane,
    time: new Time(),
    enqueueAt: (due_at?: DateTime.Utc) => enqueue(organization_id, lane, kind, due_at)
  }
})

it.layer(Processes.database, { excludeTestServices: true })("An item that a claim could not see", (it) => {
  /** Advances the time to the next check of the lane, or by ten seconds if none is scheduled soon. */
  const advanceToNextCheck = Effect.fnUntraced(function*(lane: string, time: Time) {
    const soon = DateTime.add(time.now, { seconds: 10 })
    const next = Option.getOrElse(yield* Lanes.nextCheckOf(lane), () => soon)
    time.now = DateTime.max(time.now, DateTime.min(next, soon))
  })

  /** Returns the items of the first claim that finds one in the next three seconds. */
  const claimedSoon = Effect.fnUntraced(function*(queue: Queue, kind: WorkKind, time: Time) {
    for (let turn = 0; turn < 30; turn++) {
      const claimed = yield* claim(queue, kind, time)
      if (claimed.length > 0) return claimed.map(({ ref }) => ref)
      time.now = DateTime.add(time.now, { milliseconds: 100 })
    }
    return []
  })

  const before = {
    empty: "that is empty",
    claimed: "with a claimed item",
    later: "with an item that is due in an hour"
  }
  const cases = (["send", "webhook_delivery"] as const).flatMap((kind) =>
    (["empty", "claimed", "later"] as const).flatMap((state) =>
      [0, 1, 2, 3, 4, 5].map((check) => ({ kind, state, check }))
    )
  ).filter(({ kind, state }) => !(kind === "send" && state === "later"))
  for (const { check, kind, state } of cases) {
    const when = check === 0 ? "after its first item was claimed" : `after check ${check}`
    it.effect(`is found in a ${kind} lane ${before[state]} if its writer commits ${when}`, () =>
      Effect.gen(function*() {
        const { enqueueAt, lane, other, queue, sql, time } = yield* scene(kind)
        yield* enqueueAt()
        if (state === "later") yield* enqueueAt(DateTime.add(time.now, { hours: 1 }))
        const claimFirst = Effect.fnUntraced(function*(queue: Queue) {
          const [first] = yield* claim(queue, kind, time)
          if (first === undefined) return assert.fail("Nothing was claimed.")
          return state === "claimed" ? first : void (yield* queue.finish(first))
        })
        const first = check === 0 ? undefined : yield* claimFirst(queue)
        for (let earlier = 1; earlier < check; earlier++) {
          yield* advanceToNextCheck(lane, time)
          assert.deepStrictEqual(yield* claim(queue, kind, time), [])
        }
        if (check > 0) yield* advanceToNextCheck(lane, time)

        const [ref, claimed = first] = yield* sql.withTransaction(Effect.all([
          enqueueAt(time.now),
          check === 0 ? claimFirst(other) : Effect.asVoid(claim(other, kind, time))
        ]))
        // A fifo lane gives out nothing while an item is claimed.
        if (claimed !== undefined && kind === "send") yield* queue.finish(claimed)
        assert.deepStrictEqual(yield* claimedSoon(queue, kind, time), [ref])
        yield* Lanes.removeAll
      }))
  }

  it.effect("is found in a full lane if its writer commits after only later items were left", () =>
    Effect.gen(function*() {
      const { enqueueAt, other, queue, sql, time } = yield* scene("webhook_delivery")
      const { cap } = kind_rules.webhook_delivery
      yield* Effect.replicateEffect(enqueueAt(), cap)
      const full = yield* claim(queue, "webhook_delivery", time, cap)
      assert.lengthOf(full, cap)
      yield* enqueueAt(DateTime.add(time.now, { hours: 1 }))
      const ref = yield* sql.withTransaction(Effect.gen(function*() {
        const ref = yield* enqueueAt()
        yield* Effect.forEach(full, other.finish)
        assert.deepStrictEqual(yield* claim(other, "webhook_delivery", time), [])
        return ref
      }))
      assert.deepStrictEqual(yield* claimedSoon(queue, "webhook_delivery", time), [ref])
      yield* Lanes.removeAll
    }))

  it.effect("is found by a sweep if its writer commits after the last check of the lane", () =>
    Effect.gen(function*() {
      const { enqueueAt, lane, other, queue, sql, time } = yield* scene("webhook_delivery")
      yield* enqueueAt()
      const later = DateTime.add(time.now, { hours: 1 })
      yield* enqueueAt(later)
      const ref = yield* sql.withTransaction(Effect.gen(function*() {
        const ref = yield* enqueueAt()
        yield* Effect.forEach(yield* claim(other, "webhook_delivery", time), other.finish)
        assert.deepStrictEqual(yield* claimedSoon(other, "webhook_delivery", time), [])
        return ref
      }))
      assert.deepStrictEqual(yield* Lanes.nextCheckOf(lane), Option.some(later))
      assert.deepStrictEqual(yield* claimedSoon(queue, "webhook_delivery", time), [])
      time.now = DateTime.add(time.now, { seconds: 15 })
      yield* queue.sweep(time.now)
      assert.deepStrictEqual(yield* claimedSoon(queue, "webhook_delivery", time), [ref])
      yield* Lanes.removeAll
    }))
})
