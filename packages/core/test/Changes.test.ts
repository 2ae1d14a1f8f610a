import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { ContactRows } from "@messaging-crm/core/Contacts"
import { ConversationRows } from "@messaging-crm/core/Conversations"
import { ContactId, ConversationId } from "@messaging-crm/core/Ids"
import { TagRows } from "@messaging-crm/core/Tags"
import { DateTime } from "effect"
import type { Table } from "../src/work/Table.ts"

const now = DateTime.makeUnsafe("2025-06-01T12:00:00.000Z")

const activity = Changes.touch({
  conversation_id: ConversationId.make("0197b000-0000-7000-8000-000000000001"),
  contact_id: ContactId.make("0197b000-0000-7000-8000-000000000002"),
  at: now,
  preview: "Hello",
  conversation_version: null,
  last_inbound_at: null
})

const throttle = (lane: string): Changes.Changes => Changes.throttle({ kind: "send", lane, until: null, cap: 1 })

describe("Changes.all", () => {
  it("joins parts of a kind in their order", () => {
    assert.deepStrictEqual(Changes.all(throttle("one"), activity, throttle("two")), {
      ...activity,
      throttle: [throttle("one"), throttle("two")].flatMap(({ throttle = [] }) => throttle)
    })
  })

  it("rejects a second part that a commit has once", () => {
    assert.throws(
      () => Changes.all(activity, throttle("one"), activity),
      "Two changes of one commit have `touch`. A commit can have it only once."
    )
  })

  it("returns no changes for parts without content", () => {
    assert.deepStrictEqual(Changes.all(Changes.none, Changes.aliases()), Changes.none)
    assert.isTrue(Changes.isNone({ insert: [], raise: [] }))
  })
})

describe("the activity of a commit", () => {
  const { touch } = activity
  const contact = { id: touch?.contact_id, first_name: "Kim", last_activity_at: null, updated_at: null }
  const conversation = { id: touch?.conversation_id, status: "open", last_activity_at: null }
  const inserted = (table: Table, ...rows: ReadonlyArray<object>): Changes.Changes => ({ insert: [{ table, rows }] })
  const rowsOf = (...parts: ReadonlyArray<Changes.Changes>) =>
    Changes.mergeActivity(Changes.all(...parts)).insert?.map(({ rows }) => rows)

  it("is in the conversation and contact that it inserts, and in no other row", () => {
    const others = [{ ...contact, id: "another" }, { first_name: "Ada" }]
    const tag = { id: touch?.contact_id, name: "vip" }
    assert.deepStrictEqual(
      rowsOf(
        inserted(ContactRows.table, contact, ...others),
        inserted(ConversationRows.table, conversation),
        inserted(TagRows.table, tag),
        activity
      ),
      [
        [{
          ...contact,
          last_activity_at: now,
          last_activity_preview: "Hello",
          last_conversation_id: touch?.conversation_id,
          updated_at: now
        }, ...others],
        [{ ...conversation, last_activity_at: now, last_activity_preview: "Hello", last_inbound_at: null }],
        [tag]
      ]
    )
  })

  it("changes nothing without inserted rows, and rows stay as they are without it", () => {
    assert.deepStrictEqual(Changes.mergeActivity(activity), activity)
    assert.deepStrictEqual(rowsOf(inserted(ContactRows.table, contact)), [[contact]])
    assert.strictEqual(Changes.touchedId(ContactRows.table, touch ?? assert.fail()), touch?.contact_id)
    assert.isNull(Changes.touchedId(TagRows.table, touch ?? assert.fail()))
  })
})
