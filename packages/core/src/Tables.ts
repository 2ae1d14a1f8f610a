import { ApiKeyRows } from "./accounts/ApiKeys.ts"
import { MemberRows } from "./accounts/Members.ts"
import { OrganizationRows } from "./accounts/Organizations.ts"
import { ChannelAccountRows } from "./catalog/ChannelAccounts.ts"
import { ChannelHoldRows } from "./catalog/ChannelHolds.ts"
import { ChannelRows } from "./catalog/Channels.ts"
import { ContactFieldRows } from "./catalog/ContactFields.ts"
import { TagRows } from "./catalog/Tags.ts"
import { IdentityNetworkIdRows, IdentityRows } from "./contacts/ContactIdentities.ts"
import { ContactRows } from "./contacts/Contacts.ts"
import { ConversationRows } from "./conversations/Conversations.ts"
import { WebhookDeliveryRows } from "./deliveries/WebhookDeliveries.ts"
import { CallbackRows } from "./inbound/CallbackInbox.ts"
import { MediaRows } from "./messages/Media.ts"
import { MessageRows, ProviderMessageRows } from "./messages/Messages.ts"
import { WebhookReplayRows } from "./replays/WebhookReplays.ts"
import { SendRows } from "./sends/Sends.ts"
import { WebhookRows } from "./webhooks/Webhooks.ts"
import type { Table, TableName } from "./work/Table.ts"

/** The table of each resource. A name without its table does not compile. */
export const tables: Readonly<Record<TableName, Table>> = {
  api_keys: ApiKeyRows.table,
  channel_accounts: ChannelAccountRows.table,
  channel_holds: ChannelHoldRows.table,
  channels: ChannelRows.table,
  contact_fields: ContactFieldRows.table,
  contacts: ContactRows.table,
  conversations: ConversationRows.table,
  identities: IdentityRows.table,
  identity_names: IdentityNetworkIdRows.table,
  media: MediaRows.table,
  members: MemberRows.table,
  messages: MessageRows.table,
  organizations: OrganizationRows.table,
  provider_callbacks: CallbackRows.table,
  provider_messages: ProviderMessageRows.table,
  sends: SendRows.table,
  tags: TagRows.table,
  webhook_deliveries: WebhookDeliveryRows.table,
  webhook_replays: WebhookReplayRows.table,
  webhooks: WebhookRows.table
}
