/**
 * Says what is mutated, and which tests judge it: every source file of core, both stores, the HTTP API, the provider of the
 * networks, the client, and the server's edge.
 */
import { globSync } from "node:fs"

interface Declared {
  /** Patterns of files. A file belongs to the first module with a pattern that matches it. */
  readonly files: ReadonlyArray<string>
  readonly tests: ReadonlyArray<string>
  /** A pattern of the names of the tests that can kill mutants of SQL functions. Those of TypeScript are judged by the tests that run them. */
  readonly names?: string
}

export interface Module {
  readonly files: ReadonlyArray<string>
  readonly tests: ReadonlyArray<string>
  readonly names: string
}

const conformance = ["Ports", "Sends", "Inbound", "Webhooks", "Contacts", "Model"].map((name) =>
  `adapter-memory/test/conformance/${name}.test.ts`
)

/** The tests of every port's guarantees, without batches of commits. */
const ports = "adapter-postgres/test/PlainCommit.test.ts"

const commits = ["", "Batches", "Events", "Failures", "Idempotency", "Shapes", "Statement", "Transactions"].map((
  name
) => `adapter-postgres/test/Commit${name}.test.ts`)

const http_tests = [
  "adapter-http/test/{Authentication,Catalogs,Contacts,Conversations,EntityTags,Events,Failures,FileHeaders}.test.ts",
  "adapter-http/test/{Inputs,JsonText,Media,Messages,Pipeline,Replays,Responses,Sends,Turns,UnknownKeys}.test.ts",
  "adapter-http/test/{Upserts,WebhookDeliveries,Webhooks,Times,Texts,Queries,Numbers,NewValues,ContactList}.test.ts",
  "adapter-http/test/{ClientAddress,SharedResult,StaticResponse,TemplateParameters,WebHandler}.test.ts"
]

const callback_tests = [
  "provider-cloud/test/{WhatsApp,Messenger}{Callback,Contents}.test.ts",
  "provider-cloud/test/{SplitCallback,IgnoredItems,Documented,MarketingPreferences,PageMessages,Inbox}.test.ts"
]

/** Paths are below `packages`. A test that kills many mutants comes first, because the first failure ends a run. */
const declared: Readonly<Record<string, Declared>> = {
  "status-merge": {
    files: ["core/src/messages/Message.ts", "core/src/messages/MessageUpdate.ts"],
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
      "provider-cloud/src/SignedBodies.ts",
      "client/src/WebhookSignature.ts"
    ],
    tests: [
      "core/test/Webhooks/Signature.test.ts",
      "core/test/Secrets.test.ts",
      "core/test/Page.test.ts",
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
      "core/src/kernel/Retries.ts",
      "core/src/deliveries/WebhookDelivery.ts",
      "core/src/webhooks/Webhook.ts",
      "core/src/deliveries/WebhookOutcome.ts"
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
      "core/src/work/StorageUse.ts",
      "core/src/accounts/ApiKeys.ts",
      "core/src/kernel/Turns.ts",
      "adapter-http/src/middleware/UnknownKeys.ts"
    ],
    tests: [
      "core/test/Turns.test.ts",
      "core/test/StorageUse.test.ts",
      "core/test/ApiKeys.test.ts",
      "adapter-http/test/Turns.test.ts",
      "adapter-http/test/UnknownKeys.test.ts"
    ]
  },
  commit: {
    files: [
      "core/src/work/Changes.ts",
      "core/src/work/ConflictRetries.ts",
      "core/src/work/Decide.ts"
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
    files: ["core/src/conversations/Conversations.ts", "core/src/conversations/ConversationState.ts"],
    tests: ["core/test/decisions/Conversations.test.ts", ...conformance]
  },
  "decisions-messages": {
    files: ["core/src/messages/Messages.ts", "core/src/messages/ProviderMessage.ts"],
    tests: ["core/test/decisions/Messages.test.ts", "core/test/MessageList.test.ts", ...conformance]
  },
  "decisions-sends": {
    files: [
      "core/src/sends/Sends.ts",
      "core/src/sends/SendState.ts",
      "core/src/sends/SendCompletion.ts"
    ],
    tests: [
      "core/test/decisions/Sends.test.ts",
      "core/test/decisions/SendState.test.ts",
      "core/test/decisions/SendCompletion.test.ts",
      "core/test/decisions/MessageReports.test.ts",
      ...conformance,
      "provider-cloud/test/KnownPitfalls.test.ts",
      "adapter-http/test/Sends.test.ts"
    ]
  },
  dispatch: {
    files: ["core/src/sends/Dispatch.ts", "core/src/sends/SendOutcomes.ts"],
    tests: [
      "core/test/Dispatch.test.ts",
      "core/test/decisions/SendState.test.ts",
      "provider-cloud/test/PausedChannels.test.ts",
      ...conformance,
      "provider-cloud/test/KnownPitfalls.test.ts"
    ]
  },
  kernel: {
    files: ["core/src/kernel/**/*.ts"],
    tests: [
      "core/test/{Phones,Text,PlainText,Times,Timestamps,Ids,Operations,Purges,DecodedInput,Secrets}.test.ts",
      "core/test/codecs/*.test.ts",
      "adapter-memory/test/conformance/Ports.test.ts"
    ]
  },
  work: {
    files: ["core/src/work/*.ts", "core/src/{Worker,Housekeeping,Tables,Crm}.ts"],
    tests: ["core/test/{Worker,WorkerCapacity,WriteTime,SecretCanary}.test.ts", ...conformance]
  },
  accounts: {
    files: ["core/src/{accounts,catalog}/*.ts"],
    tests: [
      "core/test/ChannelAccounts.test.ts",
      "core/test/decisions/{ChannelHolds,Members}.test.ts",
      ...conformance,
      "adapter-http/test/Catalogs.test.ts"
    ]
  },
  contacts: {
    files: ["core/src/contacts/*.ts"],
    tests: [
      "core/test/{ContactMatches,ContactSearch,ContactTable,ContactUpserts,DecodedInput}.test.ts",
      "core/test/decisions/Contacts.test.ts",
      ...conformance,
      "adapter-http/test/{Contacts,ContactList}.test.ts"
    ]
  },
  inbound: {
    files: ["core/src/inbound/*.ts"],
    tests: [
      "core/test/CallbackInbox.test.ts",
      "core/test/decisions/MessageReports.test.ts",
      ...conformance,
      "provider-cloud/test/{CallbackProcessor,Inbox,ReplyWindow,MarketingPreferences}.test.ts"
    ]
  },
  outbound: {
    files: ["core/src/sends/*.ts"],
    tests: [
      "core/test/Templates.test.ts",
      "core/test/decisions/{TemplateFilling,SendState}.test.ts",
      "core/test/Dispatch.test.ts",
      ...conformance
    ]
  },
  "personal-data": {
    files: ["core/src/privacy/*.ts", "core/src/messages/MessageRetention.ts"],
    tests: ["core/test/decisions/ContactErasure.test.ts", ...conformance, "provider-cloud/test/Erasure.test.ts"]
  },
  media: {
    files: ["core/src/{conversations,messages}/*.ts"],
    tests: ["core/test/MessageDetails.test.ts", ...conformance, "adapter-http/test/Media.test.ts"]
  },
  webhooks: {
    files: ["core/src/{deliveries,events,replays,webhooks}/*.ts"],
    tests: [
      "core/test/EventWaits.test.ts",
      "core/test/Webhooks/*.test.ts",
      "core/test/decisions/{WebhookDeliveries,Webhooks}.test.ts",
      ...conformance,
      "adapter-http/test/{Events,WebhookDeliveries,Webhooks}.test.ts"
    ]
  },
  "sql-queue": {
    files: [
      "adapter-postgres/src/database/schema/functions/{claim_items,claim_work,lock_due_lanes}.sql",
      "adapter-postgres/src/database/schema/functions/{leased_items,waiting_items,schedule_lanes,sweep_lanes}.sql"
    ],
    tests: [ports, "adapter-postgres/test/WorkQueue.test.ts", "adapter-postgres/test/SkippedLocks.test.ts"],
    names: "Queue"
  },
  "sql-search": {
    files: ["adapter-postgres/src/database/schema/functions/find_contacts.sql"],
    tests: [ports, "adapter-postgres/test/{Contacts,ContactSearch}.test.ts"],
    names: "Contact|search"
  },
  "sql-functions": {
    files: ["adapter-postgres/src/database/schema/functions/*.sql"],
    tests: [ports, "adapter-postgres/test/{CommitEvents,CommitFailures,ContactSearch}.test.ts"],
    names: "Commit|Contact|Webhook"
  },
  "postgres-commit": {
    files: [
      "adapter-postgres/src/work/{Commit,BatchedCommit}.ts",
      "adapter-postgres/src/work/{Commit,BatchedCommit}/*.ts"
    ],
    tests: [...commits, ports, "adapter-postgres/test/{LockOrder,RowLocks}.test.ts"]
  },
  "postgres-work": {
    files: ["adapter-postgres/src/work/*.ts"],
    tests: [ports, "adapter-postgres/test/{WorkQueue,StorageUse,Idempotency,Rows,SkippedLocks}.test.ts"]
  },
  "postgres-removals": {
    files: ["adapter-postgres/src/messages/MessageRetention.ts", "adapter-postgres/src/privacy/*.ts"],
    tests: [ports, "adapter-postgres/test/{MessageRetention,PersonalData,LockOrder}.test.ts"]
  },
  "postgres-messaging": {
    files: ["adapter-postgres/src/{conversations,inbound,messages,privacy,sends}/*.ts"],
    tests: [ports, "adapter-postgres/test/SkippedLocks.test.ts"]
  },
  "postgres-webhooks": {
    files: ["adapter-postgres/src/{deliveries,events,webhooks}/*.ts"],
    tests: [ports, "adapter-postgres/test/{EventFollowers,WebhookDeliveries,PersonalData,SkippedLocks}.test.ts"]
  },
  "postgres-accounts": {
    files: ["adapter-postgres/src/{accounts,catalog}/*.ts"],
    tests: ["adapter-postgres/test/{ApiKeys,LocalWindows}.test.ts", ports]
  },
  "postgres-contacts": {
    files: ["adapter-postgres/src/contacts/*.ts"],
    tests: ["adapter-postgres/test/{Contacts,ContactSearch}.test.ts", ports]
  },
  "postgres-moves": {
    files: ["adapter-postgres/src/moves/*.ts"],
    tests: ["adapter-postgres/test/Moves.test.ts"]
  },
  "postgres-database": {
    files: ["adapter-postgres/src/database/**/*.ts"],
    tests: [
      "adapter-postgres/test/{Columns,Types,Hosts,StatementBatcher,SearchConnections,Statistics,Clock}.test.ts",
      "adapter-postgres/test/{Client,Migrations,ErrorDetails,Rows,SilentConnection,WriteTime}.test.ts",
      ports
    ]
  },
  memory: {
    files: ["adapter-memory/src/**/*.ts"],
    tests: [
      ...conformance,
      "adapter-memory/test/conformance/{Isolation,Expectations}.test.ts",
      "adapter-memory/test/{ApiKeys,FollowedOrder,World,WebhookTransport}.test.ts"
    ]
  },
  "http-middleware": {
    files: ["adapter-http/src/{middleware,outbound}/*.ts"],
    tests: http_tests
  },
  http: {
    files: ["adapter-http/src/**/*.ts"],
    tests: [
      ...http_tests,
      "adapter-http/test/{Contract,Document,DocumentErrors,DocumentShapes,DocsSamples,Client}.test.ts"
    ]
  },
  "cloud-callbacks": {
    files: ["provider-cloud/src/Callback.ts", "provider-cloud/src/Callback/**/*.ts"],
    tests: callback_tests
  },
  cloud: {
    files: ["provider-cloud/src/*.ts", "provider-cloud/src/Templates/*.ts"],
    tests: [
      "provider-cloud/test/{Deliver,SendRequests,ErrorCodes,GraphClient,AuthenticationTemplates,KnownPitfalls}.test.ts",
      "provider-cloud/test/{Ingress,CallbackProcessor,MediaLoader,Profiles,StoredAccounts,AccountCheck}.test.ts",
      "provider-cloud/test/{CloudAccounts,PersonIds,PausedChannels,PrivateAddresses,conformance}.test.ts",
      ...callback_tests
    ]
  },
  client: {
    files: ["client/src/*.ts"],
    tests: ["client/test/{Client,Retries,Pages,FollowedEvents,HardResponses,Operations}.test.ts"]
  },
  "server-edge": {
    files: ["server/src/http/*.ts"],
    tests: [
      "server/test/http/{Connection,OpenConnections,Rejections,EarlyResponses,WaitingRequests,Health,Stop}.test.ts"
    ]
  }
}

/** Source files of the mutated packages that only declare, list, or simulate. */
const not_mutated = [
  "*/src/index.ts",
  "adapter-http/src/api/*Examples.ts",
  "adapter-http/src/api/{ErrorTexts,Examples}.ts",
  "adapter-postgres/src/database/schema/tables/*.sql",
  "client/src/Contract.ts",
  "provider-cloud/src/fake/*.ts"
]

/** Returns the paths below `packages` that a pattern matches: at least one. */
const pathsOf = (pattern: string): ReadonlyArray<string> => {
  const paths = globSync(pattern, { cwd: "packages" }).toSorted()
  if (paths.length === 0) throw new Error(`There is no file packages/${pattern}.`)
  return paths
}

const resolved = (): Readonly<Record<string, Module>> => {
  const taken = new Set(not_mutated.flatMap(pathsOf))
  return Object.fromEntries(
    Object.entries(declared).map(([name, { files, names = "", tests }]) => {
      const own = files.flatMap((pattern) => {
        const free = pathsOf(pattern).filter((path) => !taken.has(path))
        if (free.length === 0) throw new Error(`Other modules have every file packages/${pattern}.`)
        for (const path of free) taken.add(path)
        return free
      })
      return [name, { files: own, names, tests: Array.from(new Set(tests.flatMap(pathsOf))) }] as const
    })
  )
}

export const modules = resolved()

const mutated = [
  "{core,adapter-postgres,adapter-memory,adapter-http,provider-cloud,client}/src/**/*.{ts,sql}",
  "server/src/http/*.ts"
]

const listed = new Set([...not_mutated.flatMap(pathsOf), ...Object.values(modules).flatMap(({ files }) => files)])
const unlisted = mutated.flatMap(pathsOf).filter((path) => !listed.has(path))
if (unlisted.length > 0) throw new Error(`No module has ${unlisted.join(", ")}.`)
