import { assert, it } from "@effect/vitest"
import { ContactRows } from "@messaging-crm/core/Contacts"
import { assign, AssignConversation, ConversationRows } from "@messaging-crm/core/Conversations"
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
  assert.deepStrictEqual(Result.getOrThrow(assigned(ada.id)).changes, ConversationRows.expect(conversation))
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

it("the owner of the contact follows by default, and not without `sync_contact_owner`", () => {
  const updated = (input: { readonly sync_contact_owner?: boolean }) =>
    Result.getOrThrow(
      assign(
        { conversation: Option.some(conversation), member: Option.some(ada), contact: Option.some(contact) },
        AssignConversation.make({ assigned_user_id: ada.id, ...input }),
        context()
      )
    ).changes.update?.map(({ table }) => table.name)
  assert.deepStrictEqual(updated({}), ["conversations", "contacts"])
  assert.deepStrictEqual(updated({ sync_contact_owner: true }), ["conversations", "contacts"])
  assert.deepStrictEqual(updated({ sync_contact_owner: false }), ["conversations"])
})

it("an assignment by a clock that is behind does not move the contact's `updated_at` backwards", () => {
  const { changes } = Result.getOrThrow(
    assign(
      {
        conversation: Option.some(conversation),
        member: Option.some(ada),
        contact: Option.some({ ...contact, updated_at: after(5) })
      },
      AssignConversation.make({ assigned_user_id: ada.id }),
      context(after(3))
    )
  )
  const updated = changes.update?.find(({ table }) => table === ContactRows.table)
  assert.deepStrictEqual(updated?.set, { owner_user_id: ada.id, updated_at: after(5) })
  const event = changes.raise?.find(({ type }) => type === "contact.updated")
  assert.deepInclude(event?.resource?.value, { updated_at: after(5) })
})
