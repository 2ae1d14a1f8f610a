/**
 * Completes the OpenAPI document that is generated from the schemas: adds scopes,
 * headers, examples and error responses to every operation.
 */
import { limits } from "@messaging-crm/core/Limits"
import { Context, type JsonSchema, Option, Record, type Schema } from "effect"
import { HttpApi, type HttpApiEndpoint, type HttpApiGroup, type OpenApi } from "effect/http-api"
import { canReject, rejections, rejectionsOf } from "./Document/ErrorExamples.ts"
import { deprecated, headers, headersOf, parameters } from "./Document/Headers.ts"
import { discriminated, plain, referredBy, tolerant } from "./Document/Schemas.ts"
import { webhooks, withResources } from "./Document/Webhooks.ts"
import { Conflict } from "./Errors.ts"
import { cursor, Example, ids } from "./Examples.ts"
import { isTagged, OptionalBody, rulesFor } from "./Pipeline.ts"

/** The paths of the document are relative to the version, which is in `servers`. */
const base = "/v1"

/** Overrides for parameters: the generated schema describes the raw text of the request. */
const shown: Readonly<Record<string, object>> = {
  page_size: {
    description: "Maximum number of items on the page.",
    schema: {
      type: "integer",
      minimum: limits.page_size_min,
      maximum: limits.page_size_max,
      default: limits.page_size_default
    },
    example: limits.page_size_default
  },
  wait: {
    schema: { type: "integer", minimum: 0, maximum: limits.follow_wait_seconds_max, default: 0 },
    example: limits.follow_wait_seconds_max
  },
  cursor: { example: cursor },
  "idempotency-key": { name: "Idempotency-Key" },
  "if-match": { name: "If-Match" },
  "last-event-id": { name: "Last-Event-ID", example: cursor },
  ...Record.map(ids, (example) => ({ example }))
}

const parameterOf = ({ name, schema, ...rest }: OpenApi.OpenAPISpecParameter) => {
  const { description, examples, ...bare } = schema as Readonly<Record<string, unknown>>
  const [example] = Array.isArray(examples) ? examples : []
  return {
    name,
    ...rest,
    ...(rest.in === "path" ? { description: `The ID of the ${name.replace(/_id$/, "")}.` } : {}),
    ...(description === undefined ? {} : { description }),
    schema: bare,
    ...(example === undefined ? {} : { example }),
    ...shown[name]
  }
}

const withExamples = (content: OpenApi.OpenApiSpecContent = {}, examples: object) =>
  Record.map(content, ({ schema }) => ({ schema, examples }))

/** Returns the schema of a body that is sent. In a payload, null stands for an absent one. */
const present = (schema: JsonSchema.JsonSchema): JsonSchema.JsonSchema =>
  Array.isArray(schema.anyOf)
    ? { ...schema, anyOf: schema.anyOf.filter((each: JsonSchema.JsonSchema) => each.type !== "null") }
    : schema

const requestBodyOf = (endpoint: HttpApiEndpoint.Top, body: OpenApi.OpenAPISpecRequestBody) => {
  const { requests = {} } = Context.get(endpoint.annotations, Example)
  return {
    required: Option.isNone(Context.getOption(endpoint.annotations, OptionalBody)),
    content: withExamples(
      Record.map(body.content ?? {}, (media) => ({ ...media, schema: present(media.schema) })),
      Record.map(requests, (value) => ({ value }))
    )
  }
}

const success: Readonly<Record<string, string>> = {
  200: "The request succeeded.",
  201: "The resource was created.",
  202: "The request was accepted. A worker processes it asynchronously."
}

/** Returns the second media type of an operation whose response can be a stream. The clients that are made of the contract do not request it. */
const streamOf = (example: string | undefined) =>
  example === undefined ? {} : {
    "text/event-stream": {
      schema: {
        type: "string",
        description: "Server-sent events. `data` of each is an event as JSON, and `id` is the cursor after it."
      },
      examples: { stream: { value: example } }
    }
  }

type Schemas = OpenApi.OpenAPISpec["components"]["schemas"]

const refPrefix = "#/components/schemas/"

/** Returns the error codes of a component. A list of one code is a union. */
const codesOf = (schemas: Schemas, name: string): ReadonlyArray<string> => {
  const { properties } = schemas[name] as { readonly properties: { readonly error: JsonSchema.JsonSchema } }
  const { code } = properties.error.properties as { readonly code: JsonSchema.JsonSchema }
  const members: ReadonlyArray<JsonSchema.JsonSchema> = Array.isArray(code.anyOf) ? code.anyOf : [code]
  return members.flatMap((member) => member.enum as ReadonlyArray<string>)
}

/** Returns whether an endpoint itself declares an error. The endpoint has a copy of its schema, with the same AST. */
const declares = ({ error }: HttpApiEndpoint.Top, schema: Schema.Top): boolean =>
  Array.from(error).some(({ ast }) => ast === schema.ast)

/**
 * Returns the component of an error response. Of those that the endpoint and its middleware declare for one status, a write's
 * has the most codes. A read has neither a body nor a key that could be rejected, so that its has the fewest.
 *
 * `IdempotentWrites` declares `Conflict` for every endpoint, because an endpoint cannot declare it with `Retry-After` too.
 */
const errorOf = (schemas: Schemas, endpoint: HttpApiEndpoint.Top, content: OpenApi.OpenApiSpecContent): string => {
  const isWrite = rulesFor(endpoint).idempotency !== null
  const [first = "", ...others] = Object.values(content)
    .flatMap(({ schema }) => Array.isArray(schema.anyOf) ? schema.anyOf : [schema])
    .map(({ $ref }) => String($ref).slice(refPrefix.length))
    .filter((name) => name !== "Conflict" || declares(endpoint, Conflict))
  const count = (name: string) => codesOf(schemas, name).length * (isWrite ? 1 : -1)
  return others.reduce((best, name) => count(name) > count(best) ? name : best, first)
}

const errorContentOf = (
  schemas: Schemas,
  endpoint: HttpApiEndpoint.Top,
  content: OpenApi.OpenApiSpecContent
) => {
  const name = errorOf(schemas, endpoint, content)
  const examples = rejectionsOf(endpoint, codesOf(schemas, name))
  return Record.map(content, () => ({ schema: { $ref: refPrefix + name }, examples }))
}

const responsesOf = (schemas: Schemas, endpoint: HttpApiEndpoint.Top, responses: OpenApi.OpenAPISpecResponses) => {
  const { deprecation, idempotency } = rulesFor(endpoint)
  const isWrite = idempotency !== null
  const { response, responses: others = {}, stream } = Context.get(endpoint.annotations, Example)
  const done = Record.map({ response, ...others }, (value) => ({ value }))
  return Record.map(
    Record.filter(responses, (_, status) => canReject(String(status), isWrite)),
    ({ content = {}, description }, status) => ({
      description: success[String(status)] ?? description,
      headers: {
        ...headersOf(String(status), { isWrite, isTagged: isTagged(endpoint) }),
        ...(deprecation !== undefined && String(status).startsWith("2") ? deprecated : {})
      },
      content: tolerant(
        String(status).startsWith("2")
          ? { ...withExamples(content, done), ...streamOf(stream) }
          : errorContentOf(schemas, endpoint, content)
      )
    })
  )
}

const operationOf = (
  schemas: Schemas,
  endpoint: HttpApiEndpoint.Top,
  operation: OpenApi.OpenAPISpecOperation
) => ({
  operationId: operation.operationId,
  summary: operation.summary,
  ...(operation.description === undefined ? {} : { description: operation.description }),
  tags: operation.tags,
  ...(rulesFor(endpoint).deprecation === undefined ? {} : { deprecated: true }),
  "x-required-scope": rulesFor(endpoint).scope,
  security: operation.security,
  parameters: [
    ...operation.parameters.map(parameterOf),
    ...Object.keys(parameters).map((name) => ({ $ref: `#/components/parameters/${name}` }))
  ],
  ...(operation.requestBody === undefined ? {} : { requestBody: requestBodyOf(endpoint, operation.requestBody) }),
  responses: responsesOf(schemas, endpoint, operation.responses)
})

const pathsOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  generated: OpenApi.OpenAPISpecPaths,
  schemas: Schemas
) => {
  const paths: Record<string, Record<string, ReturnType<typeof operationOf>>> = {}
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      const path = endpoint.path.replace(/:(\w+)/g, "{$1}")
      // The method is one of those that the generator writes in lower case.
      const method = endpoint.method.toLowerCase() as OpenApi.OpenAPISpecMethodName
      const operation = generated[path]?.[method]
      if (operation === undefined) return
      const short = path.slice(base.length)
      paths[short] = { ...paths[short], [method]: operationOf(schemas, endpoint, operation) }
    }
  })
  return paths
}

/** The statuses of error responses that many operations share. */
const shared_statuses: ReadonlySet<string> = new Set(["401", "413", "415", "429", "500", "503", "507"])

/** Returns the paths with each shared error response replaced by a reference, and the responses referred to. */
const factor = (paths: ReturnType<typeof pathsOf>) => {
  const responses: Record<string, unknown> = {}
  const refer = (response: { readonly content: unknown }, status: string) => {
    if (!shared_statuses.has(status)) return response
    const [{ schema }] = Object.values(response.content as OpenApi.OpenApiSpecContent) as [OpenApi.OpenApiSpecMediaType]
    const name = String(schema.$ref).slice(refPrefix.length)
    responses[name] = response
    return { $ref: `#/components/responses/${name}` }
  }
  const factored = Record.map(
    paths,
    Record.map((operation) => ({ ...operation, responses: Record.map(operation.responses, refer) }))
  )
  return { paths: factored, responses }
}

/** Schemas that no request refers to are those of responses. New fields may appear in them, so they are left open. */
const schemasOf = (paths: ReturnType<typeof pathsOf>, schemas: Readonly<Record<string, unknown>>) => {
  const bodies = Object.values(paths).flatMap((item) => Object.values(item).map(({ requestBody }) => requestBody))
  const sent = referredBy(bodies, schemas)
  const names = Object.keys(schemas).toSorted()
  return Object.fromEntries(names.map((name) => [name, sent.has(name) ? schemas[name] : tolerant(schemas[name])]))
}

/** The registered names of HTTP authentication schemes are in lower case, and some tools accept only those. */
const inLowerCase = (scheme: OpenApi.OpenAPISecurityScheme): OpenApi.OpenAPISecurityScheme =>
  scheme.type === "http" ? { ...scheme, scheme: scheme.scheme.toLowerCase() } : scheme

/** Returns the function that completes the generated document of an API. */
export const completeFor =
  <Id extends string, Groups extends HttpApiGroup.Constraint>(api: HttpApi.HttpApi<Id, Groups>) =>
  (generated: Readonly<Record<string, unknown>>) => {
    // The annotation's type is looser than what the generator passes to it.
    const document = generated as unknown as OpenApi.OpenAPISpec
    const paths = pathsOf(api, document.paths, document.components.schemas)
    const factored = factor(paths)
    const schemas = schemasOf(paths, withResources(document.components.schemas))
    const whole = plain({
      openapi: document.openapi,
      info: { ...document.info, contact: { name: "Messaging CRM" } },
      servers: document.servers,
      tags: document.tags,
      paths: factored.paths,
      webhooks,
      components: {
        securitySchemes: Record.map(document.components.securitySchemes, inLowerCase),
        parameters,
        headers,
        responses: factored.responses,
        examples: rejections,
        schemas
      }
    })
    return discriminated(whole, schemas) as Readonly<Record<string, unknown>>
  }
