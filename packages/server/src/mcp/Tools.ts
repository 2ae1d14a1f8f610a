/** Tools for agents: one for each operation of the contract, with the name, description, scope, and input of its OpenAPI document. */
import { openApi } from "@messaging-crm/adapter-http"
import type { Route } from "@messaging-crm/client"

type JsonSchema = Readonly<Record<string, unknown>>

interface DocumentedParameter {
  readonly name: string
  readonly in: "header" | "path" | "query"
  readonly required: boolean
  readonly description?: string
  readonly schema: JsonSchema
}

interface DocumentedOperation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly "x-required-scope": string
  /** A reference is to a header that each operation accepts. */
  readonly parameters: ReadonlyArray<DocumentedParameter | { readonly $ref: string }>
  readonly requestBody?: {
    readonly required: boolean
    readonly content: {
      readonly "application/json": {
        readonly schema: JsonSchema
        readonly examples: Readonly<Record<string, { readonly value: unknown }>>
      }
    }
  }
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

/** An argument of a tool, and the part of the request that it sets. */
export interface Argument {
  readonly name: string
  readonly in: DocumentedParameter["in"]
  readonly required: boolean
  readonly schema: JsonSchema
}

/** A tool: an operation with its arguments. The fields of a request's body are in the argument `body`. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly route: Route
  readonly scope: string
  readonly is_write: boolean
  readonly arguments: ReadonlyArray<Argument>
  readonly body: { readonly required: boolean; readonly schema: JsonSchema } | null
  readonly input_schema: JsonSchema & { readonly type: "object" }
}

/** The items of a page, unless the call sets `page_size`. A page of 50 would fill an agent's context. */
export const page_size_default = 10

/**
 * The scope whose operations are no tools. They configure an integration, show its secrets, and can send what a key can read to
 * any URL, which a text of a customer could talk an agent into.
 */
const excluded_scope = "webhooks:manage"

/** Keywords of OpenAPI that JSON Schema does not have. A strict validator rejects them. */
const openapi_keywords = new Set(["discriminator", "x-extensible-enum"])

const ref_prefix = "#/components/schemas/"

/** Returns the name of a tool or an argument: `listContacts` becomes `list_contacts`, and `If-Match` becomes `if_match`. */
const nameOf = (name: string): string => name.replace(/(?<=[a-z])([A-Z])/g, "_$1").replaceAll("-", "_").toLowerCase()

/** Returns a schema whose references are to `$defs`, and the names of the schemas that it refers to. */
const withLocalReferences = (
  schema: JsonSchema
): { readonly schema: JsonSchema; readonly names: ReadonlyArray<string> } => {
  const text = JSON.stringify(schema, (key, value: unknown) => openapi_keywords.has(key) ? undefined : value)
  const names = Array.from(text.matchAll(/"#\/components\/schemas\/(\w+)"/g), ([, name = ""]) => name)
  return { schema: JSON.parse(text.replaceAll(ref_prefix, "#/$defs/")), names }
}

/** Returns the schemas that the named ones are or refer to. */
const definitionsOf = (
  names: ReadonlyArray<string>,
  { components }: Document
): Readonly<Record<string, JsonSchema>> => {
  const found = new Map<string, JsonSchema>()
  const left = [...names]
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (found.has(name)) continue
    const { names: more, schema } = withLocalReferences(components.schemas[name] ?? {})
    found.set(name, schema)
    left.push(...more)
  }
  return Object.fromEntries(found)
}

const argumentOf = (parameter: DocumentedParameter): Argument => ({
  name: nameOf(parameter.name),
  in: parameter.in,
  required: parameter.required,
  schema: {
    ...parameter.schema,
    ...(parameter.description === undefined ? {} : { description: parameter.description }),
    ...(parameter.name === "page_size" ? { default: page_size_default } : {})
  }
})

/** Returns the arguments of an operation, without its idempotency key, which each call makes. */
const argumentsOf = ({ parameters }: DocumentedOperation): ReadonlyArray<Argument> =>
  parameters.flatMap((parameter) =>
    "$ref" in parameter || parameter.name === "Idempotency-Key" ? [] : [argumentOf(parameter)]
  )

const bodyArgumentOf = ({ requestBody }: DocumentedOperation) => {
  if (requestBody === undefined) return null
  const { examples, schema } = requestBody.content["application/json"]
  const values = Object.values(examples).map(({ value }) => value)
  return {
    required: requestBody.required,
    schema: { ...schema, description: "The fields of the request.", examples: values }
  }
}

/** Returns the JSON Schema of a tool's input. */
const inputSchemaOf = (args: Tool["arguments"], body: Tool["body"], document: Document): Tool["input_schema"] => {
  const required = [
    ...args.filter((each) => each.required).map(({ name }) => name),
    ...(body?.required === true ? ["body"] : [])
  ]
  const properties = {
    ...Object.fromEntries(args.map(({ name, schema }) => [name, schema])),
    ...(body === null ? {} : { body: body.schema })
  }
  const { names, schema } = withLocalReferences(properties)
  const definitions = definitionsOf(names, document)
  return {
    type: "object",
    properties: schema,
    required,
    additionalProperties: false,
    ...(names.length === 0 ? {} : { $defs: definitions })
  }
}

const toolOf = (method: string, path: string, operation: DocumentedOperation, document: Document): Tool => {
  const args = argumentsOf(operation)
  const body = bodyArgumentOf(operation)
  const scope = operation["x-required-scope"]
  return {
    name: nameOf(operation.operationId),
    title: operation.summary,
    description: `${operation.description} The API key needs the scope ${scope}.`,
    // The client's routes are those of the document.
    route: `${method.toUpperCase()} ${path}` as Route,
    scope,
    is_write: method !== "get",
    arguments: args,
    body,
    input_schema: inputSchemaOf(args, body, document)
  }
}

/** Returns every tool, those that write included. */
export const makeTools = (): ReadonlyArray<Tool> => {
  const document: Document = JSON.parse(JSON.stringify(openApi()))
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, operation]) => operation["x-required-scope"] !== excluded_scope)
      .map(([method, operation]) => toolOf(method, path, operation, document))
  )
}
