import { ContactRows } from "@messaging-crm/core/Contacts"
import { ConversationRows } from "@messaging-crm/core/Conversations"
import { MessageRetentionStore } from "@messaging-crm/core/MessageRetention"
import { type MessageColumns, MessageRows, ProviderMessageRows } from "@messaging-crm/core/Messages"
import { isOpen, SendRows } from "@messaging-crm/core/Sends"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { DateTime, Layer, Option } from "effect"
import { type EventColumns, EventRows, removedFile, withoutResource } from "../work/OwnRows.ts"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

/** Clears the preview of a removed message. */
const withoutPreview =
  (before: Timestamp) =>
  <Row extends { readonly last_activity_at: Timestamp | null; readonly last_activity_preview: string | null }>(
    row: Row
  ): Row =>
    row.last_activity_at !== null && DateTime.isLessThan(row.last_activity_at, before)
      ? { ...row, last_activity_preview: null }
      : row

const clearResource = <Row extends EventColumns>(event: Row): Row => ({ ...event, ...withoutResource })

/** Removes a message with its file, the row of its provider id, and its copies in events. */
const removed =
  (before: Timestamp) =>
  (tables: Table.Tables, { organization_id: owner, row }: Table.Owned<MessageColumns>): Table.Tables => {
    const { channel_id, conversation_id, id, media, provider_message_id } = row
    const { contact_id } = Option.getOrThrow(Table.get(tables, ConversationRows, owner, conversation_id))
    const clear = withoutPreview(before)
    let left = Table.remove(tables, MessageRows, owner, conversation_id, id)
    if (media?.id) left = removedFile(left, owner, media.id)
    if (provider_message_id !== null) {
      const named = Table.get(left, ProviderMessageRows, owner, channel_id, provider_message_id)
      if (Option.isSome(named) && named.value.message_id === id) {
        left = Table.remove(left, ProviderMessageRows, owner, channel_id, provider_message_id)
      }
    }
    for (const event of Table.all(left, EventRows, owner)) {
      if (event.message_id === id) left = Table.change(left, EventRows, owner, event.id, clearResource)
    }
    left = Table.change(left, ConversationRows, owner, conversation_id, clear)
    return Table.change(left, ContactRows, owner, contact_id, clear)
  }

/** Returns at most `limit` rows that were made before a time, the oldest first. */
const oldest = <Columns extends { readonly created_at: Timestamp }>(
  rows: ReadonlyArray<Table.Owned<Columns>>,
  before: Timestamp,
  limit: number
) =>
  rows
    .filter(({ row }) => DateTime.isLessThan(row.created_at, before))
    .toSorted((a, b) => DateTime.Order(a.row.created_at, b.row.created_at))
    .slice(0, limit)

/** Layer that removes old messages from the in-memory world. */
export const layer = Layer.effect(
  MessageRetentionStore,
  World.useSync(({ modify }) =>
    MessageRetentionStore.of({
      purge: (before, limit) =>
        modify((state) => {
          const ended = Table.everywhere(state.tables, SendRows).filter(({ row }) => !isOpen(row))
          const sends = oldest(ended, before, limit)
          const withoutSends = sends.reduce(
            (left, { organization_id, row }) => Table.remove(left, SendRows, organization_id, row.id),
            state.tables
          )
          const messages = oldest(Table.everywhere(withoutSends, MessageRows), before, limit - sends.length)
          return [
            sends.length + messages.length,
            { ...state, tables: messages.reduce(removed(before), withoutSends) }
          ]
        })
    })
  )
)
