/** Every setting of the service, in one table. `docs/configuration.md` is generated from it. */
import * as Hosts from "@messaging-crm/adapter-postgres/Hosts"
import { AuditAgeMax } from "@messaging-crm/core/Audit"
import { limits } from "@messaging-crm/core/Limits"
import { cloudSettings } from "@messaging-crm/provider-cloud/CloudSettings"
import { Duration, Option, Redacted } from "effect"
import { integer, networkList, oneOf, pairs, rootKeys, url } from "./Parsers.ts"

/** The groups of the reference, in order. */
export const groups = [
  "Network",
  "Database and secrets",
  "Provider",
  "Limits and retention",
  "Docs page",
  "Logs and telemetry",
  "Commands"
] as const

type Group = (typeof groups)[number]

/** A setting: an environment variable, or for some commands a flag. */
export interface Setting<A> {
  readonly name: string
  readonly group: Group
  readonly meaning: string
  /** The default, or "required". */
  readonly otherwise: string
  readonly expected: string
  readonly parse: (text: string) => Option.Option<A>
  /** A secret is not shown in errors, and can be read from the file that `NAME_FILE` names. */
  readonly secret?: boolean
}

/** A setting with a default. */
export interface SettingWithDefault<A> extends Setting<A> {
  readonly fallback: A
}

const setting = <A>(value: Setting<A>): Setting<A> => value

/** Makes a setting with a default, which its description names. A command can define the setting with another default. */
export const withDefault = <A extends number | string>(
  fallback: NoInfer<A>,
  value: Omit<Setting<A>, "otherwise">
): SettingWithDefault<A> => ({ ...value, fallback, otherwise: String(fallback) })

/** The table. */
export const settings = {
  port: withDefault(3000, {
    name: "PORT",
    group: "Network",
    meaning: "Port of the API; 0 selects a free port",
    expected: "a port number from 0 to 65535",
    parse: integer(0, 65_535)
  }),
  host: setting({
    name: "HOST",
    group: "Network",
    meaning: "Address to listen on",
    otherwise: "127.0.0.1 in dev, 0.0.0.0 in serve",
    expected: "a host name or an IP address",
    parse: (text) => /^[A-Za-z0-9.:-]+$/.test(text) ? Option.some(text) : Option.none()
  }),
  metrics_port: setting({
    name: "METRICS_PORT",
    group: "Network",
    meaning: "Separate port for /metrics, in workers too",
    otherwise: "serve uses PORT; a worker serves no metrics",
    expected: "a port number from 1 to 65535",
    parse: integer(1, 65_535)
  }),
  public_url: setting({
    name: "PUBLIC_URL",
    group: "Network",
    meaning: "Public base URL, used in media links; set it if a reverse proxy terminates TLS",
    otherwise: "the host of the request",
    expected: "a URL such as https://crm.example.com",
    parse: (text) =>
      /[?#]/.test(text) ? Option.none() : Option.map(url("http:", "https:")(text), (given) => given.replace(/\/+$/, ""))
  }),
  trusted_proxies: setting({
    name: "TRUSTED_PROXIES",
    group: "Network",
    meaning: "Networks of reverse proxies whose X-Forwarded-For header names the client's IP address",
    otherwise: "none; the client is the peer of the connection",
    expected: "a comma-separated list of networks such as 10.0.0.0/8,fd00::/8",
    parse: networkList
  }),
  webhook_allowed_networks: setting({
    name: "WEBHOOK_ALLOWED_NETWORKS",
    group: "Network",
    meaning: "Private networks that webhooks can reach, over http or https",
    otherwise: "none; dev allows loopback addresses",
    expected: "a comma-separated list of networks such as 127.0.0.0/8,::1/128",
    parse: networkList
  }),
  media_allowed_networks: setting({
    name: "MEDIA_ALLOWED_NETWORKS",
    group: "Network",
    meaning: "Private networks from which message files can be loaded, over http or https; for tests only",
    otherwise: "none",
    expected: "a comma-separated list of networks such as 127.0.0.0/8,::1/128",
    parse: networkList
  }),
  database_url: setting({
    name: "DATABASE_URL",
    group: "Database and secrets",
    meaning: "PostgreSQL database, version 17 or later",
    otherwise: "required; dev starts its own database",
    expected:
      "a URL such as postgres://user:password@host:5432/database; several hosts are separated by commas, and the service uses the one that accepts writes",
    parse: (text) => Option.as(Hosts.parse(text), Redacted.make(text)),
    secret: true
  }),
  database_pool: withDefault(10, {
    name: "DATABASE_POOL",
    group: "Database and secrets",
    meaning: "Database connections per process",
    expected: "a number from 1 to 1000",
    parse: integer(1, 1000)
  }),
  secret_key: setting({
    name: "SECRET_KEY",
    group: "Database and secrets",
    meaning:
      "Key that signs cursors, media links, and the mock provider's callbacks, and encrypts webhook secrets and channel tokens; in a list, the first key signs and encrypts, and every key verifies and decrypts (see operating.md)",
    otherwise: "required; dev keeps one in its data directory",
    expected: "32 bytes in base64, or a comma-separated list of such keys; create one with `openssl rand -base64 32`",
    parse: rootKeys,
    secret: true
  }),
  provider: setting({
    name: "PROVIDER",
    group: "Provider",
    meaning: "Messaging provider",
    otherwise: "required; mock in dev",
    expected: "one of mock, cloud",
    parse: oneOf("mock", "cloud")
  }),
  provider_url: setting({
    name: "PROVIDER_URL",
    group: "Provider",
    meaning: "URL of a mock provider in its own process",
    otherwise: "the mock provider runs inside the service",
    expected: "a URL such as http://127.0.0.1:4010",
    parse: url("http:")
  }),
  cloud_accounts: setting({
    name: "CLOUD_ACCOUNTS",
    group: "Provider",
    meaning: "Meta apps with their secrets, and accounts whose tokens are not stored in the database",
    otherwise: "required with PROVIDER=cloud; if it is absent, dev starts a fake Graph API",
    expected: "JSON with `apps`, as described in packages/provider-cloud/README.md",
    parse: (text) => Option.some(Redacted.make(text)),
    secret: true
  }),
  graph_url: setting({
    name: "GRAPH_URL",
    group: "Provider",
    meaning: "Base URL of the Graph API",
    otherwise:
      `${cloudSettings.base_url}; ${cloudSettings.photo_social_base_url} for Instagram accounts that are connected without a page`,
    expected: "a URL such as http://127.0.0.1:4020",
    parse: url("http:", "https:")
  }),
  graph_version: withDefault(cloudSettings.version, {
    name: "GRAPH_VERSION",
    group: "Provider",
    meaning: "Version of the Graph API",
    expected: "a version such as v25.0",
    parse: (text) => /^v[0-9]{1,3}\.[0-9]{1,3}$/.test(text) ? Option.some(text) : Option.none()
  }),
  graph_timeout_seconds: setting({
    name: "GRAPH_TIMEOUT_SECONDS",
    group: "Provider",
    meaning: "Seconds to wait for the Graph API's response to a send before the outcome is unknown",
    otherwise: String(Duration.toSeconds(cloudSettings.deliver_time_max)),
    expected: "a number from 1 to 18",
    parse: integer(1, 18)
  }),
  rate_limit_per_minute: withDefault(limits.requests_per_minute, {
    name: "RATE_LIMIT_PER_MINUTE",
    group: "Limits and retention",
    meaning: "Requests per key per minute; further requests receive 429",
    expected: "a number from 1 to 1000000",
    parse: integer(1, 1_000_000)
  }),
  requests_at_once: withDefault(limits.requests_at_once, {
    name: "REQUESTS_AT_ONCE",
    group: "Limits and retention",
    meaning: "Concurrent requests per key in each process; further requests wait for a slot",
    expected: "a number from 1 to 10000",
    parse: integer(1, 10_000)
  }),
  storage_budget_mb: withDefault(limits.stored_bytes_max / 1_000_000, {
    name: "STORAGE_BUDGET_MB",
    group: "Limits and retention",
    meaning: "Megabytes of idempotency records, events, and webhook deliveries per organization",
    expected: "a number from 1 to 100000000",
    parse: integer(1, 100_000_000)
  }),
  message_retention_days: setting({
    name: "MESSAGE_RETENTION_DAYS",
    group: "Limits and retention",
    meaning: "Days after which messages, their files, and their sends are deleted",
    otherwise: "none; messages are kept",
    expected: "a number from 30 to 36500",
    parse: integer(30, 36_500)
  }),
  audit_days: withDefault(Duration.toDays(AuditAgeMax.defaultValue()), {
    name: "AUDIT_DAYS",
    group: "Limits and retention",
    meaning: "Days after which audit records are deleted",
    expected: "a number from 1 to 36500",
    parse: integer(1, 36_500)
  }),
  docs_try_requests: setting({
    name: "DOCS_TRY_REQUESTS",
    group: "Docs page",
    meaning: "Whether the docs page accepts an API key and sends requests",
    otherwise: "true in dev, false in serve",
    expected: "true or false",
    parse: (text) => Option.map(oneOf("true", "false")(text), (value) => value === "true")
  }),
  log_level: withDefault("info", {
    name: "LOG_LEVEL",
    group: "Logs and telemetry",
    meaning: "Minimum level of log entries",
    expected: "one of debug, info, warn (or warning), error, none",
    parse: oneOf("debug", "info", "warn", "warning", "error", "none")
  }),
  log_format: setting({
    name: "LOG_FORMAT",
    group: "Logs and telemetry",
    meaning: "Format of the log",
    otherwise: "pretty on a terminal, otherwise json",
    expected: "one of pretty, json",
    parse: oneOf("pretty", "json")
  }),
  otlp_endpoint: setting({
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    group: "Logs and telemetry",
    meaning: "OTLP collector that receives traces, metrics, and logs as JSON",
    otherwise: "none; nothing is exported",
    expected: "a URL such as http://127.0.0.1:4318",
    parse: url("http:", "https:")
  }),
  otlp_headers: setting({
    name: "OTEL_EXPORTER_OTLP_HEADERS",
    group: "Logs and telemetry",
    meaning: "Headers of OTLP exports, such as an API key of the collector",
    otherwise: "none",
    expected: "names and values such as authorization=Bearer%20abc,x-tenant=crm",
    parse: pairs,
    secret: true
  }),
  otel_service_name: withDefault("messaging-crm", {
    name: "OTEL_SERVICE_NAME",
    group: "Logs and telemetry",
    meaning: "Service name in exported telemetry",
    expected: "a name",
    parse: Option.some<string>
  }),
  base_url: withDefault("http://127.0.0.1:3000/v1", {
    name: "BASE_URL",
    group: "Commands",
    meaning: "Base URL of the service for `webhooks listen`",
    expected: "a URL such as http://127.0.0.1:3000/v1",
    parse: url("http:", "https:")
  }),
  api_key: setting({
    name: "API_KEY",
    group: "Commands",
    meaning: "API key for `webhooks listen`, with the scope webhooks:manage",
    otherwise: "none; `webhooks listen` requires it",
    expected: "an API key with the scope webhooks:manage",
    parse: (text) => Option.some(Redacted.make(text)),
    secret: true
  })
} as const
