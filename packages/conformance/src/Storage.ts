import { describe, it } from "@effect/vitest"
import type { StoragePorts } from "@messaging-crm/core/Crm"
import { Ids } from "@messaging-crm/core/Ids"
import { Layer, Record } from "effect"
import type { It, Options } from "./Fixtures.ts"
import type { NameOf } from "./Isolation/PortMethods.ts"
import * as Journeys from "./Journeys.ts"
import type { Storage } from "./Journeys/JourneyScene.ts"
import * as Model from "./Model.ts"
import * as ApiKeys from "./Ports/ApiKeys.ts"
import * as Audit from "./Ports/Audit.ts"
import * as CallbackInbox from "./Ports/CallbackInbox.ts"
import * as ChannelAccounts from "./Ports/ChannelAccounts.ts"
import * as ChannelHolds from "./Ports/ChannelHolds.ts"
import * as Commit from "./Ports/Commit.ts"
import * as Contacts from "./Ports/Contacts.ts"
import * as Conversations from "./Ports/Conversations.ts"
import * as Events from "./Ports/Events.ts"
import * as Idempotency from "./Ports/Idempotency.ts"
import * as Media from "./Ports/Media.ts"
import * as MessageRetention from "./Ports/MessageRetention.ts"
import * as Messages from "./Ports/Messages.ts"
import * as Organizations from "./Ports/Organizations.ts"
import * as PersonalData from "./Ports/PersonalData.ts"
import * as Rows from "./Ports/Rows.ts"
import * as SecretCanary from "./Ports/SecretCanary.ts"
import * as Sends from "./Ports/Sends.ts"
import * as StorageUse from "./Ports/StorageUse.ts"
import * as WebhookDeliveries from "./Ports/WebhookDeliveries.ts"
import * as Webhooks from "./Ports/Webhooks.ts"
import * as WorkQueue from "./Ports/WorkQueue.ts"

/** The tests of each port. The type requires them for every port. */
const ports: { readonly [Port in StoragePorts as NameOf<Port["key"]>]: (it: It, options: Options) => void } = {
  ApiKeyStore: ApiKeys.portTests,
  AuditStore: Audit.portTests,
  CallbackStore: CallbackInbox.portTests,
  ChannelAccountStore: ChannelAccounts.portTests,
  ChannelHoldStore: ChannelHolds.portTests,
  Commit: Commit.portTests,
  ContactStore: Contacts.portTests,
  ConversationStore: Conversations.portTests,
  EventStore: Events.portTests,
  IdempotencyStore: Idempotency.portTests,
  MediaStore: Media.portTests,
  MessageRetentionStore: MessageRetention.portTests,
  MessageStore: Messages.portTests,
  OrganizationStore: Organizations.portTests,
  PersonalDataStore: PersonalData.portTests,
  Rows: Rows.portTests,
  SecretCanaryStore: SecretCanary.portTests,
  SendStore: Sends.portTests,
  StorageUseStore: StorageUse.portTests,
  WebhookDeliveryStore: WebhookDeliveries.portTests,
  WebhookStore: Webhooks.portTests,
  WorkQueue: WorkQueue.portTests
}

type Suite = (adapter: string, storage: Layer.Layer<StoragePorts, unknown>, options?: Options) => void

const defaults: Options = { runs: 100 }

/** Registers the tests of every port's guarantees, for one adapter. */
export const portSuite: Suite = (adapter, storage, options = defaults) => {
  describe(adapter, () => {
    it.layer(Layer.merge(storage, Ids.layer), { timeout: "5 minutes" })((it) => {
      for (const [port, portTests] of Object.entries(ports)) describe(port, () => portTests(it, options))
    })
  })
}

const journeySuite =
  (tests: ReadonlyArray<(storage: Storage, options: Options) => void>): Suite =>
  (adapter, storage, options = defaults) => {
    describe(adapter, () => {
      for (const journeyTests of tests) journeyTests(storage, options)
    })
  }

/** Registers the comparison with the model, for one adapter. */
export const modelSuite: Suite = (adapter, storage, options = defaults) => {
  describe(adapter, () => Model.modelTest(storage, { runs: 2 * options.runs }))
}

/** Register the tests of the guarantees that operations have over a storage, for one adapter: each those of one subject. */
export const journeySuites: Readonly<Record<keyof typeof Journeys.journeyTests, Suite>> = Record.map(
  Journeys.journeyTests,
  journeySuite
)

/**
 * Registers the tests of every guarantee of a storage, for one adapter: those of all suites above, which test files can run
 * concurrently, each on a storage of its own.
 *
 * Each test, and each run of a property, makes its own organization, so it does
 * not see the rows of others, and no adapter needs a reset. The callback inbox,
 * the work queue, the purges and the secret canary are not of one organization:
 * a test of them first removes what other tests left, or ignores it. So the tests
 * must not run concurrently on one storage. A property that fails prints the seed
 * that repeats it.
 */
export const suite: Suite = (adapter, storage, options) => {
  portSuite(adapter, storage, options)
  modelSuite(adapter, storage, options)
  for (const register of Object.values(journeySuites)) register(adapter, storage, options)
}
