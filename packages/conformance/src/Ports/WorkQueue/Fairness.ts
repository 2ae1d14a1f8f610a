/** Tests of the order in which claims serve organizations and lanes. */
import { assert } from "@effect/vitest"
import { type DateTime, Effect } from "effect"
import * as Fixtures from "../../Fixtures.ts"
import { afterNoon, type It } from "../../Fixtures.ts"
import { claim, enqueue, newWork, refs, start, throttle } from "./QueueScene.ts"

const caps = (it: It) => {
  it.effect("claims of an organization half of what is free with what it holds, and returns the cap of each lane", () =>
    Effect.gen(function*() {
      const { lane, ours, queue } = yield* start
      const theirs = yield* Fixtures.organization
      const kind = "webhook_delivery" as const
      const lanes = [lane, yield* Fixtures.uuid, yield* Fixtures.uuid]
      yield* Effect.forEach(lanes, (id) =>
        Effect.replicateEffect(
          Effect.flatMap(newWork(id, kind), (work) => enqueue(ours, work, Fixtures.noon)),
          8
        ))
      const other = yield* newWork(yield* Fixtures.uuid, kind)
      yield* enqueue(theirs, other, afterNoon(1))
      const claimWith = Effect.fnUntraced(function*(leased: number, free: number, limit = 100) {
        const options = { kind, limit, now: afterNoon(1), lease_until: afterNoon(60), token: yield* Fixtures.uuid }
        return yield* queue.claim({ ...options, leased: new Map([[ours, leased]]), free })
      })
      assert.deepStrictEqual(refs(yield* claimWith(5, 5, 1)), [other.ref])
      assert.deepStrictEqual(yield* claimWith(6, 5), [])
      const first = yield* claimWith(2, 17)
      assert.lengthOf(first, 6)
      assert.deepStrictEqual(lanes.map((id) => first.filter((item) => item.lane === id).length), [2, 2, 2])
      assert.deepStrictEqual(Array.from(new Set(first.map(({ lane_cap }) => lane_cap))), [16])
      yield* throttle(ours, { kind, lane, until: null, cap: 3 })
      const second = yield* claimWith(0, 1000)
      assert.deepStrictEqual(second.filter((item) => item.lane === lane).map(({ lane_cap }) => lane_cap), [3])
      assert.lengthOf(second, 1 + 6 + 6)
    }))
}

const organizations = (it: It) => {
  it.effect("serves the organization with the fewest leased items first, however many lanes others have", () =>
    Effect.gen(function*() {
      const { ours, queue } = yield* start
      const [theirs, third] = [yield* Fixtures.organization, yield* Fixtures.organization]
      // More lanes than a store may read for one claim, all of which have waited longer than those of the others.
      yield* Effect.replicateEffect(
        Effect.gen(function*() {
          yield* enqueue(ours, yield* newWork(yield* Fixtures.uuid), Fixtures.noon)
        }),
        60
      )
      for (const [organization_id, lanes] of [[theirs, 4], [third, 2]] as const) {
        for (let count = 0; count < lanes; count++) {
          yield* enqueue(organization_id, yield* newWork(yield* Fixtures.uuid), afterNoon(5))
        }
      }
      const claimWith = Effect.fnUntraced(function*(leased: ReadonlyMap<typeof ours, number>) {
        const options = { kind: "send" as const, limit: 6, now: afterNoon(5), lease_until: afterNoon(60) }
        const claimed = yield* queue.claim({ ...options, token: yield* Fixtures.uuid, leased, free: 50 })
        yield* Effect.forEach(claimed, Fixtures.releaseWork)
        return [ours, theirs, third].map((id) => claimed.filter((item) => item.organization_id === id).length)
      })
      assert.deepStrictEqual(yield* claimWith(new Map()), [2, 2, 2])
      assert.deepStrictEqual(yield* claimWith(new Map([[ours, 9], [third, 1]])), [0, 4, 2])
      assert.deepStrictEqual(yield* claimWith(new Map([[ours, 2], [theirs, 49]])), [4, 0, 2])
    }))
}

const lanes = (it: It) => {
  it.effect("serves the lane that has waited longest, and none twice while another waits", () =>
    Effect.gen(function*() {
      const { ours } = yield* start
      const lanes = yield* Effect.forEach([0, 1, 2, 3], () => Fixtures.uuid)
      const [long = "", ...others] = lanes
      for (let index = 0; index < 20; index++) {
        yield* enqueue(ours, yield* newWork(long, "webhook_delivery"), afterNoon(index % 3))
      }
      for (const [index, lane] of others.entries()) {
        yield* enqueue(ours, yield* newWork(lane, "webhook_delivery"), afterNoon(10 + index))
      }
      const served: Array<ReadonlyArray<number>> = []
      for (const at of [20, 20, 21, 22]) {
        const claimed = yield* claim({ at: afterNoon(at), limit: 2 })
        served.push(claimed.map(({ lane }) => lanes.indexOf(lane)).toSorted())
        yield* Effect.forEach(claimed, Fixtures.finishWork)
      }
      assert.deepStrictEqual(served, [[0, 1], [2, 3], [0, 0], [0, 0]])
    }))

  it.effect("serves a lane without claimed items while many lanes hold their share and have more due items", () =>
    Effect.gen(function*() {
      const { ours, queue } = yield* start
      const kind = "webhook_delivery" as const
      const lanes = yield* Effect.replicateEffect(Fixtures.uuid, 20)
      yield* Effect.forEach(
        [...lanes, ...lanes, ...lanes],
        (lane) => Effect.flatMap(newWork(lane, kind), (work) => enqueue(ours, work, Fixtures.noon))
      )
      let held = 0
      const claimNext = Effect.fnUntraced(function*(now: DateTime.Utc) {
        const options = { kind, limit: 4, now, lease_until: afterNoon(60), token: yield* Fixtures.uuid }
        const claimed = yield* queue.claim({ ...options, leased: new Map([[ours, held]]), free: 64 - held })
        held += claimed.length
        return claimed
      })
      while ((yield* claimNext(afterNoon(1))).length > 0);
      assert.strictEqual(held, 31)
      const late = yield* newWork(yield* Fixtures.uuid, kind)
      yield* enqueue(ours, late, afterNoon(2))
      assert.deepStrictEqual(refs(yield* claimNext(afterNoon(2))), [late.ref])
    }))

  it.effect("claims from several lanes, up to the limit", () =>
    Effect.gen(function*() {
      const { ours } = yield* start
      const works = yield* Effect.forEach([1, 2, 3], () => Effect.flatMap(Fixtures.uuid, newWork))
      yield* Effect.forEach(works, (work) => enqueue(ours, work, Fixtures.noon))
      const [first, second] = [yield* claim({ limit: 2 }), yield* claim({ limit: 2 })]
      assert.lengthOf(first, 2)
      assert.deepStrictEqual(refs([...first, ...second]).toSorted(), works.map(({ ref }) => ref).toSorted())
    }))
}

export const fairness = (it: It) => {
  caps(it)
  organizations(it)
  lanes(it)
}
