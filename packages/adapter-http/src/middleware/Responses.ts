/**
 * Responses: how the results of operations become JSON.
 *
 * | Function of a handler | Result of the operation | Body |
 * | --- | --- | --- |
 * | `single` | one resource | `{ data }` |
 * | `tagged` | one resource, with headers that follow from its body | `{ data }` |
 * | `complete` | all resources of a list | `{ data, next_cursor: null }` |
 * | `page` | a page of a list | the page: `{ data, next_cursor }` |
 * | `later` | a page that the handler waits for | white space, and then the page |
 * | `written` | the resource of a write, with or without a key | `{ data }`, which the operation encodes |
 *
 * A file (`handlers/Media.ts`) and a stream of events (`EventStream.ts`) are not JSON, and respond themselves.
 */
import { encoder, type OwnSchema } from "@messaging-crm/core/Codecs"
import type { EncodedResponse, KeyedRequest, Respond } from "@messaging-crm/core/Idempotency"
import { Context, Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { Api } from "../api/Api.ts"
import * as ErrorMapping from "../api/ErrorMapping.ts"

/**
 * The current request with its idempotency key; null for one without a key. It is part of the context,
 * because a middleware of `HttpApi` can give a handler nothing else.
 */
export const CurrentKeyedRequest = Context.Reference<KeyedRequest | null>(
  "@messaging-crm/adapter-http/middleware/Responses/CurrentKeyedRequest",
  { defaultValue: () => null }
)

/** Returns a response of the API as it is sent: as text and not as bytes, so that Node writes it together with the headers. */
export const toResponse = (
  { body, status }: EncodedResponse,
  headers: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(body, { status, contentType: "application/json", headers })

/** Returns the body of a response of `toResponse`, or of an empty one. */
export const bodyTextOf = ({ body }: HttpServerResponse.HttpServerResponse): string => {
  if (body._tag === "Empty") return ""
  if (body._tag === "Uint8Array" && body.text !== undefined) return body.text
  throw new Error(`The response has a body of ${body._tag} instead of text: make it with \`toResponse\`.`)
}

/** How the results of an operation become JSON. */
interface Codec {
  readonly status: number
  readonly schema: OwnSchema
  /** Returns the body of a response. */
  readonly text: (result: unknown) => string
}

/** The codec of each operation of the contract. */
export const codecs: ReadonlyMap<HttpApiEndpoint.Top, Codec> = (() => {
  const found = new Map<HttpApiEndpoint.Top, Codec>()
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, successes }) => {
      for (const [status, [success]] of successes) {
        // No schema of the contract needs a service, although its type allows for one.
        const schema = success as OwnSchema
        const encode = encoder(schema)
        found.set(endpoint, { status, schema, text: (result) => JSON.stringify(encode(result)) })
      }
    }
  })
  return found
})()

const codecFor = (endpoint: HttpApiEndpoint.Top) => {
  const codec = codecs.get(endpoint)
  if (codec === undefined) throw new Error(`${endpoint.method} ${endpoint.path} is not in the contract.`)
  return codec
}

/** Returns the function that encodes the body of an endpoint's response. */
export const textOf = (endpoint: HttpApiEndpoint.Top) => codecFor(endpoint).text

/** Responds with a body as it is. */
const withBody = (endpoint: HttpApiEndpoint.Top) => {
  const { status, text } = codecFor(endpoint)
  return (result: unknown): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
    Effect.sync(() => toResponse({ status, body: text(result) }))
}

/** Responds with a page of a list. */
export const page = withBody

/** JSON can start with white space, which keeps the connection open. */
const alive = Stream.concat(Stream.make("\n"), Stream.as(Stream.drop(Stream.tick("10 seconds"), 1), "\n"))

/**
 * Responds with a body that does not exist yet. The head is sent at once: the request has no time limit, and does not count
 * as in progress for its API key.
 */
export const later = (endpoint: HttpApiEndpoint.Top) => {
  const { status, text } = codecFor(endpoint)
  return <R>(result: Effect.Effect<unknown, never, R>) =>
    Effect.contextWith((context: Context.Context<R>) => {
      const body = Stream.fromEffect(Effect.provideContext(Effect.map(result, text), context))
      const parts = Stream.merge(body, alive, { haltStrategy: "left" })
      return Effect.succeed(HttpServerResponse.stream(Stream.encodeText(parts), {
        status,
        contentType: "application/json",
        // Compression would delay the parts.
        headers: { "content-encoding": "identity" }
      }))
    })
}

/** Responds with one resource. */
export const single = (endpoint: HttpApiEndpoint.Top) => {
  const respond = withBody(endpoint)
  return (data: unknown) => respond({ data })
}

/** Responds with one resource, and with the headers that follow from its body. */
export const tagged = (
  endpoint: HttpApiEndpoint.Top,
  headersOf: (body: string) => Effect.Effect<Readonly<Record<string, string>>>
) => {
  const { status, text } = codecFor(endpoint)
  return (data: unknown): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
    Effect.suspend(() => {
      const json = text({ data })
      return Effect.map(headersOf(json), (headers) => toResponse({ status, body: json }, headers))
    })
}

/** Responds with the resource of a write. The operation encodes it, and records it if the request has a key. */
export const written = (endpoint: HttpApiEndpoint.Top) => {
  const { status, text } = codecFor(endpoint)
  const encode = (data: unknown) => Effect.sync(() => ({ status, body: text({ data }) }))
  return <E, R>(
    write: (respond: Respond<unknown, EncodedResponse>) => Effect.Effect<EncodedResponse, E, R>
  ) =>
    Effect.flatMap(
      CurrentKeyedRequest,
      (record) => Effect.map(write({ encode, record }), (response) => toResponse(response))
    ).pipe(ErrorMapping.translate)
}

/** Responds with a complete list. */
export const complete = (endpoint: HttpApiEndpoint.Top) => {
  const respond = withBody(endpoint)
  return (data: ReadonlyArray<unknown>) => respond({ data, next_cursor: null })
}
