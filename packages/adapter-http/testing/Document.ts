/** Checks every response of every test against the OpenAPI document. */
import { openApi } from "@messaging-crm/adapter-http"
import addFormats from "ajv-formats"
import { Ajv2020 } from "ajv/dist/2020.js"

export interface Header {
  readonly required: boolean
  readonly schema: { readonly type: string }
}

export interface Media {
  readonly schema: unknown
  readonly examples: Readonly<Record<string, { readonly value?: unknown; readonly $ref?: string }>>
}

export interface Response {
  readonly headers: Readonly<Record<string, unknown>>
  readonly content: Readonly<Record<string, Media>>
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly "x-required-scope": string
  readonly parameters: ReadonlyArray<{ readonly name: string; readonly in: string; readonly required: boolean }>
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, unknown>>
}

/** The document, as it is after its trip as JSON. */
export const document: {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<
    Record<string, { readonly post: Pick<Required<Operation>, "description" | "requestBody" | "summary"> }>
  >
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>
} = JSON.parse(JSON.stringify(openApi()))

/** Every operation of the document, by method and path. */
export const documented = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation }))
)

/** Follows a reference inside the document, when there is one. */
export const resolve = <A>(value: unknown): A => {
  const { $ref } = value as { readonly $ref?: string }
  if ($ref === undefined) return value as A
  const parts = $ref.slice(2).split("/")
  return parts.reduce<unknown>((at, part) => (at as Readonly<Record<string, unknown>>)[part], document) as A
}

/** The document allows new fields in responses. The tests allow only the fields that it names. */
const close = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(close)
  if (typeof value !== "object" || value === null) return value
  const closed = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, close(each)]))
  return closed.type === "object" && "properties" in closed ? { additionalProperties: false, ...closed } : closed
}

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
ajv.addVocabulary(["x-extensible-enum", "discriminator"])
addFormats.default(ajv)

/** A schema as the validator reads it: closed, and referring to components by name alone. */
const strict = (schema: unknown): object =>
  JSON.parse(JSON.stringify(close(schema)).replaceAll("\"#/components/schemas/", "\""))

for (const [name, schema] of Object.entries(document.components.schemas ?? {})) ajv.addSchema(strict(schema), name)

const validators = new Map<unknown, ReturnType<typeof ajv.compile>>()

/** Returns what is wrong with a value by a schema of the document, or null. */
export const flawOf = (schema: unknown, value: unknown): string | null => {
  const known = validators.get(schema)
  const validate = known ?? ajv.compile(strict(schema))
  if (known === undefined) validators.set(schema, validate)
  return validate(value) ? null : ajv.errorsText(validate.errors)
}

const matches = (template: string, path: string): boolean => {
  const names = template.split("/")
  const parts = path.split("/")
  return names.length === parts.length && names.every((name, index) => {
    const part = parts[index] ?? ""
    return name.startsWith("{") ? part !== "" && !part.includes("%") : name === part
  })
}

/** The names of the headers that some response has by the document. */
const headerNames = new Set(
  documented.flatMap(({ operation }) =>
    Object.values(operation.responses).flatMap((response) => Object.keys(resolve<Response>(response).headers))
  )
)

const headerFlaws = (response: Response, headers: Headers): ReadonlyArray<string> => [
  ...Array.from(headerNames).flatMap((name) =>
    headers.has(name) && !(name in response.headers) ? [`the header ${name} is not documented`] : []
  ),
  ...Object.entries(response.headers).flatMap(([name, reference]) => {
    const { required, schema } = resolve<Header>(reference)
    const value = headers.get(name)
    if (value === null) return required ? [`${name} is missing`] : []
    const flaw = flawOf(schema, schema.type === "integer" ? Number(value) : value)
    return flaw === null ? [] : [`${name}: ${flaw}`]
  })
]

const bodyFlaws = ({ content }: Response, headers: Headers, text: string): ReadonlyArray<string> => {
  const media = content[headers.get("content-type") ?? ""]
  if (media === undefined) return [`the media type ${headers.get("content-type")} is not documented`]
  const flaw = flawOf(media.schema, JSON.parse(text))
  return flaw === null ? [] : [`body: ${flaw}`]
}

/** Throws if the response to an operation does not match the document. Other paths are not checked. */
export const judge = (
  request: { readonly method: string; readonly path: string },
  response: { readonly status: number; readonly headers: Headers; readonly text: string }
): void => {
  const [address = ""] = request.path.split("?")
  const template = Object.keys(document.paths).find((path) => matches(`/v1${path}`, address))
  const operation = template === undefined ? undefined : document.paths[template]?.[request.method.toLowerCase()]
  if (operation === undefined) return
  const { headers, status, text } = response
  const found = operation.responses[status]
  const documented = found === undefined ? undefined : resolve<Response>(found)
  const flaws = documented === undefined
    ? ["the status is not documented"]
    : [...headerFlaws(documented, headers), ...bodyFlaws(documented, headers, text)]
  if (flaws.length === 0) return
  throw new Error(`${operation.operationId} responded with ${status}: ${flaws.join("; ")}\n${text}`)
}
