/** Every setting of the service, in one table. `docs/configuration.md` is generated from it. */
import { AuditAgeMax } from "@messaging-crm/core/Audit"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { CloudAccountsSetting } from "@messaging-crm/provider-cloud/CloudAccounts"
import { cloudSettings } from "@messaging-crm/provider-cloud/CloudSettings"
import { Duration, Option, Redacted, Schema } from "effect"
import { samplers } from "../observability/Sampling.ts"
import {
  baseUrl,
  cellNames,
  cells,
  cells_max,
  databaseUrl,
  issuer,
  natsServers,
  networkList,
  numberBetween,
  oneOf,
  origin,
  pairs,
  rootKeys,
  url
} from "./Parsers.ts"

/** The groups of the reference, in order. */
export const groups = [
  "Network",
  "Database and secrets",
  "Provider",
  "Limits and retention",
  "Docs page",
  "Console",
  "Logs and telemetry",
  "Commands"
] as const

type Group = (typeof groups)[number]

const decodeAccounts = Schema.decodeOption(Schema.fromJsonString(CloudAccountsSetting))

/** A setting: an environment variable, or for some commands a flag. */
export interface Setting<A> {
  readonly name: string
  readonly group: Group
  readonly description: string
  /** The default as the reference shows it, or "required". */
  readonly default_text: string
  readonly valid_values: string
  readonly parse: (text: string) => Option.Option<A>
  /** A secret is not shown in errors, and can be read from the file that `NAME_FILE` names. */
  readonly secret?: boolean
}

/** A setting with a default. */
export interface SettingWithDefault<A> extends Setting<A> {
  readonly default_value: A
}

const setting = <A>(value: Setting<A>): Setting<A> => value

/** Makes a setting with a default, which the reference shows. A command can define the setting with another default. */
export const withDefault = <A extends number | string>(
  defaultValue: NoInfer<A>,
  value: Omit<Setting<A>, "default_text">
): SettingWithDefault<A> => ({ ...value, default_value: defaultValue, default_text: String(defaultValue) })

/** The table. */
export const settings = {
  port: withDefault(3000, {
    name: "PORT",
    group: "Network",
    description: "Port of the API; 0 selects a free port",
    ...numberBetween(0, 65_535, "a port number")
  }),
  host: setting({
    name: "HOST",
    group: "Network",
    description: "Address to listen on",
    default_text: "127.0.0.1 in dev, 0.0.0.0 in serve",
    valid_values: "a host name or an IP address",
    parse: (text) => /^[A-Za-z0-9.:-]+$/.test(text) ? Option.some(text) : Option.none()
  }),
  metrics_port: setting({
    name: "METRICS_PORT",
    group: "Network",
    description: "Separate port for /metrics, in workers too",
    default_text: "serve uses PORT; a worker serves no metrics",
    ...numberBetween(1, 65_535, "a port number")
  }),
  public_url: setting({
    name: "PUBLIC_URL",
    group: "Network",
    description: "Public base URL, used in media links; set it if a reverse proxy terminates TLS",
    default_text: "the host of the request",
    valid_values: "a URL such as https://crm.example.com",
    parse: baseUrl
  }),
  trusted_proxies: setting({
    name: "TRUSTED_PROXIES",
    group: "Network",
    description: "Networks of reverse proxies whose X-Forwarded-For header names the client's IP address",
    default_text: "none; the client is the peer of the connection",
    valid_values: "a comma-separated list of networks such as 10.0.0.0/8,fd00::/8",
    parse: networkList
  }),
  nats_servers: setting({
    name: "NATS_SERVERS",
    group: "Network",
    description: "NATS servers to whose JetStream webhooks of operators publish (see destinations.md)",
    default_text: "none; only HTTP endpoints receive events",
    valid_values: "a comma-separated list of URLs such as nats://user:password@127.0.0.1:4222, or tls://…",
    parse: natsServers,
    secret: true
  }),
  security_contact: setting({
    name: "SECURITY_CONTACT",
    group: "Network",
    description: "Contact for reports of vulnerabilities, which /.well-known/security.txt names",
    default_text: "none; the file does not exist",
    valid_values: "a URL such as mailto:security@example.com or https://example.com/security",
    parse: (text) => /^\S+$/.test(text) ? url("mailto:", "https:")(text) : Option.none()
  }),
  webhook_allowed_networks: setting({
    name: "WEBHOOK_ALLOWED_NETWORKS",
    group: "Network",
    description: "Private networks that webhooks can reach, over http or https",
    default_text: "none; dev allows loopback addresses",
    valid_values: "a comma-separated list of networks such as 127.0.0.0/8,::1/128",
    parse: networkList
  }),
  media_allowed_networks: setting({
    name: "MEDIA_ALLOWED_NETWORKS",
    group: "Network",
    description: "Private networks from which message files can be loaded, over http or https; for tests only",
    default_text: "none",
    valid_values: "a comma-separated list of networks such as 127.0.0.0/8,::1/128",
    parse: networkList
  }),
  database_url: setting({
    name: "DATABASE_URL",
    group: "Database and secrets",
    description: "PostgreSQL database, version 17 or later",
    default_text: "required, unless CELLS is set; dev starts its own database",
    valid_values:
      "a URL such as postgres://user:password@host:5432/database; several hosts are separated by commas, and the service uses the one that accepts writes",
    parse: databaseUrl,
    secret: true
  }),
  cells: setting({
    name: "CELLS",
    group: "Database and secrets",
    description: "Cells instead of one database: each has whole organizations (see scaling.md)",
    default_text: "none; DATABASE_URL is the only database",
    valid_values:
      `a list of at most ${cells_max} entries name=url, separated by white space, with names such as eu-1 and URLs as in DATABASE_URL`,
    parse: cells,
    secret: true
  }),
  cells_worked: setting({
    name: "CELLS_WORKED",
    group: "Database and secrets",
    description: "Cells whose work queues this process processes",
    default_text: "all cells",
    valid_values: "a comma-separated list of names in CELLS",
    parse: cellNames
  }),
  database_pool: withDefault(10, {
    name: "DATABASE_POOL",
    group: "Database and secrets",
    description: "Database connections per process and cell",
    ...numberBetween(1, 1000)
  }),
  secret_key: setting({
    name: "SECRET_KEY",
    group: "Database and secrets",
    description:
      "Key that signs cursors and media links, and encrypts webhook secrets and channel tokens; in a list, the first key signs and encrypts, and every key verifies and decrypts (see operating.md)",
    default_text: "required; dev keeps one in its data directory",
    valid_values:
      "32 bytes in base64, or a comma-separated list of such keys; create one with `openssl rand -base64 32`",
    parse: rootKeys,
    secret: true
  }),
  provider: setting({
    name: "PROVIDER",
    group: "Provider",
    description: "Messaging provider",
    default_text: "required; mock in dev",
    valid_values: "one of mock, cloud",
    parse: oneOf("mock", "cloud")
  }),
  cloud_accounts: setting({
    name: "CLOUD_ACCOUNTS",
    group: "Provider",
    description: "Meta apps with their secrets, and accounts whose tokens are not stored in the database",
    default_text: "required with PROVIDER=cloud; if it is absent, dev starts a fake Graph API",
    valid_values:
      "JSON with `apps` (id, secret, verify_token) and optional `channels`, as described in packages/provider-cloud/README.md",
    parse: (text) => Option.as(decodeAccounts(text), Redacted.make(text)),
    secret: true
  }),
  graph_url: setting({
    name: "GRAPH_URL",
    group: "Provider",
    description: "Base URL of the Graph API",
    default_text:
      `${cloudSettings.base_url}; ${cloudSettings.photo_social_base_url} for Instagram accounts that are connected without a page`,
    valid_values: "a URL such as http://127.0.0.1:4020",
    parse: url("http:", "https:")
  }),
  graph_version: withDefault(cloudSettings.version, {
    name: "GRAPH_VERSION",
    group: "Provider",
    description: "Version of the Graph API",
    valid_values: "a version such as v25.0",
    parse: (text) => /^v[0-9]{1,3}\.[0-9]{1,3}$/.test(text) ? Option.some(text) : Option.none()
  }),
  graph_timeout_seconds: setting({
    name: "GRAPH_TIMEOUT_SECONDS",
    group: "Provider",
    description: "Seconds to wait for the Graph API's response to a send before the outcome is unknown",
    default_text: String(Duration.toSeconds(cloudSettings.deliver_time_max)),
    ...numberBetween(1, 18)
  }),
  rate_limit_per_minute: withDefault(limits.requests_per_minute, {
    name: "RATE_LIMIT_PER_MINUTE",
    group: "Limits and retention",
    description: "Requests per key per minute; further requests receive 429",
    ...numberBetween(1, 1_000_000)
  }),
  requests_at_once: withDefault(limits.requests_at_once, {
    name: "REQUESTS_AT_ONCE",
    group: "Limits and retention",
    description: "Concurrent requests per key in each process; further requests wait for a slot",
    ...numberBetween(1, 10_000)
  }),
  storage_budget_mb: withDefault(limits.stored_bytes_max / 1_000_000, {
    name: "STORAGE_BUDGET_MB",
    group: "Limits and retention",
    description: "Megabytes of idempotency records, events, and webhook deliveries per organization",
    ...numberBetween(1, 100_000_000)
  }),
  message_retention_days: setting({
    name: "MESSAGE_RETENTION_DAYS",
    group: "Limits and retention",
    description: "Days after which messages, their files, and their sends are deleted",
    default_text: "none; messages are kept",
    ...numberBetween(30, 36_500)
  }),
  audit_days: withDefault(Duration.toDays(AuditAgeMax.defaultValue()), {
    name: "AUDIT_DAYS",
    group: "Limits and retention",
    description: "Days after which audit records are deleted",
    ...numberBetween(1, 36_500)
  }),
  docs_try_requests: setting({
    name: "DOCS_TRY_REQUESTS",
    group: "Docs page",
    description: "Whether the docs page accepts an API key and sends requests",
    default_text: "true in dev, false in serve",
    valid_values: "true or false",
    parse: (text) => Option.map(oneOf("true", "false")(text), (value) => value === "true")
  }),
  docs_url: setting({
    name: "DOCS_URL",
    group: "Docs page",
    description: "Public URL of the website of the guides (npm run site), which errors then link",
    default_text: "in dev, errors link the docs page; in serve, they have no link",
    valid_values: "a URL such as https://docs.example.com",
    parse: baseUrl
  }),
  console_url: setting({
    name: "CONSOLE_URL",
    group: "Console",
    description: "Origin of the console as browsers see it; the page is at its path /console",
    default_text: "required by serve --console",
    valid_values: "an origin such as https://crm.example.com, without a path; http for localhost and 127.0.0.1 only",
    parse: origin
  }),
  console_organization_id: setting({
    name: "CONSOLE_ORGANIZATION_ID",
    group: "Console",
    description: "Organization whose members can log in",
    default_text: "required by serve --console",
    valid_values: "the ID of an organization; `organizations list` shows it",
    parse: Schema.decodeUnknownOption(OrganizationId)
  }),
  console_session_key: setting({
    name: "CONSOLE_SESSION_KEY",
    group: "Console",
    description: "Key that encrypts the cookies of sessions; in a list, the first key encrypts, and every key decrypts",
    default_text: "required by serve --console",
    valid_values:
      "32 bytes in base64, or a comma-separated list of such keys; create one with `openssl rand -base64 32`",
    parse: rootKeys,
    secret: true
  }),
  console_session_hours: withDefault(12, {
    name: "CONSOLE_SESSION_HOURS",
    group: "Console",
    description: "Hours after which a member logs in again",
    ...numberBetween(1, 720)
  }),
  oidc_issuer: setting({
    name: "OIDC_ISSUER",
    group: "Console",
    description: "Issuer URL of the OpenID Connect provider, exactly as the provider spells it",
    default_text: "required by serve --console",
    valid_values: "a URL such as https://login.example.com; http for localhost and 127.0.0.1 only",
    parse: issuer
  }),
  oidc_client_id: setting({
    name: "OIDC_CLIENT_ID",
    group: "Console",
    description: "Client ID of the console at the OpenID Connect provider",
    default_text: "required by serve --console",
    valid_values: "a text without spaces",
    parse: (text) => /^[\x21-\x7e]{1,500}$/.test(text) ? Option.some(text) : Option.none()
  }),
  oidc_client_secret: setting({
    name: "OIDC_CLIENT_SECRET",
    group: "Console",
    description: "Client secret of the console at the OpenID Connect provider",
    default_text: "required by serve --console",
    valid_values: "a text without spaces",
    parse: (text) => /^[\x21-\x7e]{1,500}$/.test(text) ? Option.some(Redacted.make(text)) : Option.none(),
    secret: true
  }),
  log_level: withDefault("info", {
    name: "LOG_LEVEL",
    group: "Logs and telemetry",
    description: "Minimum level of log entries",
    valid_values: "one of debug, info, warn (or warning), error, none",
    parse: oneOf("debug", "info", "warn", "warning", "error", "none")
  }),
  log_format: setting({
    name: "LOG_FORMAT",
    group: "Logs and telemetry",
    description: "Format of the log",
    default_text: "pretty on a terminal, otherwise json",
    valid_values: "one of pretty, json",
    parse: oneOf("pretty", "json")
  }),
  otlp_endpoint: setting({
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    group: "Logs and telemetry",
    description: "OTLP collector that receives traces, metrics, and logs as JSON",
    default_text: "none; nothing is exported",
    valid_values: "a URL such as http://127.0.0.1:4318",
    parse: url("http:", "https:")
  }),
  otlp_headers: setting({
    name: "OTEL_EXPORTER_OTLP_HEADERS",
    group: "Logs and telemetry",
    description: "Headers of OTLP exports, such as an API key of the collector",
    default_text: "none",
    valid_values: "names and values such as authorization=Bearer%20abc,x-tenant=crm",
    parse: pairs,
    secret: true
  }),
  otel_service_name: withDefault("messaging-crm", {
    name: "OTEL_SERVICE_NAME",
    group: "Logs and telemetry",
    description: "Service name in exported telemetry",
    valid_values: "a name",
    parse: Option.some<string>
  }),
  otel_traces_sampler: withDefault("parentbased_always_on", {
    name: "OTEL_TRACES_SAMPLER",
    group: "Logs and telemetry",
    description: "Sampler of traces",
    valid_values: `one of ${samplers.join(", ")}`,
    parse: oneOf(...samplers)
  }),
  otel_traces_sampler_arg: withDefault(1, {
    name: "OTEL_TRACES_SAMPLER_ARG",
    group: "Logs and telemetry",
    description: "Part of the traces that a sampler with traceidratio exports",
    valid_values: "a number from 0 to 1",
    parse: (text) => /^(?:0(?:\.\d+)?|1(?:\.0+)?)$/.test(text) ? Option.some(Number(text)) : Option.none()
  }),
  base_url: withDefault("http://127.0.0.1:3000/v1", {
    name: "BASE_URL",
    group: "Commands",
    description: "Base URL of the service for `mcp` and `webhooks listen`",
    valid_values: "a URL such as http://127.0.0.1:3000/v1",
    parse: url("http:", "https:")
  }),
  api_key: setting({
    name: "API_KEY",
    group: "Commands",
    description: "API key for `mcp`, and with the scope webhooks:manage for `webhooks listen`",
    default_text: "none; `mcp` and `webhooks listen` require it",
    valid_values: "an API key",
    parse: (text) => Option.some(Redacted.make(text)),
    secret: true
  })
} as const
