/** Tests of the guarantees of `WorkQueue`. The queue is global, so each test first empties it. */
import { assert } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import * as Traces from "@messaging-crm/core/Traces"
import { emptyBacklog, WorkKind } from "@messaging-crm/core/WorkQueue"
import { Effect } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It, type Options } from "../Fixtures.ts"
import { fairness } from "./WorkQueue/Fairness.ts"
import { lanes } from "./WorkQueue/Lanes.ts"
import { claim, enqueue, newWork, refs, start } from "./WorkQueue/QueueScene.ts"
import { settlements } from "./WorkQueue/Settlements.ts"

const claims = (it: It) => {
  it.effect("claims a due item once, with the claim's token and number", () =>
    Effect.gen(function*() {
      const { lane, ours, queue } = yield* start
      const { due_at: _, ...work } = yield* newWork(lane)
      yield* enqueue(ours, work, Fixtures.noon)
      assert.deepStrictEqual(yield* claim({ at: afterNoon(-1) }), [])
      const [now, lease_until, token] = [Fixtures.noon, afterNoon(60_000), yield* Fixtures.uuid]
      const [claimed, ...more] = yield* queue.claim({ kind: work.kind, limit: 9, now, lease_until, token })
      assert.deepStrictEqual(more, [])
      assert.deepStrictEqual(claimed, {
        ...work,
        organization_id: ours,
        lane_cap: 1,
        attempt: 1,
        defects: 0,
        token,
        trace: null
      })
      assert.deepStrictEqual(yield* claim(), [])
    }))

  it.effect("claims one kind, even when other kinds are due", () =>
    Effect.gen(function*() {
      const { lane, ours, queue } = yield* start
      const works = yield* Effect.forEach(WorkKind.literals, (kind) => newWork(lane, kind))
      yield* Effect.forEach(works, (work) => enqueue(ours, work, Fixtures.noon))
      const [now, lease_until, token] = [Fixtures.noon, afterNoon(60), yield* Fixtures.uuid]
      for (const { kind, ref } of works) {
        assert.deepStrictEqual(refs(yield* queue.claim({ kind, limit: 9, now, lease_until, token })), [ref])
      }
    }))

  for (const [flags, sampled] of [["01", true], ["00", false]] as const) {
    it.effect(`keeps the trace with the flags ${flags} that an item was enqueued in`, () =>
      Effect.gen(function*() {
        const { lane, ours } = yield* start
        const { trace } = yield* Effect.gen(function*() {
          yield* enqueue(ours, yield* newWork(lane), Fixtures.noon)
          return { trace: yield* Traces.current }
        }).pipe(Effect.withSpan("Anything", { sampled }))
        assert.match(trace ?? "", new RegExp(`^00-[0-9a-f]{32}-[0-9a-f]{16}-${flags}$`))
        const [claimed] = yield* claim()
        assert.isTrue(claimed !== undefined && (yield* Fixtures.postponeWork(claimed, afterNoon(5))))
        const [again] = yield* claim({ at: afterNoon(5) })
        assert.deepStrictEqual([claimed?.trace, again?.trace], [trace, trace])
      }))
  }
}

const backlog = (it: It) => {
  it.effect("counts its items of each kind", () =>
    Effect.gen(function*() {
      const { lane, ours, queue } = yield* start
      assert.deepStrictEqual(yield* queue.backlog(Fixtures.noon), [])
      for (const millis of [-10, -5]) yield* enqueue(ours, yield* newWork(lane), afterNoon(millis))
      yield* enqueue(ours, yield* newWork(lane), afterNoon(5))
      yield* enqueue(ours, { ...yield* newWork(yield* Fixtures.uuid), kind: "webhook_delivery" }, afterNoon(-20))
      const byKind = Effect.map(queue.backlog(Fixtures.noon), (rows) => new Map(rows.map((row) => [row.kind, row])))
      const before = yield* byKind
      const sends = { kind: "send", due: 2, later: 1, leased: 0, oldest_due_at: afterNoon(-10) } as const
      assert.deepStrictEqual(before.get("send"), sends)
      yield* claim()
      const meanwhile = yield* byKind
      assert.deepStrictEqual(meanwhile.get("send"), { ...sends, due: 1, leased: 1, oldest_due_at: afterNoon(-5) })
      assert.deepStrictEqual(meanwhile.get("webhook_delivery"), { ...emptyBacklog("webhook_delivery"), leased: 1 })
    }))
}

const uniqueness = (it: It) => {
  it.effect("keeps one item of a kind for one ref", () =>
    Effect.gen(function*() {
      const { lane, ours } = yield* start
      const work = yield* newWork(lane)
      yield* enqueue(ours, work, Fixtures.noon)
      yield* enqueue(ours, work, afterNoon(-9))
      const [claimed] = yield* claim()
      assert.strictEqual(claimed?.ref, work.ref)
      yield* enqueue(ours, work, Fixtures.noon)
      yield* Effect.forEach(claimed === undefined ? [] : [claimed], Fixtures.finishWork)
      assert.deepStrictEqual(yield* claim(), [])
      yield* enqueue(ours, work, Fixtures.noon)
      assert.lengthOf(yield* claim(), 1)
    }))

  it.effect("keeps it in its first lane, and accepts an item of another kind with the same ref", () =>
    Effect.gen(function*() {
      const { lane, ours } = yield* start
      const work = yield* newWork(lane)
      const [again, next] = [yield* Fixtures.uuid, yield* newWork(yield* Fixtures.uuid)]
      const other = { ...yield* newWork(lane, "send_outcome"), ref: work.ref }
      const works = [work, { ...work, lane: again }, other, next]
      yield* Fixtures.mustCommit(ours, ...works.map((item) => Changes.enqueue({ ...item, due_at: Fixtures.noon })))
      const claimed = (yield* claim()).map(({ kind, lane, ref }) => `${kind} ${lane} ${ref}`)
      const expected = [work, other, next].map(({ kind, lane, ref }) => `${kind} ${lane} ${ref}`)
      assert.deepStrictEqual(claimed.toSorted(), expected.toSorted())
    }))
}

const concurrency = (it: It) => {
  it.effect("gives each item to one of many concurrent claims", () =>
    Effect.gen(function*() {
      const { ours } = yield* start
      const works = yield* Effect.forEach(Array.from({ length: 20 }), () => Effect.flatMap(Fixtures.uuid, newWork))
      yield* Effect.forEach(works, (work) => enqueue(ours, work, Fixtures.noon))
      const claims = yield* Effect.all(Array.from({ length: 8 }, () => claim({ limit: 5 })), {
        concurrency: "unbounded"
      })
      const rest = yield* claim()
      const claimedRefs = refs([...claims.flat(), ...rest])
      assert.strictEqual(new Set(claimedRefs).size, claimedRefs.length)
      assert.deepStrictEqual(claimedRefs.toSorted(), works.map(({ ref }) => ref).toSorted())
    }))
}

export const portTests = (it: It, options: Options) => {
  claims(it)
  backlog(it)
  uniqueness(it)
  lanes(it, options)
  concurrency(it)
  fairness(it)
  settlements(it)
}
