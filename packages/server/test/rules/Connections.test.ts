/** The files that can open connections. */
import { assert, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { clients } from "../outbound/Clients.ts"
import { textOf } from "./Sources.ts"

/**
 * The other files that open connections, each with the reason for which no outbound policy applies. Only
 * `outbound/Connections.ts`, which checks addresses, connects to an address that no setting contains, such as one in a
 * callback. A name without an extension is that file and its folder.
 */
const withoutPolicy: Readonly<Record<string, string>> = {
  "adapter-http/src/Docs/Contract.ts": "the docs page, in a browser",
  "adapter-http/src/Docs/Samples.ts": "the text of samples, for a reader",
  "adapter-http/src/outbound/Addresses.ts": "no connection: forms of addresses",
  "adapter-postgres/src/database/Client/Connections.ts": "DATABASE_URL",
  "adapter-postgres/src/database/Client/Watchdog.ts": "DATABASE_URL",
  "destination-nats/src": "NATS_SERVERS",
  "provider-cloud/src/fake/CallbackSender.ts": "the callback URL of the fake network",
  "server/src/console/IdentityProvider.ts": "OIDC_ISSUER, and the addresses that its provider publishes there",
  "server/src/dev/DevConsole.ts": "this service",
  "server/src/dev/EmbeddedPostgres.ts": "a database on this machine",
  "server/src/dev/FreePort.ts": "no connection: a server",
  "server/src/http": "no connection: a server",
  "server/src/BuiltInProviders.ts": "the client of GraphClient.ts"
}

const connection_pattern = new RegExp([
  "(?<![.\\w])fetch\\s*\\(",
  "\\b(?:globalThis|window)\\.fetch\\b",
  "\\b(?:Fetch|Node|Undici|Bun)HttpClient\\b",
  "\\b(?:HttpClient\\.execute|HttpApiClient\\.make\\w*)\\(",
  "\\bclient\\.(?:dispatch|execute|get|post|request)\\(",
  "\\bcall(?:ForResponse)?\\(\\s*client\\b",
  "\\b(?:XMLHttpRequest|WebSocket|EventSource|sendBeacon)\\b",
  "\"openid-client\"",
  "\"@nats-io/",
  "\"(?:undici|node:(?:http|https|http2|net|tls|dgram))\""
].join("|"))

it("a file that opens connections is of a client whose policy is tested, or is listed with a reason", () => {
  const known = [...Object.values(clients).flatMap(({ files }) => files), ...Object.keys(withoutPolicy)]
  const found = globSync("packages/*/src/**/*.ts").filter((file) => connection_pattern.test(textOf(file)))
  const nameOf = (file: string) =>
    known.find((name) => name === file || file.startsWith(`${name}/`) || file === `${name}.ts`) ??
      file
  const named = new Set(found.map((file) => nameOf(file.slice("packages/".length))))
  assert.deepStrictEqual(Array.from(named).toSorted(), Array.from(new Set(known)).toSorted())
})
