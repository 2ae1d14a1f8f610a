import { assert, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { assign, AssignConversation } from "@messaging-crm/core/Conversations"
import { MemberId } from "@messaging-crm/core/Ids"
import { Option, Result } from "effect"
import { ada, after, contact, context, conversation, id, rejection } from "./Fixtures.ts"

it("a conversation can be assigned again to its member who has left, and to no other who has", () => {
  const left = { ...ada, left_at: after(1) }
  const assigned = (assigned_user_id: MemberId) =>
    assign(
      {
        conversation: Option.some({ ...conversation, assigned_user_id }),
        member: Option.some(left),
        contact: Option.none()
      },
      AssignConversation.make({ assigned_user_id: ada.id }),
      context()
    )
  assert.deepStrictEqual(Result.getOrThrow(assigned(ada.id)).changes, Changes.none)
  assert.strictEqual(rejection(assigned(MemberId.make(id(6)))), "ReferenceUnknown")
})

it("a conversation without a member leaves the owner of its contact as it was", () => {
  const { changes } = Result.getOrThrow(
    assign(
      {
        conversation: Option.some({ ...conversation, assigned_user_id: ada.id }),
        member: Option.none(),
        contact: Option.some({ ...contact, owner_user_id: ada.id })
      },
      AssignConversation.make({ assigned_user_id: null }),
      context()
    )
  )
  assert.deepStrictEqual(changes.update?.map(({ set, table }) => [table.name, set]), [
    ["conversations", { assigned_user_id: null }]
  ])
})
