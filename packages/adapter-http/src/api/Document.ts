/** What the OpenAPI document says of every operation and no schema says: its scope, and the headers of its answers. */
import { Context, Option, Record } from "effect"
import { HttpApi, type HttpApiEndpoint, type HttpApiGroup, type OpenApi } from "effect/http-api"
import { IdempotencyPolicy, OptionalBody, RequiredScope } from "./Pipeline.ts"

const integer = { type: "integer" }
const string = { type: "string" }

const headers = {
  "X-Request-Id": { description: "Names the request in the service's log.", schema: string },
  "X-RateLimit-Limit": { description: "Requests that the key may make in a window of 60 seconds.", schema: integer },
  "X-RateLimit-Remaining": { description: "Requests that are left in this window.", schema: integer },
  "X-RateLimit-Reset": { description: "When the window ends, in Unix seconds.", schema: integer },
  "Idempotent-Replayed": { description: "`true` on the remembered answer to an earlier request.", schema: string },
  "Original-Request-Id": { description: "The id of that earlier request.", schema: string },
  "Retry-After": { description: "Seconds to wait before the next try, with `request_processing`.", schema: integer }
}

type Name = keyof typeof headers

const always: ReadonlyArray<Name> = ["X-Request-Id"]
const admitted: ReadonlyArray<Name> = [...always, "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]
const remembered: ReadonlyArray<Name> = [...admitted, "Idempotent-Replayed", "Original-Request-Id"]

const headersOf = (status: string, isWrite: boolean): ReadonlyArray<Name> => {
  if (status === "401") return always
  if (!isWrite) return admitted
  if (status === "409") return [...remembered, "Retry-After"]
  return status.startsWith("2") || status === "404" ? remembered : admitted
}

/** A read takes neither body nor key, so the pipeline cannot refuse them. */
const neverOfRead = new Set(["409", "413", "415"])

const complete = (endpoint: HttpApiEndpoint.Top, operation: OpenApi.OpenAPISpecOperation) => {
  const { annotations } = endpoint
  const isWrite = Option.isSome(Context.getOption(annotations, IdempotencyPolicy))
  const responses = Record.filter(operation.responses, (_, status) => isWrite || !neverOfRead.has(status))
  const mayOmitBody = Option.isSome(Context.getOption(annotations, OptionalBody))
  return {
    ...operation,
    ...(mayOmitBody ? { requestBody: { ...operation.requestBody, required: false } } : {}),
    "x-required-scope": Context.getUnsafe(annotations, RequiredScope),
    responses: Record.map(responses, (response, status) => ({
      ...response,
      headers: {
        ...Record.fromIterableWith(
          headersOf(status, isWrite),
          (name) => [name, { $ref: `#/components/headers/${name}` }]
        ),
        ...response.headers
      }
    }))
  }
}

/** Returns what completes the generated document of an API. */
export const completeFor =
  <Id extends string, Groups extends HttpApiGroup.Constraint>(api: HttpApi.HttpApi<Id, Groups>) =>
  (generated: Readonly<Record<string, unknown>>) => {
    // The annotation's type is looser than what the generator hands to it.
    const document = generated as unknown as OpenApi.OpenAPISpec
    const paths: Record<string, Record<string, unknown>> = {}
    HttpApi.reflect(api, {
      onGroup: () => {},
      onEndpoint: ({ endpoint }) => {
        const path = endpoint.path.replace(/:(\w+)/g, "{$1}")
        const operations = document.paths[path] as Readonly<Record<string, OpenApi.OpenAPISpecOperation>>
        const method = endpoint.method.toLowerCase()
        const operation = operations[method]
        if (operation !== undefined) paths[path] = { ...paths[path], [method]: complete(endpoint, operation) }
      }
    })
    return { ...document, paths, components: { ...document.components, headers } }
  }
