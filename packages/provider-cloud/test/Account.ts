import { ChannelId } from "@messaging-crm/core/Ids"
import type { CloudAccount } from "@messaging-crm/provider-cloud/CloudAccounts"
import { Redacted } from "effect"

/** An account of a Messenger page. */
export const account: CloudAccount = {
  type: "page_messaging",
  channel_id: ChannelId.make("01990000-0000-7000-8000-000000000001"),
  app_id: "app",
  token: Redacted.make("token"),
  page_id: "1"
}
