import { assert, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { assign, AssignConversation } from "@messaging-crm/core/Conversations"
import { MemberId } from "@messaging-crm/core/Ids"
import { Option, Result } from "effect"
import { ada, after, context, conversation, id, rejection } from "./Fixtures.ts"

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
