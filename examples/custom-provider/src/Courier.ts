/**
 * The adapter of a fictional network, Courier: two calls over HTTP, and the outcome of each of its responses.
 *
 * Courier accepts a message once per `client_reference`, so an attempt whose response was lost can be repeated.
 */
import {
  type FailureReason,
  MessagingProvider,
  type OutboundMessage,
  ProviderBusy,
  ProviderOutcomeUnknown,
  ProviderRejected,
  ProviderUnavailable
} from "@messaging-crm/core/MessagingProvider"
import type { Template } from "@messaging-crm/core/Templates"
import { Effect, flow, Layer, Option, type Redacted, Schema, Stream } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"

// The bodies of Courier's responses.
const Accepted = Schema.Struct({ id: Schema.String })
const Rejected = Schema.Struct({ error: Schema.String })
const CourierTemplate = Schema.Struct({
  id: Schema.String,
  title: Schema.String,
  lang: Schema.String,
  body: Schema.String,
  live: Schema.Boolean
})
const Templates = Schema.Struct({
  templates: Schema.Array(CourierTemplate),
  next: Schema.NullOr(Schema.String)
})

/** The failure reason of each of Courier's errors. Any other error is `provider_rejected`. */
const reasons: Readonly<Record<string, FailureReason>> = {
  unknown_number: "recipient_unreachable",
  opted_out: "recipient_opted_out",
  bad_token: "provider_auth"
}

const retryAfter = ({ headers }: HttpClientResponse.HttpClientResponse): number | null => {
  const seconds = Number(headers["retry-after"])
  return Number.isFinite(seconds) ? seconds : null
}

/** Returns the message ID of a 202, or fails. Only 422, 429, and 503 prove that nothing was sent; other errors leave the outcome unknown. */
const outcomeOf = Effect.fnUntraced(function*(response: HttpClientResponse.HttpClientResponse) {
  switch (response.status) {
    case 202:
      return yield* HttpClientResponse.schemaBodyJson(Accepted)(response)
    case 422: {
      const { error } = yield* HttpClientResponse.schemaBodyJson(Rejected)(response)
      return yield* new ProviderRejected({ reason: reasons[error] ?? "provider_rejected" })
    }
    case 429:
      return yield* new ProviderBusy({ reason: "rate_limited", retry_after_seconds: retryAfter(response) })
    case 503:
      return yield* new ProviderBusy({ reason: "provider_unavailable", retry_after_seconds: null })
    default:
      return yield* new ProviderOutcomeUnknown()
  }
})

/** Returns a template of Courier as a template of the CRM. */
const templateOf = (account: string) => ({ body, id, lang, live, title }: typeof CourierTemplate.Type): Template => ({
  id,
  name: title,
  language: lang,
  category: "UTILITY",
  status: live ? "APPROVED" : "PENDING",
  phone_messaging_business_account_id: account,
  parameter_format: "POSITIONAL",
  components: [{ type: "BODY", text: body, format: null, buttons: null }]
})

/** Layer for the provider at Courier's address. */
export const layer = (options: { readonly url: string; readonly token: Redacted.Redacted }) =>
  Layer.effect(
    MessagingProvider,
    Effect.map(HttpClient.HttpClient, (client) => {
      const courier = HttpClient.mapRequest(
        client,
        flow(HttpClientRequest.prependUrl(options.url), HttpClientRequest.bearerToken(options.token))
      )

      const deliver = Effect.fn("Courier.deliver")(function*({ content, recipient, reference }: OutboundMessage) {
        const request = HttpClientRequest.post("/messages").pipe(
          HttpClientRequest.bodyJsonUnsafe({ client_reference: reference, to: recipient, text: content.text })
        )
        const { id } = yield* Effect.flatMap(courier.execute(request), outcomeOf).pipe(
          Effect.catchTags({
            HttpClientError: () => new ProviderOutcomeUnknown(),
            SchemaError: () => new ProviderOutcomeUnknown()
          })
        )
        return { provider_message_id: id }
      })

      const page = (account: string) => (cursor: string) =>
        courier.get(`/accounts/${encodeURIComponent(account)}/templates`, { urlParams: { cursor } }).pipe(
          Effect.flatMap(HttpClientResponse.filterStatusOk),
          Effect.flatMap(HttpClientResponse.schemaBodyJson(Templates)),
          Effect.map(({ next, templates }) => [templates.map(templateOf(account)), Option.fromNullOr(next)] as const)
        )

      const templates = (account: string) =>
        Stream.paginate("", page(account)).pipe(
          Stream.runCollect,
          Effect.mapError(() => new ProviderUnavailable())
        )

      return MessagingProvider.of({ dedup: "client_ref", deliver, templates })
    })
  )
