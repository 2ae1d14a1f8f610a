/**
 * Conversation state: the transitions of a conversation, each with its event (contract §10).
 *
 * | State | Trigger | Next state |
 * | --- | --- | --- |
 * | none, open, closed | start, inbound message | open |
 * | open | close | closed |
 * | closed | reopen | open |
 * | any | assign | unchanged |
 *
 * Closing a closed conversation and reopening an open one change nothing.
 */
import type { Channel } from "../catalog/Channels.ts"
import { IdentityRows } from "../contacts/ContactIdentities.ts"
import type { ContactIdentity } from "../contacts/Contacts.ts"
import * as Events from "../events/Events.ts"
import { ConversationId, type MemberId } from "../kernel/Ids.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import type { RaisedEvent } from "../work/Changes.ts"
import type { DecisionContext } from "../work/Decide.ts"
import {
  type Conversation,
  type ConversationColumns,
  type ConversationRow,
  ConversationRows,
  type IdentityWithConversation,
  toConversation,
  type VisibleColumns,
  withInbound
} from "./Conversation.ts"

/** The transitions of a conversation. Each returns the columns that it sets, or `{}` where it changes nothing. */
export const ConversationState = {
  close: ({ status }: Pick<ConversationRow, "status">, close_category: string | null, closed_at: Timestamp) =>
    status === "closed" ? {} : { status: "closed", close_category, closed_at } as const,
  reopen: ({ status }: Pick<ConversationRow, "status">, opened_at: Timestamp) =>
    status === "open" ? {} : { status: "open", close_category: null, opened_at, closed_at: null } as const,
  assign: (row: Pick<ConversationRow, "assigned_user_id">, assigned_user_id: MemberId | null) =>
    row.assigned_user_id === assigned_user_id ? {} : { assigned_user_id }
}

export const resourceOf = (row: VisibleColumns): Events.NamedResource<"conversation"> => ({
  name: "conversation",
  value: toConversation(row),
  contact_id: row.contact_id,
  message_id: null
})

export const openedEvent = (row: VisibleColumns, context: DecisionContext): RaisedEvent =>
  Events.make("conversation.opened", { conversation_id: row.id }, context, resourceOf(row))

/** Sets columns, and raises the event of the change, if there is one. */
export const setColumns = (
  row: ConversationRow,
  set: Partial<ConversationColumns>,
  event: (after: ConversationRow) => RaisedEvent
): Changes.Decision<Conversation> => {
  const after = { ...row, ...set }
  return {
    result: toConversation(after),
    changes: Object.keys(set).length === 0
      ? Changes.none
      : Changes.all(ConversationRows.update(row, set), Changes.raise(event(after)))
  }
}

/** Returns a new conversation, which is open, unassigned, and without messages. */
export const newConversation = (
  { channel_id, contact_id, id, identity_id }: Pick<
    ConversationColumns,
    "channel_id" | "contact_id" | "id" | "identity_id"
  >,
  now: Timestamp
): ConversationColumns => ({
  id,
  channel_id,
  contact_id,
  identity_id,
  status: "open",
  close_category: null,
  assigned_user_id: null,
  agent_id: null,
  created_at: now,
  opened_at: now,
  closed_at: null,
  last_activity_at: now,
  last_activity_preview: null,
  last_inbound_at: null
})

/**
 * Returns the identity's open conversation on the channel: reopens the one that was found, or creates one.
 *
 * `inbound_at` is the time of the contact's message that opens it, if one does: its event has the new reply window.
 */
export const open = (
  channel: Channel,
  { contact_id, identity_id, ...names }: ContactIdentity,
  known: Pick<IdentityWithConversation, "conversation" | "identity"> | undefined,
  context: DecisionContext,
  inbound_at: Timestamp | null = null
): Changes.Decision<ConversationId> => {
  const { now, uuid } = context
  const found = known?.conversation ?? null
  if (found !== null) {
    const { changes } = setColumns(
      found,
      ConversationState.reopen(found, now),
      (after) => openedEvent(withInbound({ ...after, ...names }, inbound_at), context)
    )
    return { result: found.id, changes }
  }
  const id = ConversationId.make(uuid())
  const row = withInbound(newConversation({ id, channel_id: channel.id, contact_id, identity_id }, now), inbound_at)
  return {
    result: id,
    changes: Changes.all(
      Changes.raise(openedEvent({ ...row, ...names, channel_type: channel.type }, context)),
      ConversationRows.insert(row),
      // The event has the person's names: a concurrent erasure, which writes the identity, makes this commit fail.
      known === undefined ? Changes.none : IdentityRows.expect(known.identity)
    )
  }
}
