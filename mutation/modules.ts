/** What is mutated, and the tests in memory that judge it. */
export interface Module {
  readonly files: ReadonlyArray<string>
  readonly tests: ReadonlyArray<string>
}

const conformance = ["Ports", "Sends", "Inbound", "Webhooks", "Contacts", "Model"].map((name) =>
  `adapter-memory/test/conformance/${name}.test.ts`
)

/** Paths are below `packages`. A test that kills many mutants comes first, because the first failure ends a run. */
export const modules: Readonly<Record<string, Module>> = {
  "status-merge": {
    files: ["core/src/messaging/Message.ts", "core/src/messaging/MessageUpdate.ts"],
    tests: ["core/test/Messages.test.ts", ...conformance]
  },
  idempotency: {
    files: ["core/src/work/Idempotency.ts", "core/src/work/RecordedResponses.ts"],
    tests: ["core/test/Idempotency.test.ts", "adapter-http/test/Pipeline.test.ts", ...conformance]
  },
  signature: {
    files: [
      "core/src/webhooks/WebhookSignature.ts",
      "core/src/kernel/Secrets.ts",
      "core/src/accounts/KeyChecksum.ts",
      "core/src/kernel/Digests.ts",
      "provider-cloud/src/LargeBodySlots.ts",
      "provider-cloud/src/SignedBodies.ts",
      "client/src/WebhookSignature.ts"
    ],
    tests: [
      "core/test/Webhooks/Signature.test.ts",
      "core/test/Secrets.test.ts",
      "core/test/Page.test.ts",
      "provider-cloud/test/LargeBodySlots.test.ts",
      "provider-cloud/test/SignedBodies.test.ts",
      "client/test/WebhookSignature.test.ts"
    ]
  },
  "address-guard": {
    files: [
      "adapter-http/src/outbound/Addresses.ts",
      "adapter-http/src/outbound/Names.ts",
      "adapter-http/src/outbound/Connections.ts",
      "core/src/webhooks/WebhookUrl.ts"
    ],
    tests: [
      "core/test/Webhooks/Url.test.ts",
      "adapter-http/test/outbound/Names.test.ts",
      "adapter-http/test/outbound/Connections.test.ts",
      "adapter-http/test/outbound/Addresses.test.ts",
      "adapter-http/test/outbound/Downloads.test.ts",
      "adapter-http/test/outbound/WebhookTransport.test.ts"
    ]
  },
  cursors: {
    files: ["core/src/kernel/Page.ts"],
    tests: ["core/test/Page.test.ts"]
  },
  schedule: {
    files: [
      "core/src/webhooks/WebhookSchedule.ts",
      "core/src/webhooks/WebhookHealth.ts",
      "core/src/webhooks/WebhookOutcome.ts"
    ],
    tests: [
      "core/test/Webhooks/Schedule.test.ts",
      "core/test/decisions/WebhookOutcome.test.ts",
      "core/test/Webhooks/Disabled.test.ts",
      ...conformance
    ]
  },
  limits: {
    files: [
      "core/src/kernel/Slots.ts",
      "core/src/work/StorageUse.ts",
      "core/src/accounts/ApiKeys.ts",
      "adapter-http/src/middleware/ConcurrencyLimiter.ts",
      "adapter-http/src/middleware/UnknownKeyLimiter.ts"
    ],
    tests: [
      "core/test/Slots.test.ts",
      "core/test/StorageUse.test.ts",
      "core/test/ApiKeys.test.ts",
      "adapter-http/test/ConcurrencyLimiter.test.ts",
      "adapter-http/test/UnknownKeyLimiter.test.ts"
    ]
  },
  commit: {
    files: [
      "core/src/work/AuditedCalls.ts",
      "core/src/work/Changes.ts",
      "core/src/work/ConflictRetries.ts",
      "core/src/work/Decide.ts",
      "core/src/work/RaisedEvents.ts"
    ],
    tests: [
      "core/test/AuditedCalls.test.ts",
      "core/test/Changes.test.ts",
      "core/test/Decide.test.ts",
      "core/test/RaisedEvents.test.ts",
      ...conformance,
      "adapter-http/test/Pipeline.test.ts",
      "adapter-http/test/Replays.test.ts"
    ]
  },
  "decisions-contacts": {
    files: ["core/src/contacts/ContactDecisions.ts", "core/src/contacts/Contacts.ts"],
    tests: [
      "core/test/ContactTable.test.ts",
      "core/test/decisions/Contacts.test.ts",
      ...conformance,
      "adapter-http/test/ContactList.test.ts",
      "adapter-http/test/Contacts.test.ts"
    ]
  },
  "decisions-identities": {
    files: ["core/src/contacts/ContactIdentities.ts", "core/src/contacts/ContactNetworkIds.ts"],
    tests: ["core/test/decisions/ContactIdentities.test.ts", "provider-cloud/test/PersonIds.test.ts", ...conformance]
  },
  "decisions-upserts": {
    files: ["core/src/contacts/ContactUpserts.ts", "core/src/work/IdempotentParts.ts"],
    tests: ["core/test/ContactUpserts.test.ts", ...conformance, "adapter-http/test/Upserts.test.ts"]
  },
  "decisions-conversations": {
    files: ["core/src/messaging/Conversations.ts", "core/src/messaging/ConversationState.ts"],
    tests: ["core/test/decisions/Conversations.test.ts", ...conformance]
  },
  "decisions-messages": {
    files: ["core/src/messaging/Messages.ts", "core/src/messaging/ProviderMessage.ts"],
    tests: ["core/test/decisions/Messages.test.ts", "core/test/MessageList.test.ts", ...conformance]
  },
  "decisions-sends": {
    files: [
      "core/src/messaging/outbound/Sends.ts",
      "core/src/messaging/outbound/SendState.ts",
      "core/src/messaging/outbound/SendCompletion.ts"
    ],
    tests: [
      "core/test/decisions/Sends.test.ts",
      "core/test/decisions/SendState.test.ts",
      "core/test/decisions/SendCompletion.test.ts",
      ...conformance,
      "provider-cloud/test/KnownPitfalls.test.ts"
    ]
  },
  dispatch: {
    files: ["core/src/messaging/outbound/Dispatch.ts", "core/src/messaging/outbound/SendOutcomes.ts"],
    tests: [
      "core/test/Dispatch.test.ts",
      "core/test/decisions/SendState.test.ts",
      "provider-cloud/test/PausedChannels.test.ts",
      ...conformance,
      "provider-cloud/test/KnownPitfalls.test.ts"
    ]
  }
}
