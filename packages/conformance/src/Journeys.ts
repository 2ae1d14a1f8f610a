/**
 * Tests of the guarantees of several ports together: idempotent requests, imports and upserts of contacts, sends, inbound
 * events, and webhooks from beginning to end, with every failure of the provider and the endpoints.
 */
import type { Options } from "./Fixtures.ts"
import * as ContactImports from "./Journeys/ContactImports.ts"
import * as ContactNumbers from "./Journeys/ContactNumbers.ts"
import * as ContactPreconditions from "./Journeys/ContactPreconditions.ts"
import * as ContactUpserts from "./Journeys/ContactUpserts.ts"
import * as EventConversations from "./Journeys/EventConversations.ts"
import * as EventFollowers from "./Journeys/EventFollowers.ts"
import * as Expectations from "./Journeys/Expectations.ts"
import * as Holds from "./Journeys/Holds.ts"
import * as IdempotentRequests from "./Journeys/IdempotentRequests.ts"
import * as Inbound from "./Journeys/Inbound.ts"
import type { Storage } from "./Journeys/JourneyScene.ts"
import * as MemberSessions from "./Journeys/MemberSessions.ts"
import * as MessagePages from "./Journeys/MessagePages.ts"
import * as MessageRetention from "./Journeys/MessageRetention.ts"
import * as PersonalData from "./Journeys/PersonalData.ts"
import * as PersonalDataPages from "./Journeys/PersonalDataPages.ts"
import * as Sends from "./Journeys/Sends.ts"
import * as Spellings from "./Journeys/Spellings.ts"
import * as StorageBudget from "./Journeys/StorageBudget.ts"
import * as WebhookFailures from "./Journeys/WebhookFailures.ts"
import * as WebhookRaces from "./Journeys/WebhookRaces.ts"
import * as WebhookReplays from "./Journeys/WebhookReplays.ts"
import * as WebhookResources from "./Journeys/WebhookResources.ts"
import * as Webhooks from "./Journeys/Webhooks.ts"

type Tests = (storage: Storage, options: Options) => void

/** The tests by their subject, so that test files can run them concurrently. */
export const journeyTests = {
  contacts: [
    PersonalData.journeyTests,
    PersonalDataPages.journeyTests,
    ContactImports.journeyTests,
    ContactNumbers.journeyTests,
    ContactPreconditions.journeyTests,
    ContactUpserts.journeyTests,
    Spellings.journeyTests
  ],
  expectations: [Expectations.journeyTests],
  inbound: [
    Inbound.journeyTests,
    EventConversations.journeyTests,
    MessagePages.journeyTests,
    MessageRetention.journeyTests
  ],
  sends: [
    MemberSessions.journeyTests,
    IdempotentRequests.journeyTests,
    StorageBudget.journeyTests,
    Sends.journeyTests,
    Holds.journeyTests
  ],
  webhooks: [
    EventFollowers.journeyTests,
    WebhookReplays.journeyTests,
    WebhookResources.journeyTests,
    Webhooks.journeyTests,
    WebhookFailures.journeyTests,
    WebhookRaces.journeyTests
  ]
} satisfies Readonly<Record<string, ReadonlyArray<Tests>>>
