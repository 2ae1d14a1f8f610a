/** The document that the page shows: the contract's, with samples, and with forms or as documentation only. */
import { Record } from "effect"
import { OpenApi } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { withErrorCodes } from "./ErrorCodes.ts"
import { samplesOf } from "./Samples.ts"

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly example?: unknown
  readonly schema: object
}

interface Operation {
  readonly operationId: string
  readonly parameters: ReadonlyArray<Parameter | { readonly $ref: string }>
  readonly security?: unknown
  readonly responses: object
  readonly requestBody?: {
    readonly content: {
      readonly "application/json": { readonly examples: Readonly<Record<string, { readonly value: unknown }>> }
    }
  }
}

/** The prefix of the idempotency keys in the forms. */
const key_prefix = "try-"

/**
 * Gives each request of a form a key of its own, so that a form may be sent again with
 * another body. A key that the reader enters is sent unchanged.
 */
export const fresh_keys_script = `
  const send = window.fetch.bind(window)
  window.fetch = (input, init) => {
    const request = new Request(input, init)
    const key = request.headers.get("idempotency-key") ?? ""
    const own = Date.now().toString(36) + Math.random().toString(36).slice(2, 8)
    if (key.startsWith("${key_prefix}")) request.headers.set("idempotency-key", key + "-" + own)
    return send(request)
  }
`

/** The parameters of the operation itself. The one reference is to `X-Request-Id`, which is optional everywhere. */
const ownParameters = ({ parameters }: Operation): ReadonlyArray<Parameter> =>
  parameters.flatMap((parameter) => "$ref" in parameter ? [] : [parameter])

const exampleOf = ({ example }: Parameter): string => String(example)

/** The request that an operation's samples send: the first example of its body, the IDs in its path, and its idempotency key. */
const callOf = (method: string, path: string, operation: Operation) => {
  const parameters = ownParameters(operation)
  // No example of `If-Match` is the tag of a contact.
  const headers = parameters.filter(({ name }) => name === "Idempotency-Key")
  const [body] = Object.values(operation.requestBody?.content["application/json"].examples ?? {})
  return {
    method: method.toUpperCase(),
    path: parameters.filter((each) => each.in === "path").reduce(
      (filled, each) => filled.replace(`{${each.name}}`, exampleOf(each)),
      path
    ),
    headers: {
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...Object.fromEntries(headers.map((each) => [each.name, exampleOf(each)]))
    },
    body: body?.value
  }
}

/** An operation with a form: its required parameters are filled in, and each operation has its own idempotency key. */
const withForm = (operation: Operation): Operation => ({
  ...operation,
  parameters: ownParameters(operation).map((parameter) => {
    const { default: _, ...schema } = parameter.schema as Readonly<Record<string, unknown>>
    const filled = parameter.name === "Idempotency-Key" ? `${key_prefix}${operation.operationId}` : exampleOf(parameter)
    return { ...parameter, schema: parameter.required ? { ...schema, default: filled } : schema }
  })
})

const withoutSecurity = ({ security: _, ...operation }: Operation): Operation => operation

/** An operation without an example of a cursor, because none is valid. */
const withoutCursor = (operation: Operation): Operation => ({
  ...operation,
  parameters: operation.parameters.map((parameter) => {
    if ("$ref" in parameter || parameter.name !== "cursor") return parameter
    const { example: _, ...others } = parameter
    return others
  })
})

/**
 * Returns the document of the page. Without forms it has no security schemes, for which the page would show a field for a
 * key.
 */
export const documentOf = (sends: boolean) => {
  const { components, security, ...document } = OpenApi.fromApi(Api)
  const { securitySchemes, ...others } = components
  const shown = sends ? withForm : withoutSecurity
  // The document is the result of `api/Document.ts`.
  const paths = document.paths as unknown as Readonly<Record<string, Readonly<Record<string, Operation>>>>
  return {
    ...document,
    info: { ...document.info, description: withErrorCodes({ ...document, components, paths }) },
    ...(sends ? { security } : {}),
    components: sends ? { ...others, securitySchemes } : others,
    paths: Record.map(paths, (operations, path) =>
      Record.map(operations, (operation, method) => ({
        ...withoutCursor(shown(operation)),
        "x-code-samples": samplesOf(callOf(method, path, operation))
      })))
  }
}
