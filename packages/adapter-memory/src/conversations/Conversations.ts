import { ChannelRows } from "@messaging-crm/core/Channels"
import { IdentityRows } from "@messaging-crm/core/ContactIdentities"
import { ContactRows } from "@messaging-crm/core/Contacts"
import {
  type ConversationColumns,
  type ConversationFilters,
  type ConversationRow,
  ConversationRows,
  ConversationStore
} from "@messaging-crm/core/Conversations"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Layer, Option, Struct } from "effect"
import { identify } from "../contacts/Contacts.ts"
import { page } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

/** Returns a conversation with the current columns of its channel, contact and identity. */
export const toRow =
  (tables: Table.Tables, organization_id: OrganizationId) =>
  (conversation: Table.Row<ConversationColumns>): ConversationRow => {
    const channel = Option.getOrThrow(Table.get(tables, ChannelRows, organization_id, conversation.channel_id))
    const contact = Option.getOrThrow(Table.get(tables, ContactRows, organization_id, conversation.contact_id))
    const identity = Option.getOrThrow(Table.get(tables, IdentityRows, organization_id, conversation.identity_id))
    return {
      ...conversation,
      channel_type: channel.type,
      ...Struct.pick(contact, ["first_name", "last_name"]),
      ...Struct.pick(identity, ["display_name", "external_id", "username"])
    }
  }

const passes =
  ({ assigned_user_id, channel_id, contact_id, status, unassigned }: ConversationFilters) =>
  (conversation: ConversationColumns): boolean =>
    (status === null || conversation.status === status) &&
    (assigned_user_id === null || conversation.assigned_user_id === assigned_user_id) &&
    (unassigned === null || conversation.assigned_user_id === null) &&
    (contact_id === null || conversation.contact_id === contact_id) &&
    (channel_id === null || conversation.channel_id === channel_id)

/** Layer that keeps conversations in the in-memory world. */
export const layer = Layer.effect(
  ConversationStore,
  World.useSync(({ read }) =>
    ConversationStore.of({
      find: (organization_id, id) =>
        read(({ tables }) =>
          Option.map(Table.get(tables, ConversationRows, organization_id, id), toRow(tables, organization_id))
        ),
      list: (organization_id, filters, request) =>
        read(({ tables }) =>
          page(
            Table.all(tables, ConversationRows, organization_id).filter(passes(filters)),
            request,
            (conversation) => ({ at: conversation.last_activity_at, id: conversation.id })
          ).map(toRow(tables, organization_id))
        ),
      identify: (organization_id, channel, network_ids) =>
        read(({ tables }) =>
          identify(tables, organization_id, channel.type, network_ids).map((identified) => {
            const owned = Table.findByUnique(
              tables,
              ConversationRows,
              organization_id,
              channel.id,
              identified.identity.id
            )
            const conversation = Option.map(owned, ({ row }) => toRow(tables, organization_id)(row))
            return { ...identified, conversation: Option.getOrNull(conversation) }
          })
        )
    })
  )
)
