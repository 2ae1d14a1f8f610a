/** The table of shared resources in `docs/reliability.md`, compared with the limits and turns in the code. */
import { assert, describe, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { textOf } from "./Sources.ts"

/** Returns the number that a pattern captures in a file of a package; it can be a product. */
const number = (file: string, pattern: RegExp): number => {
  const [, text] = pattern.exec(textOf(`packages/${file}`)) ?? []
  assert.isDefined(text, `${file} has no ${pattern}`)
  return String(text).replaceAll("_", "").split("*").reduce((product, factor) => product * Number(factor), 1)
}

const limit = (name: string) => number("core/src/kernel/Limits.ts", new RegExp(`\\b${name}: ([\\d_]+)`))

const client = "adapter-postgres/src/database/Client.ts"
const connections = number(client, /connections = (\d+)/)
const commits = Math.floor(connections / number(client, /Math\.floor\(connections \/ (\d+)\)\), connections - 1/))
const searches = Math.floor(connections / number(client, /=> Math\.floor\(connections \/ (\d+)\)$/m))

/** The code of a row. */
interface Code {
  /** Every number in the row's cells. */
  readonly numbers?: ReadonlyArray<number>
  /** The files that make `Turns` or an `Order` for the resource, each as often as it makes one. */
  readonly turns?: ReadonlyArray<string>
}

const rows: Readonly<Record<string, Code>> = {
  "Connections of clients": { numbers: [number("server/src/http/HttpServer.ts", /connections_max: (\d+)/)] },
  "Requests on one connection": {},
  "Responses in preparation": {
    numbers: [number("server/src/http/HttpServer.ts", /requests_max: (\d+)/), limit("requests_at_once")],
    turns: ["adapter-http/src/middleware/Authentication.ts"]
  },
  "Lookups of unrecognized keys": {
    numbers: [limit("unknown_keys_at_once")],
    turns: ["adapter-http/src/middleware/UnknownKeys.ts"]
  },
  "Logins to the console": {
    numbers: [
      number("server/src/console/Login.ts", /\[at_once_max, site_at_once_max\] = \[(\d+), /),
      number("server/src/console/Login.ts", /\[at_once_max, site_at_once_max\] = \[\d+, (\d+)\]/),
      number("server/src/console/Login.ts", /\[per_minute_max, site_per_minute_max\] = \[(\d+), /),
      number("server/src/console/Login.ts", /\[per_minute_max, site_per_minute_max\] = \[\d+, (\d+)\]/),
      number("server/src/console/Login.ts", /turn_wait_max = Duration\.seconds\((\d+)\)/)
    ],
    turns: ["server/src/console/Login.ts"]
  },
  "Open pages of the console, and their requests": {
    numbers: [
      number("server/src/console/Inbox.ts", /\[pages_max, member_pages_max\] = \[(\d+), /),
      number("server/src/console/Inbox.ts", /\[pages_max, member_pages_max\] = \[\d+, (\d+)\]/),
      number("server/src/console/Console.ts", /member_calls_per_minute_max = (\d+)/),
      limit("requests_at_once")
    ],
    turns: ["server/src/console/Inbox.ts"]
  },
  "Messages of agents (`serve --mcp`)": {
    numbers: [
      limit("body_bytes_max") / 1024,
      number("server/src/mcp/Http.ts", /call_time_max = Duration\.seconds\((\d+)\)/)
    ]
  },
  "Cells": {
    numbers: [
      number("server/src/settings/Parsers.ts", /cells_max = (\d+)/),
      number("server/src/cells/Directory.ts", /entries_max = ([\d_]+)/)
    ]
  },
  "Downloads of files": {
    numbers: [limit("downloads_max"), limit("organization_downloads_max")],
    turns: ["adapter-http/src/handlers/Media.ts"]
  },
  "The docs page, the OpenAPI document, `/metrics`, `/health/ready`": {},
  "Database connections for commits": {
    numbers: [
      commits,
      connections,
      number("adapter-postgres/src/work/BatchedCommit.ts", /\[statements_max, commits_max\] = \[(\d+), /),
      number("adapter-postgres/src/work/BatchedCommit.ts", /\[statements_max, commits_max\] = \[\d+, (\d+)\]/),
      number(client, /lock_timeout: "(\d+)s"/)
    ],
    turns: ["adapter-postgres/src/work/BatchedCommit/Admission.ts"]
  },
  "Database connections for searches": {
    numbers: [
      searches,
      connections,
      number(client, /searches_per_connection = (\d+)/),
      number(client, /searching_settings = \{ statement_timeout: "(\d+)s"/)
    ],
    turns: ["adapter-postgres/src/database/SearchConnections.ts"]
  },
  "Database connections for reads, including authentication": {
    numbers: [
      connections - commits - searches,
      connections,
      number(client, /statements_per_connection: (\d+),\n {4}settings\n/),
      number("adapter-postgres/src/database/TimeLimits.ts", /statement_timeout: "(\d+)s"/)
    ],
    turns: ["adapter-postgres/src/database/Client/Connections.ts"]
  },
  "Lookups that share a statement": {
    numbers: [
      number("adapter-postgres/src/database/StatementBatcher.ts", /\[statements_max, requests_max\] = \[(\d+), /),
      number("adapter-postgres/src/database/StatementBatcher.ts", /\[statements_max, requests_max\] = \[\d+, (\d+)\]/)
    ],
    turns: ["adapter-postgres/src/database/StatementBatcher.ts"]
  },
  "Requests that wait for events, and streams of events": {
    numbers: [
      limit("followers_max"),
      limit("organization_followers_max"),
      number("core/src/events/EventWaits.ts", /sleep\("(\d+) millis"\)/)
    ],
    turns: ["core/src/events/EventWaits.ts"]
  },
  "Memory and time of a stream of events": {
    numbers: [
      number("adapter-http/src/handlers/EventStream.ts", /Duration\.minutes\((\d+)\)/),
      number("adapter-http/src/handlers/EventStream.ts", /pause = Duration\.seconds\((\d+)\)/),
      number("server/src/http/HttpServer.ts", /stall_millis: ([\d_]+)/) / 1000
    ]
  },
  "Retries of conflicting writes": { turns: ["core/src/work/ConflictRetries.ts"] },
  "Pages of long texts": {
    numbers: [limit("page_bytes_max")],
    turns: ["adapter-postgres/src/database/LongRows.ts"]
  },
  "People in upserts": {
    numbers: [number("core/src/contacts/ContactUpserts.ts", /people_at_once = (\d+)/)],
    turns: ["core/src/contacts/ContactUpserts.ts"]
  },
  "Live reads of template catalogs": {
    numbers: [number("core/src/sends/Templates.ts", /list_time_max = Duration\.seconds\((\d+)\)/)]
  },
  "Slots of a worker": {
    numbers: [number("core/src/Worker.ts", /in_progress_max = (\d+)/)],
    turns: ["core/src/work/WorkLoop.ts"]
  },
  "Replays of webhooks": {},
  "Exports and imports of contacts": {},
  "Lanes of the queue (a conversation, a webhook, a channel)": {
    numbers: [number("core/src/work/WorkQueue.ts", /webhook_delivery: \{ cap: (\d+)/)]
  },
  "Attempts to one host": {
    numbers: [number("core/src/deliveries/WebhookAttempt.ts", /\[host_attempts_max, host_wait_max\] = \[(\d+), /)],
    turns: ["core/src/deliveries/WebhookAttempt.ts"]
  },
  "Connections to endpoints": { numbers: [number("adapter-http/src/outbound/Connections.ts", /idle_max = (\d+)/)] },
  "Unverified bodies of callbacks": {
    numbers: [
      number("provider-cloud/src/Ingress.ts", /unverified_bytes_max = (\d+) \* body_bytes_max/) *
      number("provider-cloud/src/Ingress.ts", /body_bytes_max = ([\d *]+)/) / 2 ** 20,
      number("provider-cloud/src/SignedBodies.ts", /arrival_time_max = Duration\.seconds\((\d+)\)/)
    ]
  },
  "Callbacks in progress, and downloads of their files": {
    numbers: [
      number("core/src/inbound/CallbackInbox.ts", /in_progress_max = (\d+)/),
      number("provider-cloud/src/CallbackProcessor.ts", /files_max = (\d+)/),
      number("core/src/inbound/CallbackOrder.ts", /slot_wait_max = Duration\.seconds\((\d+)\)/)
    ],
    turns: ["provider-cloud/src/CallbackProcessor.ts"]
  },
  "Lookups of profiles": {
    numbers: [
      number("provider-cloud/src/Profiles.ts", /at_once_max = (\d+)/),
      number("provider-cloud/src/Profiles.ts", /in_progress_max = (\d+)/)
    ],
    turns: ["provider-cloud/src/Profiles.ts", "provider-cloud/src/Profiles.ts"]
  },
  "Disk: idempotency records, events with their resources, deliveries, work items": {
    // `adapter-postgres/test/StorageUse.test.ts` tests the difference.
    numbers: [limit("stored_bytes_max") / 1e9, 25]
  },
  "Disk: audit records": {
    numbers: [200] // an approximation
  },
  "Disk: contacts, conversations, messages, sends, disabled webhooks": { numbers: [limit("body_bytes_max") / 1024] },
  "Disk: replays of a webhook, lanes of the queue, sums of the storage budget": {
    // One for each hour in which stored bytes can expire: `conformance/src/Ports/StorageUse.ts` tests it.
    numbers: [792]
  },
  "Disk: callbacks and files of a network": { numbers: [limit("media_bytes_max")] },
  "A full disk": {},
  "Rows: webhooks, tags, contact fields": {
    numbers: [limit("webhooks_active_max"), limit("tags_max"), limit("contact_fields_max")]
  },
  "One contact: notes, custom values, tags": {
    numbers: [
      limit("notes_chars_max"),
      limit("contact_fields_max"),
      limit("custom_value_chars_max"),
      limit("tag_ids_max")
    ]
  },
  "One message: its details": { numbers: [limit("details_bytes_max") / 1024] },
  "One message that has not arrived: its updates": {
    numbers: [number("core/src/messages/Messages.ts", /early_update_age_max = Duration\.days\((\d+)\)/)]
  },
  "Memory, event loop": {
    numbers: [
      limit("body_bytes_max") / 1024,
      number("server/src/http/Connection.ts", /\[piece_bytes_min, piece_bytes_max\] = \[(\d+), /),
      number("server/src/http/Connection.ts", /\[first_turn_bytes, turn_bytes\] = \[([\d_]+), /) / 1024,
      number("server/src/http/Connection.ts", /\[first_turn_bytes, turn_bytes\] = \[[\d_]+, ([\d_]+)\]/) / 1024
    ]
  }
}

/** The cells of each row of the table. */
const table = (textOf("docs/reliability.md").split("\n## Shared resources\n")[1]?.split("\n## ")[0] ?? "")
  .split("\n").filter((line) => line.startsWith("| ")).slice(1)
  .map((line) => line.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, "")))

/** Returns the numbers of a text, without those of code and status codes. */
const numbersIn = (text: string): ReadonlyArray<number> =>
  Array.from(
    text.replaceAll(/`[^`]*`|\b(?:429|50[37])\b/g, "").matchAll(/\b\d[\d,]*\b/g),
    ([digits]) => Number(digits.replaceAll(",", ""))
  )

const inOrder = (values: Iterable<number>) => Array.from(new Set(values)).toSorted((one, other) => one - other)

describe("the table of shared resources", () => {
  it("has a row for each resource", () => {
    assert.sameMembers(table.map(([resource = ""]) => resource), Object.keys(rows))
  })

  for (const [resource = "", ofProcess = "", ofOne = "", tests = ""] of table) {
    it(`has the limits of the code: ${resource}`, () => {
      assert.deepStrictEqual(inOrder(numbersIn(`${ofProcess} ${ofOne}`)), inOrder(rows[resource]?.numbers ?? []))
    })

    it(`names a test: ${resource}`, () => {
      assert.match(tests, /`[\w./-]+\/[\w.-]+\.ts`/)
    })
  }

  it("names all turns that the code makes", () => {
    const made = globSync("packages/*/src/**/*.ts").flatMap((file) =>
      Array.from(textOf(file).matchAll(/new (?:Turns|Order)\b/g), () => file.replace("packages/", ""))
    ).filter((file) => file !== "core/src/kernel/Turns.ts")
    assert.deepStrictEqual(made.toSorted(), Object.values(rows).flatMap(({ turns = [] }) => turns).toSorted())
  })

  it("knows no other kind of turn", () => {
    const others = globSync("packages/*/src/**/*.ts").filter((file) => /\bSemaphore\b/.test(textOf(file)))
    assert.deepStrictEqual(others, [])
  })
})
