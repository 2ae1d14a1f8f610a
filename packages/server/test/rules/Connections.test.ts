/** The files that can open connections. */
import { assert, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { textOf } from "./Sources.ts"

/**
 * The files that open connections, each with its destination. Only `outbound/Connections.ts`, which checks addresses, connects to an address
 * that no setting contains, such as one in a callback. A name without an extension is that file and its folder.
 */
const destinations: Readonly<Record<string, string>> = {
  "adapter-http/src/Docs/Contract.ts": "the docs page, in a browser",
  "adapter-http/src/Docs/Samples.ts": "the text of samples, for a reader",
  "adapter-http/src/outbound/Downloads.ts": "addresses that were checked",
  "adapter-http/src/outbound/Addresses.ts": "no connection: forms of addresses",
  "adapter-http/src/outbound/Connections.ts": "addresses that were checked",
  "adapter-postgres/src/database/Client/Connections.ts": "DATABASE_URL",
  "adapter-postgres/src/database/Client/Watchdog.ts": "DATABASE_URL",
  "client/src/Attempt.ts": "the base URL that the caller sets",
  "client/src/MessagingCrm.ts": "the base URL that the caller sets",
  "provider-cloud/src/GraphClient.ts": "GRAPH_URL",
  "provider-cloud/src/fake/CallbackSender.ts": "the callback URL of the fake network",
  "provider-mock/src/http/CallbackSender.ts": "the callback URL of the mock network",
  "provider-mock/src/http/RemoteMock.ts": "PROVIDER_URL",
  "server/src/dev/DevConsole.ts": "this service",
  "server/src/dev/EmbeddedPostgres.ts": "a database on this machine",
  "server/src/dev/FreePort.ts": "no connection: a server",
  "server/src/http": "no connection: a server",
  "server/src/BuiltInProviders.ts": "the client of GraphClient.ts",
  "server/src/observability/Telemetry.ts": "OTEL_EXPORTER_OTLP_ENDPOINT",
  "server/src/cli/WebhookListener.ts": "BASE_URL"
}

const connection_pattern = new RegExp([
  "(?<![.\\w])fetch\\s*\\(",
  "\\b(?:globalThis|window)\\.fetch\\b",
  "\\b(?:Fetch|Node|Undici|Bun)HttpClient\\b",
  "\\bclient\\.(?:execute|get|post|request)\\(",
  "\\b(?:XMLHttpRequest|WebSocket|EventSource|sendBeacon)\\b",
  "\"(?:undici|node:(?:http|https|http2|net|tls|dgram))\""
].join("|"))

it("only listed files open connections", () => {
  const found = globSync("packages/*/src/**/*.ts").filter((file) => connection_pattern.test(textOf(file)))
  const nameOf = (file: string) =>
    Object.keys(destinations).find((name) => name === file || file.startsWith(`${name}/`) || file === `${name}.ts`) ??
      file
  const named = new Set(found.map((file) => nameOf(file.slice("packages/".length))))
  assert.sameMembers(Array.from(named), Object.keys(destinations))
})
