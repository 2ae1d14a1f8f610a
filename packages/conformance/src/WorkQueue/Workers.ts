/** What several workers hold and carry out of one lane, when they claim ahead. */
import { assert } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import * as Places from "@messaging-crm/core/Places"
import { type ClaimedWork, lanes, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { Arbitrary, DateTime, Effect, Schema } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { after, type It, type Options } from "../Fixtures.ts"
import { enqueue, newWork, start } from "./Scene.ts"

interface Item {
  readonly claimed: ClaimedWork
}

const kind = "webhook_delivery"

/** A worker, whose steps are taken one at a time. */
const worker = () => {
  const places = Places.make<Item>()
  const running: Array<Item> = []
  const spare = new Map<ClaimedWork, boolean>()
  let answer: { readonly items: ReadonlyArray<Item>; readonly ahead: ReadonlyArray<ClaimedWork> } | null = null

  /** Claims. Its next step takes what was claimed. */
  const claim = Effect.fnUntraced(function*(now: DateTime.Utc) {
    if (answer !== null) {
      running.push(...places.add(answer.items, answer.ahead, 0))
      answer = null
      return
    }
    const ahead = places.ahead(0)
    const settled = Array.from(spare).filter(([, isSettled]) => isSettled)
    const found = yield* WorkQueue.use((queue) =>
      Effect.flatMap(Fixtures.uuid, (token) =>
        queue.claim({
          kind,
          limit: 64,
          now,
          lease_until: DateTime.add(now, { hours: 9 }),
          token,
          spare: [...spare.keys(), ...ahead]
        }))
    )
    for (const [claimed] of settled) spare.delete(claimed)
    answer = { items: found.map((claimed) => ({ claimed })), ahead }
  })

  const succeed = (at: number): ReadonlyArray<Item> => {
    const ended = running.splice(at % Math.max(1, running.length), 1)
    for (const { claimed } of ended) {
      spare.set(claimed, false)
      running.push(...places.succeed(claimed, 0).next)
    }
    return ended
  }

  const settle = (organization_id: OrganizationId) =>
    Effect.forEach(Array.from(spare).filter(([, isSettled]) => !isSettled), ([claimed]) => {
      spare.set(claimed, true)
      return Fixtures.write(organization_id, Changes.settle({ claimed, outcome: "finish_spare" }))
    })

  /** Fails an item for good. */
  const fail = Effect.fnUntraced(function*(at: number) {
    const queue = yield* WorkQueue
    const ended = running.splice(at % Math.max(1, running.length), 1)
    for (const { claimed } of ended) {
      assert.isTrue(yield* queue.finish(claimed))
      yield* Effect.forEach(places.fail(claimed), (waited) => Effect.map(queue.release(waited.claimed), assert.isTrue))
    }
    return ended
  })

  return { running, claim, succeed, settle, fail }
}

const step = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 * 10 * 8 - 1 })))

export const suite = (it: It, { runs }: Options) => {
  it.effect.prop(
    "carries out a lane's items once, no more at a time than its cap, by several workers that claim ahead",
    {
      steps: Arbitrary.array(step, { minLength: 40, maxLength: 80 })
    },
    ({ steps }) =>
      Effect.gen(function*() {
        const { lane, ours } = yield* start
        const works = yield* Effect.forEach(Array.from({ length: 60 }), () => newWork(lane, kind))
        yield* Effect.forEach(works, (work) => enqueue(ours, work, Fixtures.noon))
        const workers = [worker(), worker(), worker()] as const
        const done: Array<string> = []
        let now = 0
        const take = Effect.fnUntraced(function*(taken: number) {
          const { claim, fail, settle, succeed } = workers[taken % 3 as 0 | 1 | 2]
          const [what, which] = [Math.floor(taken / 3) % 10, Math.floor(taken / 30)]
          const ended = what < 4
            ? yield* Effect.as(claim(after(now += 300)), [])
            : what < 8
            ? succeed(which)
            : what === 8
            ? yield* Effect.as(settle(ours), [])
            : yield* fail(which)
          done.push(...ended.map(({ claimed }) => claimed.ref))
          const running = workers.flatMap((each) => each.running.map(({ claimed }) => claimed.ref))
          assert.isAtMost(running.length, lanes[kind].cap)
          assert.lengthOf(new Set([...running, ...done]), running.length + done.length)
        })
        yield* Effect.forEach(steps, take)
        // Each worker in turn: claims, takes what it got, lets eight items end, and settles them.
        const round = [0, 3, ...Array.from({ length: 8 }, () => 12), 24]
        for (let number = 0; done.length < works.length && number < 200; number++) {
          yield* Effect.forEach(round, (what) => take(what + number % 3))
        }
        assert.deepStrictEqual(done.toSorted(), works.map(({ ref }) => ref).toSorted())
      }),
    { arbitrary: { runs } }
  )
}
