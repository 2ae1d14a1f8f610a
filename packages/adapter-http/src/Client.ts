/** The client for programs that use Effect, made of the contract. Other programs use `@messaging-crm/client`. */
import { Ids } from "@messaging-crm/core/Ids"
import { type Cause, Context, Effect, Layer, type Redacted, Schedule } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { Api } from "./api/Api.ts"

/** Waits of about half a second, one, and two. A longer `Retry-After` prolongs them. */
const backoff = {
  schedule: Schedule.jittered(Schedule.exponential("500 millis")),
  times: 3
}

/** Only the 409s that can succeed on a retry have a `Retry-After`: `request_processing`, and a `conflict` with concurrent changes. */
const isPassing = ({ headers, status }: HttpClientResponse.HttpClientResponse): boolean =>
  status === 409 && "retry-after" in headers

/** Repeats whole requests: what prepares a request in `client` runs again for each attempt. */
const repeated = <E, R>(client: HttpClient.HttpClient.With<E, R>) =>
  client.pipe(
    // A redirect would turn a write into a read, and send it to another address.
    HttpClient.transformResponse(Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" })),
    // The time limit includes the body, which the response keeps for its decoder.
    HttpClient.transformResponse(Effect.tap(({ arrayBuffer }) => arrayBuffer)),
    HttpClient.transformResponse(Effect.timeout("30 seconds")),
    HttpClient.retryTransient(backoff),
    HttpClient.transformResponse(
      Effect.repeat({ while: isPassing, schedule: Schedule.spaced("1 second"), times: backoff.times })
    )
  )

/**
 * Makes the headers of a write with a new idempotency key.
 *
 * Pass the same headers again to repeat a write whose outcome is unknown.
 */
export const idempotencyKey: Effect.Effect<{ readonly "idempotency-key": string }, never, Ids> = Effect.map(
  Effect.flatMap(Ids, (ids) => ids.uuid),
  (key) => ({ "idempotency-key": key })
)

/** Every operation of the API, typed by the contract, with a key and with retries. */
export class Client extends Context.Service<Client, HttpApiClient.ForApi<typeof Api, Cause.TimeoutError>>()(
  "@messaging-crm/adapter-http/Client"
) {
  /** Layer for a client of the service at `base_url`, which ends in `/v1`. Requires an `HttpClient`. */
  static readonly layer = (options: { readonly api_key: Redacted.Redacted; readonly base_url: string }) =>
    Layer.effect(
      Client,
      Effect.gen(function*() {
        const ids = yield* Ids
        const httpClient = yield* HttpClient.HttpClient
        const withKey = (request: HttpClientRequest.HttpClientRequest) =>
          request.method === "GET" || "idempotency-key" in request.headers
            ? Effect.succeed(request)
            : Effect.map(ids.uuid, (key) => HttpClientRequest.setHeader(request, "idempotency-key", key))
        return yield* HttpApiClient.makeWith(Api, {
          baseUrl: options.base_url.replace(/\/v1\/?$/, ""),
          // The key is made outside of the attempts, so that a repeated write has no second effect.
          httpClient: HttpClient.makeWith(Effect.flatMap(repeated(httpClient).execute), withKey).pipe(
            HttpClient.mapRequest(HttpClientRequest.bearerToken(options.api_key))
          )
        })
      })
    )
}
