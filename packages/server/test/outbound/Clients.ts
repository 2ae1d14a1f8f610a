/** Every client of this repository that sends requests to another program, with what it must do in each situation. */
import { Client } from "@messaging-crm/adapter-http/Client"
import * as Downloads from "@messaging-crm/adapter-http/Downloads"
import * as HttpTransport from "@messaging-crm/adapter-http/WebhookTransport"
import { MessagingCrm, MessagingCrmError } from "@messaging-crm/client"
import type { Channel } from "@messaging-crm/core/Channels"
import { ChannelId, Ids, SendId } from "@messaging-crm/core/Ids"
import { MessagingProvider, type OutboundMessage } from "@messaging-crm/core/MessagingProvider"
import { CreateTag } from "@messaging-crm/core/Tags"
import { AllowedAddresses, WebhookTransport } from "@messaging-crm/core/WebhookTransport"
import * as Cloud from "@messaging-crm/provider-cloud"
import { AccountCheck } from "@messaging-crm/provider-cloud/AccountCheck"
import { type CloudAccount, CloudAccounts } from "@messaging-crm/provider-cloud/CloudAccounts"
import * as CloudSettings from "@messaging-crm/provider-cloud/CloudSettings"
import { MediaLoader } from "@messaging-crm/provider-cloud/MediaLoader"
import * as Profiles from "@messaging-crm/provider-cloud/Profiles"
import { DateTime, Deferred, Effect, Layer, Option, Predicate, Redacted, Result, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { forward } from "../../src/cli/WebhookListener.ts"
import * as Telemetry from "../../src/observability/Telemetry.ts"

/** A kind of response, or the lack of one. */
export type Situation = "ok" | "redirect" | "429" | "5xx" | "silence" | "slow body" | "other certificate"

/**
 * The outcomes in words: `again` is a second request, or a second connection if there was no request; `status` is the
 * status of the response; `at once` is before the deadline, because the body is not read.
 */
type Outcomes = Readonly<Record<Situation, string>>

export interface OutboundClient {
  /** The files that send its requests, below `packages`. */
  readonly files: ReadonlyArray<string>
  /** The request that the situation is about, as method and path. */
  readonly line: string
  /** The body of the response to it. */
  readonly body: object | string
  /** The responses to the requests before it. */
  readonly before?: (base_url: string) => Readonly<Record<string, object>>
  /** The headers with which it sends more than the description of its body. */
  readonly headers: ReadonlyArray<string>
  /** The default time limit in seconds. If it is null, the caller has one. */
  readonly deadline: number | null
  readonly outcomes: Outcomes
  /** Makes the request with the default settings, and returns the outcome in a word. */
  readonly call: (base_url: string) => Effect.Effect<string>
}

// ------------------------------------------------------------ Graph API

const channel_id = ChannelId.make("01990000-0000-7000-8000-000000000001")
const connection = { channel_id, app_id: "app", token: Redacted.make("the channel's token") }
const number: CloudAccount = {
  type: "phone_messaging",
  ...connection,
  phone_number_id: "106",
  business_account_id: "acme"
}
const page: CloudAccount = { type: "page_messaging", ...connection, page_id: "1784" }

const channel: Channel = {
  id: channel_id,
  type: "phone_messaging",
  name: "Support",
  address: "+493012345678",
  phone_messaging_business_account_id: "acme",
  connected_at: DateTime.makeUnsafe(0)
}

const message: OutboundMessage = {
  channel,
  reference: SendId.make("01990000-0000-7000-8000-00000000abcd"),
  recipient: "+4915112345678",
  content: { type: "text", text: "Hello" }
}

/** Provides a part of the provider with its network at an address. */
const at = <A, E>(layer: Layer.Layer<A, E, CloudAccounts | HttpClient.HttpClient>, base_url: string) =>
  layer.pipe(
    Layer.provide([
      CloudAccounts.layer({ apps: [], channels: [number, page] }),
      FetchHttpClient.layer,
      CloudSettings.layer({ base_url, photo_social_base_url: base_url })
    ]),
    Layer.orDie
  )

const tagOf = (error: unknown): string => Predicate.hasProperty(error, "_tag") ? String(error._tag) : String(error)

/** Returns the success as a word, or the tag of the error with its reason. */
const wordOf = <A, E, R>(effect: Effect.Effect<A, E, R>, success: (value: A) => string) =>
  Effect.match(effect, {
    onSuccess: success,
    onFailure: (error) => Predicate.hasProperty(error, "reason") ? `${tagOf(error)} ${error.reason}` : tagOf(error)
  })

const bytesOf = (
  file: Parameters<MediaLoader["Service"]["load"]>[1],
  base_url: string,
  account: CloudAccount = number
) =>
  MediaLoader.use(({ load }) =>
    wordOf(Stream.runCollect(load(account, file)), (chunks) => Buffer.concat(chunks).toString())
  ).pipe(Effect.provide(at(
    Layer.provide(MediaLoader.layer, Downloads.layer({ allowed: (address) => address === "127.0.0.1" })),
    base_url
  )))

const unavailable: Omit<Outcomes, "ok"> = {
  redirect: "ProviderUnavailable",
  429: "ProviderUnavailable",
  "5xx": "ProviderUnavailable",
  silence: "ProviderUnavailable",
  "slow body": "ProviderUnavailable",
  "other certificate": "ProviderUnavailable"
}

const graph = {
  "a send": {
    files: ["provider-cloud/src/CloudProvider.ts", "provider-cloud/src/GraphClient.ts"],
    line: "POST /v25.0/106/messages",
    body: { messages: [{ id: "wamid.1" }] },
    headers: ["authorization"],
    deadline: 15,
    outcomes: {
      ok: "accepted",
      // Without an error body of the network, the message may have been sent.
      redirect: "ProviderOutcomeUnknown",
      429: "ProviderOutcomeUnknown",
      "5xx": "ProviderOutcomeUnknown",
      silence: "ProviderOutcomeUnknown",
      "slow body": "ProviderOutcomeUnknown",
      "other certificate": "ProviderBusy provider_unavailable"
    },
    call: (base_url) =>
      MessagingProvider.use(({ deliver }) => wordOf(deliver(message), () => "accepted")).pipe(
        Effect.provide(at(Cloud.layer, base_url))
      )
  },
  "a list of templates": {
    files: ["provider-cloud/src/Templates.ts"],
    line: "GET /v25.0/acme/message_templates",
    body: { data: [] },
    headers: ["authorization"],
    deadline: 15,
    outcomes: { ok: "0 templates", ...unavailable },
    call: (base_url) =>
      MessagingProvider.use(({ templates }) => wordOf(templates("acme"), (all) => `${all.length} templates`)).pipe(
        Effect.provide(at(Cloud.layer, base_url))
      )
  },
  "a check of an account": {
    files: ["provider-cloud/src/AccountCheck.ts"],
    line: "GET /v25.0/106",
    body: {},
    headers: ["authorization"],
    deadline: 15,
    outcomes: {
      ok: "ok",
      redirect: "unreachable",
      429: "unreachable",
      "5xx": "unreachable",
      silence: "unreachable",
      "slow body": "unreachable",
      "other certificate": "unreachable"
    },
    call: (base_url) =>
      AccountCheck.use(({ check }) => check(channel)).pipe(Effect.provide(at(AccountCheck.layer, base_url)))
  },
  "a lookup of a profile": {
    files: ["provider-cloud/src/Profiles.ts"],
    line: "GET /v25.0/24601",
    body: { name: "Ana" },
    headers: ["authorization"],
    deadline: 10,
    outcomes: {
      ok: "Ana",
      redirect: "again",
      429: "again",
      "5xx": "again",
      silence: "again",
      "slow body": "again",
      "other certificate": "again"
    },
    call: (base_url) =>
      Effect.gen(function*() {
        const found = yield* Deferred.make<string>()
        const { lookUp } = yield* Profiles.Profiles
        yield* lookUp(page, "24601", ({ display_name }) => Deferred.succeed(found, String(display_name)))
        return yield* Deferred.await(found)
      }).pipe(Effect.provide(at(Profiles.layer, base_url)))
  },
  "a request for a file's link": {
    files: ["provider-cloud/src/MediaLoader.ts"],
    line: "GET /v25.0/m1",
    body: { url: "data:," },
    headers: ["authorization"],
    deadline: 30,
    outcomes: {
      // The link of this response is no address of a file.
      ok: "FileAbsent",
      redirect: "FileUnavailable",
      429: "FileUnavailable",
      "5xx": "FileUnavailable",
      silence: "FileUnavailable",
      "slow body": "FileUnavailable",
      "other certificate": "FileUnavailable"
    },
    call: (base_url) => bytesOf({ media_id: "m1" }, base_url)
  }
} satisfies Readonly<Record<string, OutboundClient>>

// ------------------------------------------------------------- downloads

const download: Omit<Outcomes, "ok"> = {
  redirect: "FileAbsent",
  429: "FileUnavailable",
  "5xx": "FileUnavailable",
  silence: "FileUnavailable",
  "slow body": "FileUnavailable",
  "other certificate": "FileUnavailable"
}

const downloads = {
  "a download with the account's token": {
    files: ["provider-cloud/src/MediaLoader.ts", "adapter-http/src/outbound/Downloads.ts"],
    line: "GET /file",
    body: "a file",
    before: (base_url) => ({ "GET /v25.0/m1": { url: `${base_url}/file` } }),
    headers: ["authorization"],
    deadline: 30,
    // After a redirect, the link counts as expired, and another one is requested.
    outcomes: { ok: "a file", ...download, redirect: "again" },
    call: (base_url) => bytesOf({ media_id: "m1" }, base_url)
  },
  "a download from the address in a callback": {
    files: ["adapter-http/src/outbound/Downloads.ts"],
    line: "GET /file",
    body: "a file",
    headers: [],
    deadline: 30,
    outcomes: { ok: "a file", ...download },
    call: (base_url) => bytesOf({ url: `${base_url}/file` }, base_url, page)
  }
} satisfies Readonly<Record<string, OutboundClient>>

// -------------------------------------------------------------- webhooks

const webhook: OutboundClient = {
  files: ["adapter-http/src/outbound/WebhookTransport.ts", "adapter-http/src/outbound/Connections.ts"],
  line: "POST /hook",
  body: {},
  headers: ["webhook-signature"],
  deadline: 15,
  outcomes: {
    ok: "200",
    redirect: "status",
    429: "status",
    "5xx": "status",
    silence: "timeout",
    "slow body": "200",
    "other certificate": "tls_error"
  },
  call: (base_url) => {
    const request = { url: `${base_url}/hook`, headers: { "webhook-signature": "v1,x" }, body: "{}" }
    return WebhookTransport.use(({ post }) => Effect.result(post(request))).pipe(
      Effect.map(Result.match({
        onSuccess: ({ status }) => String(status),
        onFailure: ({ failure_code }) => failure_code
      })),
      Effect.provide(HttpTransport.layer()),
      Effect.provideService(AllowedAddresses, (address) => address === "127.0.0.1")
    )
  }
}

// --------------------------------------------------- clients of this API

const tag = { data: { id: "0199abcd-0000-7000-8000-00000000000f", name: "VIP", color: "amber" } }
const newTag = { name: "VIP", color: "amber" } as const

const ofApi = {
  "the JavaScript client": {
    files: ["client/src/Attempt.ts", "client/src/MessagingCrm.ts"],
    line: "POST /v1/tags",
    body: tag,
    headers: ["authorization", "idempotency-key", "x-request-id"],
    deadline: 30,
    outcomes: {
      ok: "VIP",
      redirect: "unexpected_response",
      429: "again",
      "5xx": "again",
      silence: "again",
      "slow body": "again",
      "other certificate": "again"
    },
    call: (base_url) =>
      Effect.tryPromise({
        try: () => new MessagingCrm({ apiKey: "svc_live_x", baseUrl: `${base_url}/v1` }).tags.create(newTag),
        catch: (error) => error
      }).pipe(
        Effect.match({
          onSuccess: ({ name }) => name,
          onFailure: (error) => error instanceof MessagingCrmError ? error.code : String(error)
        })
      )
  },
  "the Effect client": {
    files: ["adapter-http/src/Client.ts"],
    line: "POST /v1/tags",
    body: tag,
    headers: ["authorization", "b3", "idempotency-key", "traceparent"],
    deadline: 30,
    outcomes: {
      ok: "VIP",
      redirect: "HttpClientError",
      429: "again",
      "5xx": "again",
      silence: "again",
      "slow body": "again",
      "other certificate": "again"
    },
    call: (base_url) =>
      Client.use(({ tags }) =>
        Effect.match(tags.create({ headers: {}, payload: CreateTag.make(newTag) }), {
          onSuccess: ({ data }) => String(data.name),
          onFailure: tagOf
        })
      ).pipe(
        Effect.provide(
          Client.layer({ api_key: Redacted.make("svc_live_x"), base_url: `${base_url}/v1` }).pipe(
            Layer.provide([FetchHttpClient.layer, Ids.layer])
          )
        )
      )
  }
} satisfies Readonly<Record<string, OutboundClient>>

// -------------------------------------------------------------- commands

const commands = {
  "a forwarded event of `webhooks listen`": {
    files: ["server/src/cli/WebhookListener.ts"],
    line: "POST /hook",
    body: {},
    headers: ["b3", "traceparent", "webhook-signature"],
    deadline: 15,
    outcomes: {
      ok: "200",
      redirect: "status",
      429: "status",
      "5xx": "status",
      silence: "none",
      "slow body": "200 at once",
      "other certificate": "none"
    },
    call: (base_url) =>
      Effect.map(
        forward(`${base_url}/hook`, { "webhook-signature": "v1,x" }, "{}"),
        Option.match({ onNone: () => "none", onSome: String })
      )
  },
  "an export of telemetry": {
    files: ["server/src/observability/Telemetry.ts"],
    line: "POST /v1/traces",
    body: {},
    headers: ["b3", "traceparent", "x-collector-key"],
    deadline: 10,
    outcomes: {
      ok: "200",
      // The export is dropped, which is a success for the exporter.
      redirect: "204",
      429: "again",
      "5xx": "again",
      silence: "again",
      "slow body": "200 at once",
      "other certificate": "again"
    },
    call: (base_url) =>
      Effect.flatMap(HttpClient.HttpClient, Telemetry.exporting).pipe(
        Effect.flatMap((client) =>
          client.execute(HttpClientRequest.post(`${base_url}/v1/traces`, { headers: { "x-collector-key": "secret" } }))
        ),
        Effect.map(({ status }) => String(status)),
        Effect.orDie,
        Effect.provide(FetchHttpClient.layer)
      )
  }
} satisfies Readonly<Record<string, OutboundClient>>

export const clients: Readonly<Record<string, OutboundClient>> = {
  ...graph,
  ...downloads,
  "a webhook": webhook,
  ...ofApi,
  ...commands
}
