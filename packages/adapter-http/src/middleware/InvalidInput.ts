import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { type HttpApiEndpoint, HttpApiError } from "effect/http-api"
import * as Errors from "../api/Errors.ts"
import { InvalidInput, RequestBody } from "../api/Pipeline.ts"
import { explain } from "./SchemaIssues.ts"

const isObject = (json: unknown): boolean => typeof json === "object" && json !== null && !Array.isArray(json)

const refuse = Effect.fnUntraced(function*(error: HttpApiError.HttpApiSchemaError) {
  // Ours, not the caller's: an answer that does not fit the contract.
  if (error.kind === "Body" || error.kind === "ResponseHeaders") return yield* Effect.die(error)
  const { message, param } = explain(error.cause.issue)
  return yield* Errors.fail("invalid_input", message, param)
})

/** What is wrong with a query or body whatever the schema: given twice, or given where there is none. */
const checkGiven = Effect.fnUntraced(function*(endpoint: HttpApiEndpoint.Top) {
  const search = yield* HttpServerRequest.ParsedSearchParams
  for (const [name, value] of Object.entries(search)) {
    if (Array.isArray(value)) return yield* Errors.invalid(name, `${name} is given more than once.`)
    if (endpoint.query === undefined) {
      return yield* Errors.invalid(name, `${name} is not known here: this operation takes no query.`)
    }
  }
  const { json } = yield* RequestBody
  if (json === undefined) return
  if (!isObject(json)) return yield* Errors.fail("invalid_input", "The body must be a JSON object.")
  if (endpoint.payload.size > 0) return
  const [name] = Object.keys(Object(json))
  if (name !== undefined) return yield* Errors.invalid(name, `${name} is not known here: this operation takes no body.`)
})

/** Layer that answers a request that does not decode, naming the first offending parameter or field. */
export const layer = Layer.succeed(InvalidInput, (httpEffect, { endpoint }) =>
  checkGiven(endpoint).pipe(
    Effect.andThen(httpEffect),
    Effect.catch((error) => HttpApiError.HttpApiSchemaError.is(error) ? refuse(error) : Effect.fail(error))
  ))
