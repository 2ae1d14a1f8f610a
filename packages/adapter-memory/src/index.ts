import type { StoragePorts } from "@messaging-crm/core/Crm"
import { Layer } from "effect"
import * as ApiKeys from "./ApiKeys.ts"
import * as Channels from "./Channels.ts"
import * as Commit from "./Commit.ts"
import * as ContactFields from "./ContactFields.ts"
import * as Contacts from "./Contacts.ts"
import * as Conversations from "./Conversations.ts"
import * as Events from "./Events.ts"
import * as Idempotency from "./Idempotency.ts"
import * as Media from "./Media.ts"
import * as Members from "./Members.ts"
import * as Messages from "./Messages.ts"
import * as Organizations from "./Organizations.ts"
import * as Sends from "./Sends.ts"
import * as Tags from "./Tags.ts"
import * as WebhookDeliveries from "./WebhookDeliveries.ts"
import * as Webhooks from "./Webhooks.ts"
import * as WorkQueue from "./WorkQueue.ts"
import { World } from "./World.ts"

/** Layer that keeps everything in a given world. */
export const stores: Layer.Layer<StoragePorts, never, World> = Layer.mergeAll(
  ApiKeys.layer,
  Channels.layer,
  Commit.layer,
  ContactFields.layer,
  Contacts.layer,
  Conversations.layer,
  Events.layer,
  Idempotency.layer,
  Media.layer,
  Members.layer,
  Messages.layer,
  Organizations.layer,
  Sends.layer,
  Tags.layer,
  WebhookDeliveries.layer,
  Webhooks.layer,
  WorkQueue.layer
)

/** Layer that keeps everything in memory: a world of its own each time it is built. */
export const layer: Layer.Layer<StoragePorts | World> = Layer.provideMerge(stores, World.layer)
