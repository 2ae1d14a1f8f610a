/**
 * Answers, encoded once.
 *
 * What a keyed write remembers with its changes is what is sent, byte for byte.
 * What our own operations answer is not checked again where it is trusted.
 */
import type { Answer } from "@messaging-crm/core/Idempotency"
import { trusted, TrustOwnValues } from "@messaging-crm/core/TrustedCodecs"
import { Context, Effect, Option, Schema, SchemaAST } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { Api } from "../api/Api.ts"

const encoder = new TextEncoder()

/** Returns the response that the current request's answer was encoded to, or null where none was: without a key. */
export const EncodedAnswer = Context.Reference<() => HttpServerResponse.HttpServerResponse | null>(
  "@messaging-crm/adapter-http/middleware/Answers/EncodedAnswer",
  { defaultValue: () => () => null }
)

/** Returns an answer of the API as it is sent. */
export const toResponse = (
  { body, status }: Answer,
  headers: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.uint8Array(body, { status, contentType: "application/json", headers })

/** How an operation's answers become JSON. */
interface Codec {
  readonly status: number
  /** Checks an answer by its schema. */
  readonly check: (answer: unknown) => Effect.Effect<unknown>
  /** Trusts that an answer fits its schema; none where the schema holds what only it understands. */
  readonly trust: Option.Option<(answer: unknown) => unknown>
}

const codecOf = (status: number, schema: Schema.Top): Codec => {
  // No schema of the contract needs a service, although its type allows for one.
  const check = Schema.encodeUnknownEffect(schema as Schema.Top & { readonly EncodingServices: never })
  return {
    status,
    check: (answer) => Effect.orDie(check(answer)),
    trust: trusted(SchemaAST.flip(schema.ast))
  }
}

/** The codec of each operation of the contract. */
export const codecs: ReadonlyMap<HttpApiEndpoint.Top, Codec> = (() => {
  const found = new Map<HttpApiEndpoint.Top, Codec>()
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, successes }) => {
      for (const [status, [schema]] of successes) found.set(endpoint, codecOf(status, schema))
    }
  })
  return found
})()

const toAnswer = (status: number, json: unknown): Answer => ({ status, body: encoder.encode(JSON.stringify(json)) })

/** Returns how an operation encodes the resource that it answers with. */
export const encodeFor = (endpoint: HttpApiEndpoint.Top): (data: unknown) => Effect.Effect<Answer> => {
  const codec = codecs.get(endpoint)
  if (codec === undefined) {
    return () => Effect.die(new Error(`${endpoint.method} ${endpoint.path} is not in the contract.`))
  }
  const { check, status, trust } = codec
  return (data) =>
    Effect.flatMap(TrustOwnValues, (isTrusted) =>
      isTrusted && Option.isSome(trust)
        ? Effect.sync(() => toAnswer(status, trust.value({ data })))
        : Effect.map(check({ data }), (json) => toAnswer(status, json)))
}

/** Answers with a body: encoded here where it is trusted, else by `HttpApiBuilder`, which checks it. */
export const body = (endpoint: HttpApiEndpoint.Top) => {
  const codec = codecs.get(endpoint)
  return <A>(answer: A): Effect.Effect<HttpServerResponse.HttpServerResponse | A> =>
    Effect.map(TrustOwnValues, (isTrusted) => {
      if (!isTrusted || codec === undefined || Option.isNone(codec.trust)) return answer
      const { status, trust } = codec
      // As text and not as bytes, so that Node writes it together with the headers.
      return HttpServerResponse.text(JSON.stringify(trust.value(answer)), { status, contentType: "application/json" })
    })
}

/** Answers with one resource: with the bytes that are remembered, where there are some. */
export const single = (endpoint: HttpApiEndpoint.Top) => {
  const respond = body(endpoint)
  return <A>(data: A): Effect.Effect<HttpServerResponse.HttpServerResponse | { readonly data: A }> =>
    Effect.flatMap(EncodedAnswer, (encoded) => {
      const response = encoded()
      return response === null ? respond({ data }) : Effect.succeed(response)
    })
}

/** Answers with a list that is complete. */
export const complete = (endpoint: HttpApiEndpoint.Top) => {
  const respond = body(endpoint)
  return <A>(data: ReadonlyArray<A>) => respond({ data, next_cursor: null })
}
