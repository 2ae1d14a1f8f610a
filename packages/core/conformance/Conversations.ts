/** The promises of `ConversationStore`, as tests. */
import { assert } from "@effect/vitest"
import {
  close,
  type ConversationFilters,
  type ConversationRow,
  ConversationStore,
  reopen
} from "@messaging-crm/core/Conversations"
import { ConversationId } from "@messaging-crm/core/Ids"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { DateTime, Effect, Option } from "effect"
import { hardText } from "./Arbitraries.ts"
import * as Fixtures from "./Fixtures.ts"
import { after, type It, type Options } from "./Fixtures.ts"

const nothing = { preview: "", last_inbound_at: null }

export const suite = (it: It, { runs }: Options) => {
  it.effect("opens a conversation of a channel and an identity, once, and leaves an open one as it is", () =>
    Effect.gen(function*() {
      const store = yield* ConversationStore
      const ours = yield* Fixtures.organization
      const { channel, contact_id, conversation_id, identity_id } = yield* Fixtures.thread(ours)
      const parts = { channel_id: channel.id, contact_id, identity_id }
      const before = Option.getOrThrow(yield* store.find(ours, conversation_id))
      assert.strictEqual(before.status, "open")
      assert.strictEqual(before.channel_type, channel.type)
      assert.deepStrictEqual(before.opened_at, Fixtures.noon)
      const other = ConversationId.make(yield* Fixtures.uuid)
      assert.strictEqual(yield* store.open(ours, other, parts, after(5)), conversation_id)
      assert.deepStrictEqual(yield* store.find(ours, conversation_id), Option.some(before))
      assert.deepStrictEqual(yield* store.find(ours, other), Option.none())
    }))

  it.effect("gives any number of concurrent calls one conversation", () =>
    Effect.gen(function*() {
      const store = yield* ConversationStore
      const ours = yield* Fixtures.organization
      const on = yield* Fixtures.channel(ours)
      const { contact_id, identity_id } = yield* Fixtures.thread(ours)
      const parts = { channel_id: on.id, contact_id, identity_id }
      const open = Effect.flatMap(
        Fixtures.uuid,
        (id) => store.open(ours, ConversationId.make(id), parts, Fixtures.noon)
      )
      const opened = yield* Effect.all(Array.from({ length: 12 }, () => open), { concurrency: "unbounded" })
      assert.strictEqual(new Set(opened).size, 1)
    }))

  it.effect("lets one unit of work at a time pass `lock` and `open`", () =>
    Effect.gen(function*() {
      const store = yield* ConversationStore
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const { channel, contact_id, conversation_id, identity_id } = yield* Fixtures.thread(ours)
      const parts = { channel_id: channel.id, contact_id, identity_id }
      const advance = Effect.gen(function*() {
        const found = Option.getOrThrow(yield* store.find(ours, conversation_id))
        yield* Effect.yieldNow
        const at = DateTime.add(found.last_activity_at, { milliseconds: 1 })
        yield* store.recordActivity(ours, conversation_id, { ...nothing, at })
      })
      const locking = transact(Effect.andThen(store.lock(ours, conversation_id), advance))
      const opening = transact(Effect.andThen(store.open(ours, conversation_id, parts, Fixtures.noon), advance))
      yield* Effect.all(Array.from({ length: 12 }, (_, index) => index % 2 === 0 ? locking : opening), {
        concurrency: "unbounded"
      })
      const found = Option.getOrThrow(yield* store.find(ours, conversation_id))
      assert.deepStrictEqual(found.last_activity_at, after(12))
    }))

  it.effect("returns from `lock` what `find` returns", () =>
    Effect.gen(function*() {
      const store = yield* ConversationStore
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const { conversation_id } = yield* Fixtures.thread(ours)
      const unknown = ConversationId.make(yield* Fixtures.uuid)
      assert.deepStrictEqual(
        yield* transact(store.lock(ours, conversation_id)),
        yield* store.find(ours, conversation_id)
      )
      assert.deepStrictEqual(yield* transact(store.lock(ours, unknown)), Option.none())
    }))

  it.effect.prop("records the last activity, and moves neither time backwards", {
    preview: hardText({ min: 1, max: 140 })
  }, ({ preview }) =>
    Effect.gen(function*() {
      const store = yield* ConversationStore
      const ours = yield* Fixtures.organization
      const { contact_id, conversation_id } = yield* Fixtures.thread(ours)
      const newer = { at: after(5), preview, last_inbound_at: after(4) }
      assert.strictEqual(yield* store.recordActivity(ours, conversation_id, newer), contact_id)
      yield* store.recordActivity(ours, conversation_id, { at: after(3), preview: "old", last_inbound_at: after(2) })
      yield* store.recordActivity(ours, conversation_id, { at: after(3), preview: "old", last_inbound_at: null })
      const found = Option.getOrThrow(yield* store.find(ours, conversation_id))
      assert.deepStrictEqual(found.last_activity_at, after(5))
      assert.strictEqual(found.last_activity_preview, preview)
      assert.deepStrictEqual(found.last_inbound_at, after(4))
    }), { arbitrary: { runs } })

  it.effect("lists what passes every filter, latest activity first, and walks without gap or repeat", () =>
    Effect.gen(function*() {
      const store = yield* ConversationStore
      const ours = yield* Fixtures.organization
      const { id: assigned_user_id } = yield* Fixtures.member(ours)
      const threads = yield* Effect.forEach([1, 3, 2, 3, 0], (millis) =>
        Effect.gen(function*() {
          const { conversation_id } = yield* Fixtures.thread(ours)
          yield* store.recordActivity(ours, conversation_id, { ...nothing, at: after(millis) })
          return Option.getOrThrow(yield* store.find(ours, conversation_id))
        }))
      const key = (row: ConversationRow) => `${row.last_activity_at.epochMilliseconds} ${row.id}`
      const walk = Effect.fnUntraced(function*(filters: ConversationFilters) {
        const walked: Array<ConversationRow> = []
        for (;;) {
          const last = walked.at(-1)
          const position = last === undefined ? null : { at: last.last_activity_at, id: last.id }
          const page = yield* store.list(ours, filters, { after: position, size: 2 })
          if (page.length === 0) return walked
          walked.push(...page)
        }
      })
      const all = yield* walk({ status: null, assigned_user_id: null })
      assert.deepStrictEqual(all, threads.toSorted((a, b) => key(a) < key(b) ? 1 : -1))
      const [first, second] = threads
      if (first === undefined || second === undefined) return
      yield* store.update(ours, close(first, "resolved", after(9)))
      yield* store.update(ours, { ...close(second, null, after(9)), assigned_user_id })
      const ids = (rows: ReadonlyArray<ConversationRow>) => rows.map(({ id }) => id)
      assert.deepStrictEqual(ids(yield* walk({ status: "closed", assigned_user_id: null })), [second.id, first.id])
      assert.deepStrictEqual(ids(yield* walk({ status: "closed", assigned_user_id })), [second.id])
      assert.deepStrictEqual(ids(yield* walk({ status: "open", assigned_user_id })), [])
      assert.lengthOf(yield* walk({ status: "open", assigned_user_id: null }), 3)
    }))

  it.effect("writes the status with its times and category, and the assignment", () =>
    Effect.gen(function*() {
      const store = yield* ConversationStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const { id: assigned_user_id } = yield* Fixtures.member(ours)
      const { channel, contact_id, conversation_id, identity_id } = yield* Fixtures.thread(ours)
      const before = Option.getOrThrow(yield* store.find(ours, conversation_id))
      const closed = { ...close(before, "spam", after(7)), assigned_user_id }
      yield* store.update(theirs, closed)
      assert.deepStrictEqual(yield* store.find(ours, conversation_id), Option.some(before))
      yield* store.update(ours, closed)
      assert.deepStrictEqual(yield* store.find(ours, conversation_id), Option.some(closed))
      const parts = { channel_id: channel.id, contact_id, identity_id }
      yield* store.open(ours, ConversationId.make(yield* Fixtures.uuid), parts, after(9))
      assert.deepStrictEqual(yield* store.find(ours, conversation_id), Option.some(reopen(closed, after(9))))
    }))

  it.effect("keeps organizations apart", () =>
    Effect.gen(function*() {
      const store = yield* ConversationStore
      const { transact } = yield* UnitOfWork
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const { conversation_id } = yield* Fixtures.thread(ours)
      const before = yield* store.find(ours, conversation_id)
      assert.deepStrictEqual(yield* store.find(theirs, conversation_id), Option.none())
      const any = { status: null, assigned_user_id: null }
      assert.deepStrictEqual(yield* store.list(theirs, any, { after: null, size: 9 }), [])
      assert.deepStrictEqual(yield* transact(store.lock(theirs, conversation_id)), Option.none())
      yield* Effect.exit(store.recordActivity(theirs, conversation_id, { ...nothing, at: after(9) }))
      assert.deepStrictEqual(yield* store.find(ours, conversation_id), before)
    }))
}
