/**
 * The answer of a keyed write, encoded once: what is remembered with its changes
 * is what is sent, byte for byte.
 */
import type { Answer } from "@messaging-crm/core/Idempotency"
import { Context, Effect, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { Api } from "../api/Api.ts"

const encoder = new TextEncoder()

/** Returns the response that the current request's answer was encoded to, or null where none was: without a key. */
export const EncodedAnswer = Context.Reference<() => HttpServerResponse.HttpServerResponse | null>(
  "@messaging-crm/adapter-http/middleware/Answers/EncodedAnswer",
  { defaultValue: () => () => null }
)

/** Answers with one resource: with the bytes that are remembered, where there are some. */
export const single = <A>(data: A): Effect.Effect<HttpServerResponse.HttpServerResponse | { readonly data: A }> =>
  Effect.map(EncodedAnswer, (encoded) => encoded() ?? { data })

/** Returns an answer of the API as it is sent. */
export const toResponse = (
  { body, status }: Answer,
  headers: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.uint8Array(body, { status, contentType: "application/json", headers })

type Encode = (data: unknown) => Effect.Effect<Answer>

/** How each operation of the contract encodes what it answers with. */
const encoders: ReadonlyMap<HttpApiEndpoint.Top, Encode> = (() => {
  const found = new Map<HttpApiEndpoint.Top, Encode>()
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, successes }) => {
      for (const [status, [schema]] of successes) {
        // No schema of the contract asks for a service, which the type of any schema leaves open.
        const encode = Schema.encodeUnknownEffect(schema as Schema.Top & { readonly EncodingServices: never })
        found.set(endpoint, (data) =>
          Effect.map(Effect.orDie(encode({ data })), (json) => ({
            status,
            body: encoder.encode(JSON.stringify(json))
          })))
      }
    }
  })
  return found
})()

/** Returns how an operation encodes the resource that it answers with. */
export const encodeFor = (endpoint: HttpApiEndpoint.Top): Encode =>
  encoders.get(endpoint) ?? (() => Effect.die(new Error(`${endpoint.method} ${endpoint.path} is not in the contract.`)))
