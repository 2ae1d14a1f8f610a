/** Tests of the guarantees of `SendStore`. */
import { assert } from "@effect/vitest"
import { ChannelHoldRows } from "@messaging-crm/core/ChannelHolds"
import { type OrganizationId, SendId } from "@messaging-crm/core/Ids"
import type { Position } from "@messaging-crm/core/Page"
import { everySend, type SendColumns, type SendFilters, SendRows, SendStore, toSend } from "@messaging-crm/core/Sends"
import { Effect, Option } from "effect"
import { hardText } from "../Arbitraries.ts"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It, noon, type Options } from "../Fixtures.ts"

const inserts = (it: It, { runs }: Options) => {
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
      const row: SendColumns = {
        ...yield* Fixtures.newSend(yield* Fixtures.thread(ours)),
        member_id,
        content: { type: "template", template, text }
      }
      yield* Fixtures.mustCommit(ours, SendRows.insert(row))
      assert.deepStrictEqual(yield* store.find(ours, row.id), Option.some({ ...row, version: 1 }))
    }), { arbitrary: { runs } })
}

const updates = (it: It) => {
  it.effect("returns a send as it was last updated", () =>
    Effect.gen(function*() {
      const store = yield* SendStore
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      const [sent, failed] = [yield* Fixtures.newSend(thread), yield* Fixtures.newSend(thread)]
      const message = yield* Fixtures.newMessage(thread.conversation_id)
      const { id: message_id } = message
      yield* Fixtures.mustCommit(
        ours,
        SendRows.insert(sent),
        SendRows.insert(failed),
        Fixtures.insertMessage(thread, message)
      )
      const begun = { status: "sending", first_attempt_at: afterNoon(1), may_be_sent: true } as const
      const ended = { status: "failed", failure_reason: "outcome_unknown" } as const
      yield* Fixtures.mustCommit(
        ours,
        SendRows.update({ ...sent, version: 1 }, begun),
        SendRows.update({ ...failed, version: 1 }, ended)
      )
      assert.deepStrictEqual(yield* store.find(ours, sent.id), Option.some({ ...sent, ...begun, version: 2 }))
      assert.deepStrictEqual(yield* store.find(ours, failed.id), Option.some({ ...failed, ...ended, version: 2 }))
      const accepted = { status: "sent", message_id } as const
      yield* Fixtures.mustCommit(ours, SendRows.update({ ...sent, version: 2 }, accepted))
      assert.deepStrictEqual(
        yield* store.find(ours, sent.id),
        Option.some({ ...sent, ...begun, ...accepted, version: 3 })
      )
    }))
}

const loads = (it: It) => {
  it.effect("loads a send with its channel, the channel's hold, its person and its member's name", () =>
    Effect.gen(function*() {
      const store = yield* SendStore
      const ours = yield* Fixtures.organization
      const member = yield* Fixtures.member(ours)
      const thread = yield* Fixtures.thread(ours)
      const [first, second] = [yield* Fixtures.newSend(thread), {
        ...yield* Fixtures.newSend(thread),
        member_id: member.id
      }]
      yield* Fixtures.mustCommit(ours, SendRows.insert(first), SendRows.insert(second))
      const who = { channel: thread.channel, contact_id: thread.contact_id, identity_id: thread.identity_id }
      assert.deepStrictEqual(
        yield* store.load(ours, first.id),
        Option.some({ ...who, send: { ...first, version: 1 }, hold: null, member_name: null })
      )
      const held = {
        channel_id: thread.channel.id,
        held_at: noon,
        reason: "rate_limited",
        until: afterNoon(1),
        level: 2
      } as const
      yield* Fixtures.mustCommit(ours, ChannelHoldRows.insert(held))
      // Concurrent loads each get their own result, even for a send of another organization, or one that does not exist.
      const theirs = yield* Fixtures.organization
      const absent = SendId.make(yield* Fixtures.uuid)
      const hold = { ...held, version: 1 }
      assert.deepStrictEqual(
        yield* Effect.all([
          store.load(theirs, first.id),
          store.load(ours, second.id),
          store.load(ours, absent),
          store.load(ours, first.id)
        ], { concurrency: "unbounded" }),
        [
          Option.none(),
          Option.some({ ...who, send: { ...second, version: 1 }, hold, member_name: member.name }),
          Option.none(),
          Option.some({ ...who, send: { ...first, version: 1 }, hold, member_name: null })
        ]
      )
    }))
}

/** Returns the IDs of all sends that pass the filters, from pages of two. */
const idsOf = Effect.fnUntraced(function*(organization_id: OrganizationId, filters: Partial<SendFilters> = {}) {
  const store = yield* SendStore
  const sends = yield* Fixtures.readAllPages(
    2,
    (after: Position | null) => store.list(organization_id, { ...everySend, ...filters }, { after, size: 2 }),
    ({ created_at, id }) => ({ at: created_at, id })
  )
  return sends.map(({ id }) => id)
})

const lists = (it: It) => {
  it.effect("lists what passes every filter, newest first, in pages without gaps or duplicates", () =>
    Effect.gen(function*() {
      const store = yield* SendStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [thread, other] = [yield* Fixtures.thread(ours), yield* Fixtures.thread(ours)]
      const made = yield* Effect.forEach(
        [1, 3, 2, 3, 0],
        (millis, index) =>
          Effect.map(
            Fixtures.newSend(index === 0 ? other : thread),
            (row) => ({ ...row, created_at: afterNoon(millis) })
          )
      )
      yield* Fixtures.mustCommit(ours, ...made.map((row) => SendRows.insert(row)))
      const [first, second, third] = made
      if (first === undefined || second === undefined || third === undefined) {
        return assert.fail("Fewer than three sends were made.")
      }
      const failed = { status: "failed", failure_reason: "outcome_unknown" } as const
      const begun = { status: "sending", first_attempt_at: afterNoon(9) } as const
      yield* Fixtures.mustCommit(
        ours,
        SendRows.update({ ...second, version: 1 }, failed),
        SendRows.update({ ...third, version: 1 }, begun)
      )
      const ids = Fixtures.newestFirst(made, ({ created_at }) => created_at).map(({ id }) => id)
      const { conversation_id } = first
      assert.deepStrictEqual(yield* idsOf(ours), ids)
      assert.deepStrictEqual(yield* idsOf(ours, { status: "failed" }), [second.id])
      assert.deepStrictEqual(yield* idsOf(ours, { status: "sending" }), [third.id])
      assert.deepStrictEqual(yield* idsOf(ours, { status: "sent" }), [])
      assert.deepStrictEqual(
        yield* idsOf(ours, { status: "queued" }),
        ids.filter((id) => id !== second.id && id !== third.id)
      )
      assert.deepStrictEqual(yield* idsOf(ours, { conversation_id }), [first.id])
      assert.deepStrictEqual(yield* idsOf(ours, { conversation_id, status: "failed" }), [])
      assert.deepStrictEqual(yield* idsOf(ours, { created_since: afterNoon(2) }), ids.slice(0, 3))
      assert.deepStrictEqual(yield* idsOf(ours, { created_since: afterNoon(4) }), [])
      assert.deepStrictEqual(yield* idsOf(ours, { created_since: Fixtures.firstTime }), ids)
      assert.deepStrictEqual(yield* idsOf(ours, { created_since: Fixtures.lastTime }), [])
      assert.deepStrictEqual(yield* idsOf(theirs), [])
      const [newest] = yield* store.list(ours, { ...everySend, conversation_id }, { after: null, size: 1 })
      assert.deepStrictEqual(newest, toSend(first))
    }))
}

const separation = (it: It) => {
  it.effect("keeps organizations apart", () =>
    Effect.gen(function*() {
      const store = yield* SendStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const row = yield* Fixtures.newSend(yield* Fixtures.thread(ours))
      yield* Fixtures.mustCommit(ours, SendRows.insert(row))
      assert.deepStrictEqual(yield* store.find(theirs, row.id), Option.none())
      const begun = SendRows.update({ ...row, version: 1 }, { status: "sending" })
      assert.strictEqual(yield* Fixtures.commitOutcome(theirs, begun), "Conflict")
      assert.deepStrictEqual(yield* store.find(ours, row.id), Option.some({ ...row, version: 1 }))
      assert.deepStrictEqual(yield* store.find(ours, SendId.make(yield* Fixtures.uuid)), Option.none())
    }))
}

export const portTests = (it: It, options: Options) => {
  inserts(it, options)
  updates(it)
  loads(it)
  lists(it)
  separation(it)
}
