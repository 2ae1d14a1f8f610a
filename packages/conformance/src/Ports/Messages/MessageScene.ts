/** How the tests of messages store early updates. */
import * as Changes from "@messaging-crm/core/Changes"
import type { ChannelId, OrganizationId } from "@messaging-crm/core/Ids"
import { MessageStore, type MessageUpdate, storeEarlyUpdate } from "@messaging-crm/core/Messages"
import { Effect } from "effect"
import * as Fixtures from "../../Fixtures.ts"
import { afterNoon } from "../../Fixtures.ts"

/** Stores an update whose message is not stored yet, as an inbound event does. */
export const storeEarly = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  channel_id: ChannelId,
  provider_message_id: string,
  update: MessageUpdate,
  now = afterNoon(9)
) {
  const stored = yield* MessageStore.use((store) =>
    store.findByProviderId(organization_id, channel_id, provider_message_id)
  )
  const changes = storeEarlyUpdate({ channel_id, provider_message_id }, stored, update, now)
  if (!Changes.isNone(changes)) yield* Fixtures.mustCommit(organization_id, changes)
})
