import { Effect, Layer, SchemaIssue } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiError, type HttpApiEndpoint } from "effect/http-api"
import * as Errors from "../api/Errors.ts"
import { InvalidInput, RequestBody } from "../api/Pipeline.ts"

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const refuse = (error: HttpApiError.HttpApiSchemaError) => {
  // Ours, not the caller's: an answer that does not fit the contract.
  if (error.kind === "Body" || error.kind === "ResponseHeaders") return Effect.die(error)
  const issue = format(error.cause.issue).issues[0]
  const path = (issue?.path ?? []).map((segment) => String(typeof segment === "object" ? segment.key : segment))
  const param = path.length === 0 ? null : path.join(".")
  return Errors.fail("invalid_input", `${param ?? "The body"}: ${issue?.message ?? "is invalid"}.`, param)
}

const unknownQuery = (name: string) => Errors.invalid(name, `${name} is not a query parameter of this operation.`)
const unknownField = (name: string) => Errors.invalid(name, `This operation takes no body, so ${name} has no place.`)

/** What an operation that declares no query, or no body, was given all the same. */
const undeclared = Effect.fnUntraced(function*(endpoint: HttpApiEndpoint.Top) {
  if (endpoint.query === undefined) {
    const search = yield* HttpServerRequest.ParsedSearchParams
    const [name] = Object.keys(search)
    if (name !== undefined) return yield* unknownQuery(name)
  }
  if (endpoint.payload.size === 0) {
    const { json } = yield* RequestBody
    const [name] = Object.keys(Object(json))
    if (name !== undefined) return yield* unknownField(name)
  }
})

/** Layer that answers a request that does not decode, naming the first offending parameter or field. */
export const layer = Layer.succeed(InvalidInput, (httpEffect, { endpoint }) =>
  undeclared(endpoint).pipe(
    Effect.andThen(httpEffect),
    Effect.catch((error) => HttpApiError.HttpApiSchemaError.is(error) ? refuse(error) : Effect.fail(error))
  ))
