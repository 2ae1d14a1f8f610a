import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import * as Contacts from "@messaging-crm/core/Contacts"
import * as Conversations from "@messaging-crm/core/Conversations"
import * as Events from "@messaging-crm/core/Events"
import { ConversationId, type MemberId } from "@messaging-crm/core/Ids"
import { type MemberRow, MemberRows } from "@messaging-crm/core/Members"
import { Option, Result } from "effect"
import { ada, after, channel, contact, context, conversation, id, identity, noon, refusal } from "./Fixtures.ts"

describe("a conversation", () => {
  const assign = (
    input: Conversations.AssignConversation,
    member: MemberRow | null = ada,
    row: Conversations.ConversationRow = conversation
  ) =>
    Conversations.assign(
      { conversation: Option.some(row), member: Option.fromNullishOr(member) },
      input,
      context()
    )
  const owner = (owner_user_id: MemberId) =>
    Contacts.ContactRows.update({ id: contact.id, version: 7 }, { owner_user_id, updated_at: after(9) })

  it("is assigned together with its contact, and expects the member's version", () => {
    const assigned_user_id = ada.id
    const { answer, changes } = Result.getOrThrow(assign({ assigned_user_id }))
    assert.strictEqual(answer.assigned_user_id, ada.id)
    assert.deepStrictEqual(
      changes,
      Changes.all(
        Conversations.ConversationRows.update(conversation, { assigned_user_id }),
        owner(ada.id),
        MemberRows.expect(ada)
      )
    )
    const alone = Result.getOrThrow(assign({ assigned_user_id, sync_contact_owner: false }))
    assert.deepStrictEqual(
      alone.changes,
      Changes.all(Conversations.ConversationRows.update(conversation, { assigned_user_id }), MemberRows.expect(ada))
    )
  })

  it("can be unassigned, cannot be assigned to a member who left, and an equal assignment is not written", () => {
    const kept = assign({ assigned_user_id: null }, null)
    assert.deepStrictEqual(Result.getOrThrow(kept).changes, Changes.none)
    const assigned = { ...conversation, assigned_user_id: ada.id }
    assert.deepStrictEqual(
      Result.getOrThrow(assign({ assigned_user_id: null }, null, assigned)).changes,
      Conversations.ConversationRows.update(assigned, { assigned_user_id: null })
    )
    assert.strictEqual(refusal(assign({ assigned_user_id: ada.id }, { ...ada, left_at: noon })), "ReferenceUnknown")
    assert.strictEqual(refusal(assign({ assigned_user_id: ada.id }, null)), "ReferenceUnknown")
    const left = { ...ada, left_at: noon }
    assert.deepStrictEqual(
      Result.getOrThrow(assign({ assigned_user_id: ada.id }, left, assigned)).changes,
      Changes.none
    )
    const nowhere = { conversation: Option.none(), member: Option.none() }
    assert.strictEqual(
      refusal(Conversations.assign(nowhere, { assigned_user_id: null }, context())),
      "ConversationNotFound"
    )
  })

  it("is closed once, with an event", () => {
    const closed = { status: "closed", close_category: "spam", closed_at: after(9) } as const
    const { answer, changes } = Result.getOrThrow(
      Conversations.close(
        Option.some(conversation),
        Conversations.CloseConversation.make({ category: "spam" }),
        context()
      )
    )
    assert.deepInclude(answer, closed)
    assert.deepStrictEqual(
      changes,
      Changes.all(
        Conversations.ConversationRows.update(conversation, closed),
        Changes.raise(Events.make("conversation.closed", { conversation_id: conversation.id }, context(after(9), 100)))
      )
    )
    const again = Conversations.close(
      Option.some({ ...conversation, ...closed }),
      Conversations.CloseConversation.make({ category: "other" }),
      context()
    )
    assert.deepStrictEqual(Result.getOrThrow(again).changes, Changes.none)
    assert.strictEqual(Result.getOrThrow(again).answer.close_category, "spam")
    assert.strictEqual(
      refusal(Conversations.close(Option.none(), Conversations.CloseConversation.make({}), context())),
      "ConversationNotFound"
    )
  })

  it("is reopened once", () => {
    const row = { ...conversation, status: "closed", close_category: "spam", closed_at: after(1) } as const
    const opened = { status: "open", close_category: null, opened_at: after(9), closed_at: null } as const
    assert.deepStrictEqual(
      Result.getOrThrow(Conversations.reopen(Option.some(row), context())).changes,
      Conversations.ConversationRows.update(row, opened)
    )
    assert.deepStrictEqual(
      Result.getOrThrow(Conversations.reopen(Option.some(conversation), context())).changes,
      Changes.none
    )
    assert.strictEqual(refusal(Conversations.reopen(Option.none(), context())), "ConversationNotFound")
  })

  it("is found open, reopened, or created", () => {
    const who = { contact_id: contact.id, identity_id: identity.id }
    const open = (found: Parameters<typeof Conversations.open>[2]) => Conversations.open(channel, who, found, context())
    const { version } = conversation
    const closed = { id: conversation.id, status: "closed", version } as const
    assert.deepStrictEqual(open(conversation), { answer: conversation.id, changes: Changes.none })
    assert.deepStrictEqual(open(closed), {
      answer: conversation.id,
      changes: Conversations.ConversationRows.update(closed, {
        status: "open",
        close_category: null,
        opened_at: after(9),
        closed_at: null
      })
    })
    const made = ConversationId.make(id(100))
    assert.deepStrictEqual(open(null), {
      answer: made,
      changes: Conversations.ConversationRows.insert({
        id: made,
        channel_id: channel.id,
        ...who,
        status: "open",
        close_category: null,
        assigned_user_id: null,
        agent_id: null,
        created_at: after(9),
        opened_at: after(9),
        closed_at: null,
        last_activity_at: after(9),
        last_activity_preview: null,
        last_inbound_at: null
      })
    })
  })
})
