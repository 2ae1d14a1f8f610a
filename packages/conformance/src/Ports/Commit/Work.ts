/** Commits that enqueue and settle work, and keep idempotency records. */
import { assert } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { ContactRows } from "@messaging-crm/core/Contacts"
import { OrganizationRows } from "@messaging-crm/core/Organizations"
import { TagRows } from "@messaging-crm/core/Tags"
import * as Traces from "@messaging-crm/core/Traces"
import { type Work, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { Effect, Option } from "effect"
import { moment } from "../../Arbitraries.ts"
import * as Fixtures from "../../Fixtures.ts"
import { afterNoon, commitOutcome, type It, type Options } from "../../Fixtures.ts"
import { claim, claimed, contactOf, findRecord } from "./CommitScene.ts"

const enqueuedItems = (it: It) => {
  it.effect("claims a fifo lane's items in the order of their insertion, by one commit or by several", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const lane = yield* Fixtures.uuid
      const items = yield* Effect.replicateEffect(Fixtures.newWork(lane), 7)
      yield* Fixtures.mustCommit(ours, ...items.slice(0, 3).map(Changes.enqueue))
      // A later item may be due earlier. It still queues behind the first.
      yield* Fixtures.mustCommit(
        ours,
        ...items.slice(3, 6).map((work) => Changes.enqueue({ ...work, due_at: afterNoon(-9) }))
      )
      yield* Fixtures.mustCommit(ours, ...items.slice(6).map(Changes.enqueue))
      const claimedRefs: Array<string> = []
      for (const _ of items) {
        const claimedItems = yield* claim(ours)
        assert.lengthOf(claimedItems, 1)
        claimedRefs.push(...claimedItems.map(({ ref }) => ref))
        yield* Effect.forEach(claimedItems, Fixtures.finishWork)
      }
      assert.deepStrictEqual(claimedRefs, items.map(({ ref }) => ref))
    }))

  it.effect("ignores a second item of a kind for one ref", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const work = yield* Fixtures.newWork(yield* Fixtures.uuid)
      const tag = yield* Fixtures.newTag("a")
      yield* Fixtures.mustCommit(ours, Changes.enqueue({ ...work, due_at: afterNoon(5) }), Changes.enqueue(work))
      assert.strictEqual(yield* commitOutcome(ours, Changes.enqueue(work), TagRows.insert(tag)), "committed")
      assert.deepStrictEqual(yield* claim(ours, afterNoon(4)), [])
      assert.lengthOf(yield* claim(ours, afterNoon(5)), 1)
      assert.deepStrictEqual(yield* Fixtures.tagNames(ours), ["a"])
    }))
}

const expeditedItems = (it: It) => {
  it.effect("expedites a waiting item, and conflicts if none of the organization waits for the ref", () =>
    Effect.gen(function*() {
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const work = yield* Fixtures.newWork(yield* Fixtures.uuid)
      const [first, second, absent] = [work, { ...work, ref: yield* Fixtures.uuid }, {
        ...work,
        ref: yield* Fixtures.uuid
      }]
        .map((item) => ({ ...item, kind: "webhook_delivery" as const }))
      if (first === undefined || second === undefined || absent === undefined) return assert.fail("No work was made.")
      const tag = yield* Fixtures.newTag("a")
      const expedite = (item: Work) => Changes.expedite({ ...item, due_at: afterNoon(1) })
      for (const item of [first, second]) {
        yield* Fixtures.mustCommit(ours, Changes.enqueue({ ...item, due_at: afterNoon(60_000) }))
      }
      // The lane is idle until its items are due.
      for (const at of [2, 3]) assert.deepStrictEqual(yield* claim(ours, afterNoon(at)), [])
      assert.strictEqual(yield* commitOutcome(theirs, expedite(first)), "Conflict")
      assert.strictEqual(yield* commitOutcome(ours, expedite(absent), TagRows.insert(tag)), "Conflict")
      yield* Fixtures.mustCommit(ours, expedite(first))
      const claimedItems = yield* claim(ours, afterNoon(4))
      assert.deepStrictEqual(claimedItems.map(({ attempt, ref }) => [ref, attempt]), [[first.ref, 1]])
      assert.strictEqual(yield* commitOutcome(ours, expedite(first)), "Conflict")
      yield* Effect.forEach(claimedItems, Fixtures.finishWork)
      assert.strictEqual(yield* commitOutcome(ours, expedite(first), TagRows.insert(tag)), "Conflict")
      assert.deepStrictEqual(yield* Fixtures.tagNames(ours), [])
      assert.lengthOf(yield* claim(ours, afterNoon(60_000)), 1)
    }))
}

const traces = (it: It) => {
  it.effect("keeps the trace that it runs in on the work of events and of their deliveries", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      yield* Fixtures.webhook(ours)
      const event = yield* Fixtures.newEvent()
      const trace = yield* Effect.gen(function*() {
        yield* Fixtures.mustCommit(ours, Changes.raise(event))
        yield* Fixtures.mustCommit(ours, Changes.expand(event.id))
        return yield* Traces.current
      }).pipe(Effect.withSpan("Anything"))
      assert.match(trace ?? "", /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
      assert.deepStrictEqual((yield* claim(ours)).map((claimed) => claimed.trace), [trace, trace])
    }))
}

const throttledLanes = (it: It) => {
  it.effect("throttles a lane to which it adds the first items", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const [kind, lane] = ["webhook_delivery" as const, yield* Fixtures.uuid]
      const items = yield* Effect.replicateEffect(Fixtures.newWork(lane, kind), 4)
      yield* Fixtures.mustCommit(
        ours,
        ...items.map(Changes.enqueue),
        Changes.throttle({ kind, lane, until: afterNoon(5), cap: 1 })
      )
      assert.lengthOf(yield* claim(ours, afterNoon(4)), 0)
      assert.lengthOf(yield* claim(ours, afterNoon(5)), 1)
    }))
}

const settled = (it: It) => {
  it.effect("settles the work that it comes from", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const [held, finished] = [yield* claimed(ours), yield* claimed(ours)]
      const [postponed, ended] = [yield* claimed(ours), yield* claimed(ours)]
      for (
        const settlement of [
          { claimed: held, outcome: "keep" },
          { claimed: finished, outcome: "finish" },
          { claimed: postponed, outcome: "postpone", due_at: afterNoon(50) },
          { claimed: ended, outcome: "finish_if_leased" }
        ] as const
      ) {
        const tag = yield* Fixtures.newTag(settlement.outcome)
        assert.strictEqual(yield* commitOutcome(ours, Changes.settle(settlement), TagRows.insert(tag)), "committed")
      }
      assert.deepStrictEqual(yield* Fixtures.tagNames(ours), ["finish", "finish_if_leased", "keep", "postpone"])
      assert.deepStrictEqual(yield* claim(ours, afterNoon(49)), [])
      assert.deepStrictEqual((yield* claim(ours, afterNoon(50))).map(({ ref }) => ref), [postponed.ref])
      assert.isTrue(yield* Fixtures.finishWork(held))
      assert.isFalse(yield* Fixtures.finishWork(finished))
      assert.isFalse(yield* Fixtures.finishWork(ended))
    }))
}

const rejectedSettlements = (it: It) => {
  it.effect("applies nothing if the settled claim has lost its lease, unless the settlement allows that", () =>
    Effect.gen(function*() {
      const queue = yield* WorkQueue
      const ours = yield* Fixtures.organization
      const stale = yield* claimed(ours)
      yield* queue.sweep(afterNoon(60_009))
      const [held] = yield* claim(ours, afterNoon(60_009))
      assert.strictEqual(held?.ref, stale.ref)
      const tag = yield* Fixtures.newTag("a")
      for (
        const settlement of [
          { claimed: stale, outcome: "keep" },
          { claimed: stale, outcome: "finish" },
          { claimed: stale, outcome: "postpone", due_at: afterNoon(0) }
        ] as const
      ) {
        assert.strictEqual(yield* commitOutcome(ours, Changes.settle(settlement), TagRows.insert(tag)), "LeaseLost")
      }
      assert.deepStrictEqual(yield* Fixtures.tagNames(ours), [])
      const recorded = Changes.settle({ claimed: stale, outcome: "finish_if_leased" })
      assert.strictEqual(yield* commitOutcome(ours, recorded, TagRows.insert(tag)), "committed")
      assert.deepStrictEqual(yield* Fixtures.tagNames(ours), ["a"])
      assert.deepStrictEqual(yield* claim(ours, afterNoon(60_009)), [])
      assert.isTrue(yield* Fixtures.finishWork(held ?? assert.fail("The item was not claimed twice.")))
    }))

  it.effect("keeps the item of a claim whose commit conflicts", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const item = yield* claimed(ours)
      const next = yield* Fixtures.newWork(item.lane)
      const stale = OrganizationRows.expect({ id: ours, version: 9 })
      const settled = Changes.settle({ claimed: item, outcome: "finish" })
      assert.strictEqual(yield* commitOutcome(ours, settled, Changes.enqueue(next), stale), "Conflict")
      assert.isTrue(yield* Fixtures.finishWork(item))
      assert.deepStrictEqual(yield* claim(ours), [])
    }))
}

export const workItems = (it: It) => {
  enqueuedItems(it)
  expeditedItems(it)
  traces(it)
  throttledLanes(it)
  settled(it)
  rejectedSettlements(it)
}

export const records = (it: It, { runs }: Options) => {
  it.effect.prop(
    "keeps the record of a response",
    { created_at: moment },
    (fields) =>
      Effect.gen(function*() {
        const ours = yield* Fixtures.organization
        const response = { ...Fixtures.idempotencyRecord, ...fields, sealed: true }
        yield* Fixtures.mustCommit(ours, { response })
        const { created_at: _created_at, key: _key, ...stored } = response
        assert.deepStrictEqual(Option.getOrThrow(yield* findRecord(ours)), stored)
      }),
    { arbitrary: { runs } }
  )

  it.effect("keeps one record of a key, and applies nothing with a second, before any conflict", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { id } = yield* Fixtures.contact(ours)
      const results = yield* Effect.all(
        Array.from({ length: 8 }, (_, index) =>
          commitOutcome(
            ours,
            ContactRows.update({ id, version: 1 }, { city: `${index}` }),
            { response: { ...Fixtures.idempotencyRecord, status: 200 + index } }
          )),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(results.toSorted(), [...Array<string>(7).fill("KeyUsed"), "committed"])
      const { status } = Option.getOrThrow(yield* findRecord(ours))
      assert.deepInclude(yield* contactOf(ours, { contact_id: id }), { city: `${(status ?? 0) - 200}`, version: 2 })
      const stale = ContactRows.update({ id, version: 1 }, { city: "x" })
      const taken = TagRows.insert(yield* Fixtures.newTag("a"))
      yield* Fixtures.mustCommit(ours, taken)
      assert.strictEqual(yield* commitOutcome(ours, stale, { response: Fixtures.idempotencyRecord }), "KeyUsed")
      assert.strictEqual(yield* commitOutcome(ours, taken, { response: Fixtures.idempotencyRecord }), "KeyUsed")
      const other = { ...Fixtures.idempotencyRecord, key: "another-key" }
      assert.strictEqual(yield* commitOutcome(ours, stale, { response: other }), "Conflict")
      assert.strictEqual(yield* commitOutcome(ours, { response: other }), "committed")
    }))
}
