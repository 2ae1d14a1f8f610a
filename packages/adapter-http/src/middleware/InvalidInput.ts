import { Effect, Layer, Option, Predicate } from "effect"
import { HttpServerRequest } from "effect/http"
import { type HttpApiEndpoint, HttpApiError } from "effect/http-api"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import { InvalidInput, RequestBody } from "../api/Pipeline.ts"
import { queryOf } from "./Routes.ts"
import { explain } from "./SchemaIssues.ts"

const reject = Effect.fnUntraced(function*(error: HttpApiError.HttpApiSchemaError) {
  // A defect of the service: the response does not match the contract.
  if (error.kind === "Body" || error.kind === "ResponseHeaders") return yield* Effect.die(error)
  return yield* Errors.failWith({ code: "invalid_input", ...explain(error.cause.issue) })
})

const decoded = Option.liftThrowable(decodeURIComponent)

/** Returns the first parameter of a query whose percent-encoding is not UTF-8. The router would read U+FFFD for it. */
const misencodedIn = (query: string): string | undefined =>
  query.includes("%") ? query.split("&").find((pair) => Option.isNone(decoded(pair))) : undefined

/**
 * Rejects a query parameter that is not percent-encoded UTF-8 or is repeated, and any query parameter of an operation without
 * a query.
 */
const checkQuery = ({ query }: HttpApiEndpoint.Top) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const misencoded = misencodedIn(queryOf(request))
    if (misencoded !== undefined) {
      const [name = ""] = misencoded.split("=")
      return Errors.failWith(Texts.parameterMisencoded(name))
    }
    return Effect.flatMap(HttpServerRequest.ParsedSearchParams, (search) => {
      for (const [name, value] of Object.entries(search)) {
        if (Array.isArray(value)) return Errors.failWith(Texts.parameterRepeated(name))
        if (query === undefined) return Errors.failWith(Texts.parameterUnexpected(name))
      }
      return Effect.void
    })
  })

/** Rejects a body that is not an object, and any field of an operation without a body. */
const checkBody = ({ payload }: HttpApiEndpoint.Top) =>
  Effect.flatMap(RequestBody, ({ json }) => {
    if (json === undefined) return Effect.void
    if (!Predicate.isObject(json)) return Errors.failWith(Texts.bodyNotObject)
    const [name] = payload.size > 0 ? [] : Object.keys(json)
    return name === undefined ? Effect.void : Errors.failWith(Texts.fieldUnexpected(name))
  })

/** Layer that rejects a request that does not decode. The error names the first invalid parameter or field. */
export const layer = Layer.succeed(InvalidInput, (httpEffect, { endpoint }) => {
  const query = checkQuery(endpoint)
  // A GET has no body, whatever its headers claim.
  const given = endpoint.method === "GET" ? query : Effect.andThen(query, checkBody(endpoint))
  return given.pipe(
    Effect.andThen(httpEffect),
    Effect.catch((error) => HttpApiError.HttpApiSchemaError.is(error) ? reject(error) : Effect.fail(error))
  )
})
