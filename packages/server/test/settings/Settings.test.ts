/** The texts that settings accept, and the units of the values that core gets. */
import { assert, it } from "@effect/vitest"
import { RequestsAtOnce } from "@messaging-crm/adapter-http"
import { RequestsPerMinute } from "@messaging-crm/core/ApiKeys"
import { AuditAgeMax } from "@messaging-crm/core/Audit"
import { MessageAgeMax } from "@messaging-crm/core/MessageRetention"
import { StorageBudget } from "@messaging-crm/core/StorageUse"
import { ConfigProvider, Duration, Effect, Option } from "effect"
import { check } from "../../src/settings/Config.ts"
import * as CoreSettings from "../../src/settings/CoreSettings.ts"
import { settings } from "../../src/settings/Settings.ts"

const keyOf = (bytes: number) => Buffer.alloc(bytes, 7).toString("base64")

/** The texts that some settings accept, and those that they reject. */
const texts: ReadonlyArray<
  readonly [keyof typeof settings, accepted: ReadonlyArray<string>, rejected: ReadonlyArray<string>]
> = [
  ["secret_key", [keyOf(32), `${keyOf(32)}, ${keyOf(32)} `], ["", keyOf(31), keyOf(33), `${keyOf(32)},`]],
  ["trusted_proxies", ["10.0.0.0/8", "10.0.0.0/8, fd00::/8"], [
    "",
    "10.0.0.0/33",
    "10.0.0.0/8,",
    "10.0.0.0/8 fd00::/8"
  ]],
  ["graph_url", ["http://127.0.0.1:4020", "https://graph.example"], ["", "ftp://graph.example", "graph.example"]],
  ["provider", ["mock", "cloud"], ["", "Mock", "mock "]],
  ["graph_version", ["v25.0", "v125.10"], ["25.0", "v25", "v25.0.1", "v1234.0"]],
  ["otlp_headers", ["a=b", "a=", "a-b=c=d"], ["", "=a", "a", "a=%zz", "a=b,"]],
  ["nats_servers", ["nats://127.0.0.1:4222", "nats://user:p%40ss@a:4222, tls://b"], [
    "",
    "127.0.0.1:4222",
    "http://127.0.0.1:4222",
    "nats://a/b",
    "nats://a,",
    "nats://a:p%zz@h:4222",
    "nats://p%zz@h:4222",
    "nats://a b"
  ]],
  ["security_contact", ["mailto:security@acme.example", "https://acme.example/security"], [
    "",
    "security@acme.example",
    "http://acme.example",
    "mailto:a@acme.example b@acme.example",
    "https://acme.example\nContact: x"
  ]],
  ["console_url", [
    "https://crm.example.com",
    "https://crm.example.com:8443/",
    "http://localhost:3000",
    "http://127.0.0.1:3000"
  ], [
    "",
    "http://crm.example.com",
    "https://crm.example.com/console",
    "https://ada@crm.example.com",
    "crm.example.com",
    "http://localhost.example.com"
  ]],
  ["console_organization_id", ["01990000-0000-7000-8000-000000000000"], ["", "acme"]],
  ["console_session_key", [keyOf(32), `${keyOf(32)},${keyOf(32)}`], ["", keyOf(16), "a password"]],
  ["oidc_issuer", ["https://login.example.com", "https://login.example.com/tenant/", "http://127.0.0.1:9000"], [
    "",
    "http://login.example.com",
    "https://login.example.com?a=b",
    "https://login.example.com/#a"
  ]],
  ["oidc_client_id", ["crm-console"], ["", "a b", "a".repeat(501)]],
  ["oidc_client_secret", ["a-secret"], ["", "a secret", "a\nb"]],
  ["docs_try_requests", ["true", "false"], ["", "1", "TRUE"]],
  ["cells", [
    "a=postgres://host/crm",
    "\n eu-1=postgres://u:p@one,two/crm?options=-csearch_path%3Dx\n\n\teu-2=postgres://host/crm\n",
    Array.from({ length: 64 }, (_, index) => `c${index}=postgres://host/crm`).join(" ")
  ], [
    "",
    "postgres://host/crm",
    "a=",
    "a=mysql://host/crm",
    "A=postgres://host/crm",
    "1=postgres://host/crm",
    `a${"b".repeat(32)}=postgres://host/crm`,
    "a=postgres://host/crm a=postgres://other/crm",
    "a,b=postgres://host/crm",
    Array.from({ length: 65 }, (_, index) => `c${index}=postgres://host/crm`).join(" ")
  ]],
  ["cells_worked", ["a", "eu-1, eu-2"], ["", "a,", "a,a", "a b"]]
]

for (const [name, accepted, rejected] of texts) {
  it(`${settings[name].name} accepts only what it describes`, () => {
    for (const text of accepted) assert.isTrue(Option.isSome<unknown>(settings[name].parse(text)), text)
    for (const text of rejected) assert.isTrue(Option.isNone<unknown>(settings[name].parse(text)), text)
  })
}

for (const { name, parse, valid_values } of Object.values(settings)) {
  const [, min, max] = /from (\d+) to (\d+)$/.exec(valid_values) ?? []
  if (min === undefined || max === undefined) continue
  it(`${name} accepts the numbers of its range`, () => {
    for (const text of [min, max]) assert.deepStrictEqual<unknown>(parse(text), Option.some(Number(text)))
    const others = [String(Number(min) - 1), String(Number(max) + 1), `${max} `, `${max}.5`, `+${max}`, "1e1", ""]
    for (const text of others) assert.isTrue(Option.isNone<unknown>(parse(text)), text)
  })
}

it("values of headers are percent-decoded, without the spaces around them", () => {
  assert.deepStrictEqual(
    settings.otlp_headers.parse("authorization=Bearer%20abc, x-tenant= crm "),
    Option.some({ authorization: "Bearer abc", "x-tenant": "crm" })
  )
})

it("DOCS_URL is a URL in ASCII, as headers are, without slashes at its end", () => {
  for (
    const [text, url] of [
      ["https://docs.example/", "https://docs.example"],
      ["HTTPS://docs.example/crm//", "https://docs.example/crm"],
      ["https://bücher.example/führer/", "https://xn--bcher-kva.example/f%C3%BChrer"]
    ] as const
  ) assert.deepStrictEqual(settings.docs_url.parse(text), Option.some(url))
})

const inCore = (variables: Readonly<Record<string, string>>) =>
  Effect.gen(function*() {
    return {
      requests: yield* RequestsPerMinute,
      at_once: yield* RequestsAtOnce,
      bytes: yield* StorageBudget,
      messages: Duration.toDays(yield* MessageAgeMax),
      audit: Duration.toDays(yield* AuditAgeMax)
    }
  }).pipe(
    Effect.provide(CoreSettings.layer),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown(variables))
  )

it.effect("core gets the values in its own units, or its defaults", () =>
  Effect.gen(function*() {
    const given = {
      RATE_LIMIT_PER_MINUTE: "7",
      REQUESTS_AT_ONCE: "8",
      STORAGE_BUDGET_MB: "9",
      MESSAGE_RETENTION_DAYS: "40",
      AUDIT_DAYS: "41"
    }
    const values = { requests: 7, at_once: 8, bytes: 9_000_000, messages: 40, audit: 41 }
    assert.deepStrictEqual(yield* inCore(given), values)
    const defaults = { requests: 120, at_once: 32, bytes: 10_000_000_000, messages: Infinity, audit: 400 }
    assert.deepStrictEqual(yield* inCore({}), defaults)
  }))

const checked = (variables: Readonly<Record<string, string>>) =>
  check(["database_url"]).pipe(
    Effect.flip,
    Effect.map(({ message }) => message),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown(variables))
  )

const cells = "eu-1=postgres://host/one eu-2=postgres://host/two"

it.effect("CELLS replaces DATABASE_URL, and has the cells of CELLS_WORKED", () =>
  Effect.gen(function*() {
    yield* check(["database_url"]).pipe(
      Effect.provideService(
        ConfigProvider.ConfigProvider,
        ConfigProvider.fromUnknown({ CELLS: cells, CELLS_WORKED: "eu-2" })
      )
    )
    assert.strictEqual(
      yield* checked({ CELLS: cells, DATABASE_URL: "postgres://host/crm", CELLS_WORKED: "eu-3,eu-1" }),
      "CELLS and DATABASE_URL are both set. Remove one of them.\nCELLS_WORKED names cells that are not in CELLS: eu-3."
    )
    assert.match(yield* checked({ CELLS: "a=secret" }), /^CELLS must be a list of at most 64 entries [^"]*\.$/)
    assert.match(yield* checked({}), /^DATABASE_URL is required/)
  }))
