/** The contract with the document that the page shows: with forms, or as documentation only. */
import { Context, Record } from "effect"
import { OpenApi } from "effect/http-api"
import { Api } from "../api/Api.ts"

interface Parameter {
  readonly name: string
  readonly required: boolean
  readonly example?: unknown
  readonly schema: { readonly default?: unknown }
}

interface Operation {
  readonly operationId: string
  readonly parameters: ReadonlyArray<Parameter | { readonly $ref: string }>
  readonly security?: unknown
  readonly requestBody?: { readonly content: { readonly "application/json": { readonly examples: object } } }
}

/** The prefix of the idempotency keys in the forms. */
const key_prefix = "try-"

/**
 * Gives each request of a form a key of its own, so that a form may be sent again with
 * another body. A key that the reader enters is sent unchanged.
 */
export const fresh_keys_script = `<script>
  const send = window.fetch.bind(window)
  window.fetch = (input, init) => {
    const request = new Request(input, init)
    const key = request.headers.get("idempotency-key") ?? ""
    const own = Date.now().toString(36) + Math.random().toString(36).slice(2, 8)
    if (key.startsWith("${key_prefix}")) request.headers.set("idempotency-key", key + "-" + own)
    return send(request)
  }
</script>`

/** Returns the example of a parameter. No example of a cursor is valid, and a copied command would contain it. */
const exampleOf = (name: string | undefined, example: unknown): unknown => name === "cursor" ? "" : example

/**
 * An operation with changes for the page's form, in each of its examples: an optional
 * parameter is off until it is selected, and each operation has its own idempotency key.
 */
const form = ({ operationId, parameters, requestBody, ...operation }: Operation) => {
  const names = Object.keys(requestBody?.content["application/json"].examples ?? {})
  const field = ({ example, ...parameter }: Parameter) => {
    const filled = parameter.name === "Idempotency-Key"
      ? `${key_prefix}${operationId}`
      : exampleOf(parameter.name, example)
    const value = filled ?? parameter.schema.default ?? ""
    const given = { value, "x-disabled": !parameter.required }
    return { ...parameter, examples: Object.fromEntries([...names, "default"].map((name) => [name, given])) }
  }
  return {
    ...operation,
    operationId,
    ...(requestBody === undefined ? {} : { requestBody }),
    // The one reference is to `X-Request-Id`, which a form would send without a value.
    parameters: parameters.flatMap((parameter) => "$ref" in parameter ? [] : [field(parameter)])
  }
}

const complete = Context.getUnsafe(Api.annotations, OpenApi.Transform)

/** The contract with a document for the page's forms, which otherwise send the examples of optional parameters. */
export const withForms = Api.annotate(OpenApi.Transform, (generated) => {
  const document = complete(generated)
  // The document is the result of `api/Document.ts`.
  const paths = document["paths"] as Readonly<Record<string, Readonly<Record<string, Operation>>>>
  return { ...document, paths: Record.map(paths, Record.map(form)) }
})

/** The contract with a document that has no security schemes, for which the page would show a field. */
export const withoutKeys = Api.annotate(OpenApi.Transform, (generated) => {
  const { components, security: _, ...document } = complete(generated)
  // The document is the result of `api/Document.ts`.
  const { securitySchemes: _schemes, ...others } = components as Readonly<Record<string, unknown>>
  const paths = document["paths"] as Readonly<Record<string, Readonly<Record<string, Operation>>>>
  const shown = ({ parameters, security: _, ...operation }: Operation) => ({
    ...operation,
    parameters: parameters.map((parameter) =>
      "$ref" in parameter ? parameter : { ...parameter, example: exampleOf(parameter.name, parameter.example) }
    )
  })
  return { ...document, components: others, paths: Record.map(paths, Record.map(shown)) }
})
