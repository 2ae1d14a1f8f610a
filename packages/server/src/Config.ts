/**
 * Every setting of the service, in one table. A flag overrides the environment
 * variable, which overrides the default. An invalid value stops the start.
 */
import { networks } from "@messaging-crm/adapter-http/outbound/Addresses"
import { isUrl } from "@messaging-crm/adapter-postgres/Client"
import { Config, Data, Effect, Option, Redacted } from "effect"

/** A setting is missing or invalid. */
export class WrongSetting extends Data.TaggedError("WrongSetting")<{ readonly message: string }> {}

interface Setting<A> {
  readonly name: string
  readonly meaning: string
  /** The default, or when it is required, in words. */
  readonly otherwise: string
  readonly expected: string
  readonly parse: (text: string) => Option.Option<A>
  readonly secret?: boolean
}

const integer = (min: number, max: number) => (text: string): Option.Option<number> =>
  /^[0-9]{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max ? Option.some(Number(text)) : Option.none()

const oneOf = <const Values extends ReadonlyArray<string>>(...values: Values) => (text: string) =>
  Option.fromUndefinedOr(values.find((value): value is Values[number] => value === text))

const url = (...protocols: ReadonlyArray<string>) => (text: string): Option.Option<string> =>
  URL.canParse(text) && protocols.includes(new URL(text).protocol) ? Option.some(text) : Option.none()

const rootKey = (text: string): Option.Option<Redacted.Redacted<Uint8Array<ArrayBuffer>>> => {
  const bytes = Uint8Array.from(Buffer.from(text.trim(), "base64"))
  return bytes.byteLength === 32 ? Option.some(Redacted.make(bytes)) : Option.none()
}

const rootKeys = (text: string) => Option.all(text.split(",").map(rootKey))

const pair = (text: string): Option.Option<readonly [string, string]> => {
  const [, name = "", value = ""] = /^\s*([\w-]+)=(.*)$/.exec(text) ?? []
  const decoded = Option.liftThrowable(decodeURIComponent)(value.trim())
  return name === "" ? Option.none() : Option.map(decoded, (value) => [name, value])
}

const pairs = (text: string): Option.Option<Readonly<Record<string, string>>> =>
  Option.map(Option.all(text.split(",").map(pair)), Object.fromEntries)

const setting = <A>(value: Setting<A>): Setting<A> => value

/** The table. */
export const settings = {
  port: setting({
    name: "PORT",
    meaning: "the port to listen on; 0 takes any free one",
    otherwise: "3000",
    expected: "a port number from 0 to 65535",
    parse: integer(0, 65_535)
  }),
  host: setting({
    name: "HOST",
    meaning: "the address to listen on",
    otherwise: "127.0.0.1 in dev, 0.0.0.0 in serve",
    expected: "a host name or an IP address",
    parse: (text) => /^[A-Za-z0-9.:-]+$/.test(text) ? Option.some(text) : Option.none()
  }),
  metrics_port: setting({
    name: "METRICS_PORT",
    meaning: "a port of its own for /metrics, also of a worker, so that clients of the API cannot reach it",
    otherwise: "/metrics is on PORT, and a worker has none",
    expected: "a port number from 1 to 65535",
    parse: integer(1, 65_535)
  }),
  database_url: setting({
    name: "DATABASE_URL",
    meaning: "the PostgreSQL database",
    otherwise: "required, except in dev, which brings its own",
    expected:
      "a URL such as postgres://user:password@host:5432/database; it may name several hosts, separated by commas, of which the one that accepts writes is used",
    parse: (text) => isUrl(text) ? Option.some(Redacted.make(text)) : Option.none(),
    secret: true
  }),
  database_pool: setting({
    name: "DATABASE_POOL",
    meaning: "how many connections a process opens",
    otherwise: "10",
    expected: "a number from 1 to 1000",
    parse: integer(1, 1000)
  }),
  secret_key: setting({
    name: "SECRET_KEY",
    meaning:
      "32 bytes in base64; signs cursors, media links and callbacks, and encrypts secrets of webhooks and tokens of channels; a comma-separated list allows rotation, newest first",
    otherwise: "required by serve, worker and mock-provider; dev keeps one in its data directory",
    expected: "32 bytes in base64, or a comma-separated list of such keys; `openssl rand -base64 32` makes one",
    parse: rootKeys,
    secret: true
  }),
  public_url: setting({
    name: "PUBLIC_URL",
    meaning: "where clients reach the service; links to media begin with it",
    otherwise: "the host that a request names",
    expected: "a URL such as https://crm.example.com",
    parse: (text) =>
      /[?#]/.test(text) ? Option.none() : Option.map(url("http:", "https:")(text), (given) => given.replace(/\/+$/, ""))
  }),
  rate_limit_per_minute: setting({
    name: "RATE_LIMIT_PER_MINUTE",
    meaning: "how many requests a key may make in a minute",
    otherwise: "120",
    expected: "a number from 1 to 1000000",
    parse: integer(1, 1_000_000)
  }),
  audit_days: setting({
    name: "AUDIT_DAYS",
    meaning: "how many days the records of the audit are stored",
    otherwise: "400",
    expected: "a number from 1 to 36500",
    parse: integer(1, 36_500)
  }),
  docs_try_requests: setting({
    name: "DOCS_TRY_REQUESTS",
    meaning: "whether the docs page asks for an API key and sends requests",
    otherwise: "true in dev, false in serve",
    expected: "true or false",
    parse: (text) => Option.map(oneOf("true", "false")(text), (value) => value === "true")
  }),
  storage_budget_mb: setting({
    name: "STORAGE_BUDGET_MB",
    meaning: "megabytes of idempotency records and webhook deliveries per organization",
    otherwise: "10000",
    expected: "a number from 1 to 100000000",
    parse: integer(1, 100_000_000)
  }),
  requests_at_once: setting({
    name: "REQUESTS_AT_ONCE",
    meaning: "concurrent requests per key and process; further requests wait for their turn",
    otherwise: "32",
    expected: "a number from 1 to 10000",
    parse: integer(1, 10_000)
  }),
  provider: setting({
    name: "PROVIDER",
    meaning: "the messaging provider",
    otherwise: "mock in dev; required by serve and worker",
    expected: "one of mock, cloud",
    parse: oneOf("mock", "cloud")
  }),
  provider_url: setting({
    name: "PROVIDER_URL",
    meaning: "a mock provider in a process of its own",
    otherwise: "the mock provider runs inside the service",
    expected: "a URL such as http://127.0.0.1:4010",
    parse: url("http:")
  }),
  cloud_accounts: setting({
    name: "CLOUD_ACCOUNTS",
    meaning: "the apps at the real networks with their secrets, and accounts whose tokens are not stored",
    otherwise: "required with PROVIDER=cloud, except in dev, which brings a fake network",
    expected: "JSON with `apps`, as packages/provider-cloud shows it",
    parse: (text) => Option.some(Redacted.make(text)),
    secret: true
  }),
  graph_url: setting({
    name: "GRAPH_URL",
    meaning: "where the Graph API is",
    otherwise: "https://graph.facebook.com, and https://graph.instagram.com for accounts that logged in there",
    expected: "a URL such as http://127.0.0.1:4020",
    parse: url("http:", "https:")
  }),
  graph_version: setting({
    name: "GRAPH_VERSION",
    meaning: "the version of the Graph API",
    otherwise: "v25.0",
    expected: "a version such as v25.0",
    parse: (text) => /^v[0-9]{1,3}\.[0-9]{1,3}$/.test(text) ? Option.some(text) : Option.none()
  }),
  graph_timeout_seconds: setting({
    name: "GRAPH_TIMEOUT_SECONDS",
    meaning: "how long a send waits for the answer of the Graph API; after that its outcome is unknown",
    otherwise: "15",
    expected: "a number from 1 to 18",
    parse: integer(1, 18)
  }),
  webhook_allowed_networks: setting({
    name: "WEBHOOK_ALLOWED_NETWORKS",
    meaning: "private networks that webhooks may be sent to, also over http",
    otherwise: "none",
    expected: "a comma-separated list of networks such as 127.0.0.0/8,::1/128",
    parse: (text) => networks(text.split(",").map((network) => network.trim()))
  }),
  media_allowed_networks: setting({
    name: "MEDIA_ALLOWED_NETWORKS",
    meaning: "private networks that the files of messages can be loaded from, also over http; for tests",
    otherwise: "none",
    expected: "a comma-separated list of networks such as 127.0.0.0/8,::1/128",
    parse: (text) => networks(text.split(",").map((network) => network.trim()))
  }),
  base_url: setting({
    name: "BASE_URL",
    meaning: "the service that `webhooks listen` subscribes to",
    otherwise: "http://127.0.0.1:3000/v1",
    expected: "a URL such as http://127.0.0.1:3000/v1",
    parse: url("http:", "https:")
  }),
  api_key: setting({
    name: "API_KEY",
    meaning: "the key that `webhooks listen` subscribes with",
    otherwise: "required by it",
    expected: "a key with the scope webhooks:manage",
    parse: (text) => Option.some(Redacted.make(text)),
    secret: true
  }),
  otlp_endpoint: setting({
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    meaning: "where traces, metrics and logs are exported to over OTLP, as JSON",
    otherwise: "none are exported",
    expected: "a URL such as http://127.0.0.1:4318",
    parse: url("http:", "https:")
  }),
  otlp_headers: setting({
    name: "OTEL_EXPORTER_OTLP_HEADERS",
    meaning: "headers of those exports, such as a key of the collector",
    otherwise: "none",
    expected: "names and values such as authorization=Bearer%20abc,x-tenant=crm",
    parse: pairs,
    secret: true
  }),
  otel_service_name: setting({
    name: "OTEL_SERVICE_NAME",
    meaning: "the name of this service in exported telemetry",
    otherwise: "messaging-crm",
    expected: "a name",
    parse: Option.some<string>
  }),
  log_level: setting({
    name: "LOG_LEVEL",
    meaning: "the minimum level that is logged",
    otherwise: "info",
    expected: "one of debug, info, warn (or warning), error, none",
    parse: oneOf("debug", "info", "warn", "warning", "error", "none")
  }),
  log_format: setting({
    name: "LOG_FORMAT",
    meaning: "the format of the log",
    otherwise: "pretty on a terminal, else json",
    expected: "one of pretty, json",
    parse: oneOf("pretty", "json")
  })
} as const

const name_width = Math.max(...Object.values(settings).map(({ name }) => name.length))

/** The table as text, for `--help`. */
export const help: string = [
  "Settings, from the environment. A flag of the same name wins.",
  ...Object.values(settings).map(({ meaning, name, otherwise }) =>
    `  ${name.padEnd(name_width)}  ${meaning} (${otherwise})`
  )
].join("\n  ")

/** Reads a setting from its flag or the environment. None when it is absent or empty. */
export const read = Effect.fnUntraced(function*<A>(
  { expected, name, parse, secret = false }: Setting<A>,
  flag: Option.Option<string> = Option.none()
): Effect.fn.Return<Option.Option<A>, WrongSetting> {
  const given = yield* Config.option(Config.String(name)).pipe(
    Effect.mapError((error) => new WrongSetting({ message: `${name} cannot be read: ${error.message}` }))
  )
  const text = Option.filter(Option.orElse(flag, () => given), (value) => value !== "")
  if (Option.isNone(text)) return Option.none()
  const value = parse(text.value)
  if (Option.isSome(value)) return value
  const shown = secret ? "" : `, not "${text.value}"`
  return yield* new WrongSetting({ message: `${name} must be ${expected}${shown}.` })
})

/** Reads a setting that has a default. */
export const readOr = <A, const D extends A>(
  value: Setting<A>,
  fallback: D,
  flag?: Option.Option<string>
): Effect.Effect<A, WrongSetting> => Effect.map(read(value, flag), Option.getOrElse(() => fallback))

/** Reads a setting that is required. */
export const readRequired = <A>(value: Setting<A>, flag?: Option.Option<string>): Effect.Effect<A, WrongSetting> =>
  Effect.flatMap(
    read(value, flag),
    Option.match({
      onNone: () => Effect.fail(new WrongSetting({ message: `${value.name} is required: ${value.expected}.` })),
      onSome: Effect.succeed
    })
  )
