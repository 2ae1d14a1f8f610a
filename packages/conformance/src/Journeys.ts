/**
 * Tests of the guarantees of several ports together: idempotent requests, sends, inbound events, and webhooks from beginning to end, with every
 * failure of the provider and the endpoints.
 */
import * as Holds from "./Journeys/Holds.ts"
import * as IdempotentRequests from "./Journeys/IdempotentRequests.ts"
import * as Inbound from "./Journeys/Inbound.ts"
import * as MessagePages from "./Journeys/MessagePages.ts"
import * as MessageRetention from "./Journeys/MessageRetention.ts"
import * as PersonalData from "./Journeys/PersonalData.ts"
import * as PersonalDataPages from "./Journeys/PersonalDataPages.ts"
import type { Storage } from "./Journeys/Scene.ts"
import * as Sends from "./Journeys/Sends.ts"
import * as WebhookFailures from "./Journeys/WebhookFailures.ts"
import * as WebhookRaces from "./Journeys/WebhookRaces.ts"
import * as WebhookReplays from "./Journeys/WebhookReplays.ts"
import * as WebhookResources from "./Journeys/WebhookResources.ts"
import * as Webhooks from "./Journeys/Webhooks.ts"

export const suite = (storage: Storage) => {
  IdempotentRequests.suite(storage)
  Sends.suite(storage)
  Holds.suite(storage)
  Inbound.suite(storage)
  WebhookReplays.suite(storage)
  WebhookResources.suite(storage)
  Webhooks.suite(storage)
  WebhookFailures.suite(storage)
  WebhookRaces.suite(storage)
  PersonalData.suite(storage)
  PersonalDataPages.suite(storage)
  MessagePages.suite(storage)
  MessageRetention.suite(storage)
}
