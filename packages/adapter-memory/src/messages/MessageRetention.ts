import { ContactRows } from "@messaging-crm/core/Contacts"
import { ConversationRows } from "@messaging-crm/core/Conversations"
import { MessageRetentionStore } from "@messaging-crm/core/MessageRetention"
import { type MessageColumns, MessageRows, ProviderMessageRows } from "@messaging-crm/core/Messages"
import { isOpen, SendRows } from "@messaging-crm/core/Sends"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { DateTime, Layer, Option } from "effect"
import { type EventColumns, EventRows, removeFile, withoutResource } from "../work/PrivateTables.ts"
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

/** Removes a message with its file, the row of its provider ID, and its copies in events. */
const removeMessage =
  (before: Timestamp) =>
  (tables: Table.Tables, { organization_id: owner, row }: Table.Owned<MessageColumns>): Table.Tables => {
    const { channel_id, conversation_id, id, media, provider_message_id } = row
    const { contact_id } = Option.getOrThrow(Table.get(tables, ConversationRows, owner, conversation_id))
    const clear = withoutPreview(before)
    let remaining = Table.remove(tables, MessageRows, owner, conversation_id, id)
    if (media?.id) remaining = removeFile(remaining, owner, media.id)
    if (provider_message_id !== null) {
      const providerRow = Table.get(remaining, ProviderMessageRows, owner, channel_id, provider_message_id)
      if (Option.isSome(providerRow) && providerRow.value.message_id === id) {
        remaining = Table.remove(remaining, ProviderMessageRows, owner, channel_id, provider_message_id)
      }
    }
    for (const event of Table.all(remaining, EventRows, owner)) {
      if (event.message_id === id) remaining = Table.change(remaining, EventRows, owner, event.id, clearResource)
    }
    remaining = Table.change(remaining, ConversationRows, owner, conversation_id, clear)
    return Table.change(remaining, ContactRows, owner, contact_id, clear)
  }

const createdAt = ({ created_at }: { readonly created_at: Timestamp }) => created_at

/** Layer that removes old messages from the in-memory world. */
export const layer = Layer.effect(
  MessageRetentionStore,
  World.useSync(({ modify }) =>
    MessageRetentionStore.of({
      purge: (before, limit) =>
        modify((state) => {
          const ended_sends = Table.allOfEveryOwner(state.tables, SendRows).filter(({ row }) => !isOpen(row))
          const sends = Table.oldest(ended_sends, createdAt, before, limit)
          const withoutSends = Table.removeAll(state.tables, SendRows, sends)
          const stored = Table.allOfEveryOwner(withoutSends, MessageRows)
          const messages = Table.oldest(stored, createdAt, before, limit - sends.length)
          return [
            sends.length + messages.length,
            { ...state, tables: messages.reduce(removeMessage(before), withoutSends) }
          ]
        })
    })
  )
)
