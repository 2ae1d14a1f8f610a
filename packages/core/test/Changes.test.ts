import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { ContactId, ConversationId } from "@messaging-crm/core/Ids"
import { DateTime } from "effect"

const now = DateTime.makeUnsafe("2025-06-01T12:00:00.000Z")

const activity = Changes.touch({
  conversation_id: ConversationId.make("0197b000-0000-7000-8000-000000000001"),
  contact_id: ContactId.make("0197b000-0000-7000-8000-000000000002"),
  at: now,
  preview: "Hello",
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

  it("refuses a second part that a commit has once", () => {
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
