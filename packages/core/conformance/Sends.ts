/** The promises of `SendStore`, as tests. */
import { assert } from "@effect/vitest"
import { SendId } from "@messaging-crm/core/Ids"
import { MessageStore } from "@messaging-crm/core/Messages"
import { accept, begin, fail, type SendRow, SendStore } from "@messaging-crm/core/Sends"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { DateTime, Effect, Option } from "effect"
import { hardText } from "./Arbitraries.ts"
import * as Fixtures from "./Fixtures.ts"
import { after, type It, type Options } from "./Fixtures.ts"

export const suite = (it: It, { runs }: Options) => {
  it.effect.prop("returns a send as it was inserted, with what is to be sent", {
    text: hardText({ min: 1, max: 4096 })
  }, ({ text }) =>
    Effect.gen(function*() {
      const store = yield* SendStore
      const ours = yield* Fixtures.organization
      const { id: member_id } = yield* Fixtures.member(ours)
      const template = {
        id: text,
        name: "order_ready",
        language: "en",
        components: [{ type: "body" as const, parameters: [{ type: "text" as const, text, parameter_name: "a" }] }]
      }
      const row: SendRow = {
        ...yield* Fixtures.send(yield* Fixtures.thread(ours)),
        member_id,
        content: { type: "template", template, text }
      }
      yield* store.insert(ours, row)
      assert.deepStrictEqual(yield* store.find(ours, row.send.id), Option.some(row))
    }), { arbitrary: { runs } })

  it.effect("returns a send as it was last updated", () =>
    Effect.gen(function*() {
      const store = yield* SendStore
      const ours = yield* Fixtures.organization
      const on = yield* Fixtures.thread(ours)
      const [sent, failed] = [yield* Fixtures.send(on), yield* Fixtures.send(on)]
      const message = yield* Fixtures.message(on.conversation_id)
      yield* MessageStore.use((messages) => messages.insert(ours, on.channel.id, message))
      const changed: ReadonlyArray<SendRow> = [
        { ...sent, send: accept(begin(sent.send), message.id), first_attempt_at: after(1) },
        { ...failed, send: fail(failed.send, "outcome_unknown") }
      ]
      yield* Effect.forEach([sent, failed], (row) => store.insert(ours, row))
      yield* Effect.forEach(changed, (row) => store.update(ours, row))
      const found = yield* Effect.forEach(changed, ({ send }) => store.find(ours, send.id))
      assert.deepStrictEqual(found, changed.map(Option.some))
    }))

  it.effect("lets one unit of work at a time pass `lock`", () =>
    Effect.gen(function*() {
      const store = yield* SendStore
      const { transact } = yield* UnitOfWork
      const ours = yield* Fixtures.organization
      const row = { ...yield* Fixtures.send(yield* Fixtures.thread(ours)), first_attempt_at: Fixtures.noon }
      yield* store.insert(ours, row)
      const turn = Effect.gen(function*() {
        const found = Option.getOrThrow(yield* store.lock(ours, row.send.id))
        yield* Effect.yieldNow
        const first_attempt_at = DateTime.add(found.first_attempt_at ?? Fixtures.noon, { milliseconds: 1 })
        yield* store.update(ours, { ...found, first_attempt_at })
      })
      yield* Effect.all(Array.from({ length: 10 }, () => transact(turn)), { concurrency: "unbounded" })
      const found = Option.getOrThrow(yield* store.find(ours, row.send.id))
      assert.deepStrictEqual(found.first_attempt_at, after(10))
    }))

  it.effect("keeps organizations apart", () =>
    Effect.gen(function*() {
      const store = yield* SendStore
      const { transact } = yield* UnitOfWork
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const row = yield* Fixtures.send(yield* Fixtures.thread(ours))
      yield* store.insert(ours, row)
      assert.deepStrictEqual(yield* store.find(theirs, row.send.id), Option.none())
      assert.deepStrictEqual(yield* transact(store.lock(theirs, row.send.id)), Option.none())
      yield* store.update(theirs, { ...row, send: begin(row.send) })
      assert.deepStrictEqual(yield* store.find(ours, row.send.id), Option.some(row))
      assert.deepStrictEqual(yield* store.find(ours, SendId.make(yield* Fixtures.uuid)), Option.none())
    }))
}
