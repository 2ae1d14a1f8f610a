/**
 * Derives the operations of the n8n node from the OpenAPI document: its parameters, and the request of each operation.
 *
 * `npm run docs` writes them to `clients/n8n/nodes/MessagingCrm/operations.json`.
 */

interface Schema {
  readonly $ref?: string
  readonly type?: string | ReadonlyArray<string>
  readonly description?: string
  readonly enum?: ReadonlyArray<string>
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: ReadonlyArray<string>
}

interface Parameter {
  readonly name: string
  readonly in: "header" | "path" | "query"
  readonly description?: string
  readonly required: boolean
  readonly schema: Schema
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: ReadonlyArray<string>
  readonly parameters: ReadonlyArray<Parameter | { readonly $ref: string }>
  readonly requestBody?: {
    readonly content: {
      readonly "application/json": {
        readonly schema: Schema
        readonly examples: Readonly<Record<string, { readonly value: unknown }>>
      }
    }
  }
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** A parameter of a node, as n8n describes it. */
interface Property {
  readonly displayName: string
  readonly name: string
  readonly type: string
  readonly default: unknown
  readonly [field: string]: unknown
}

const small_words = new Set(["a", "an", "and", "for", "of", "the", "to"])

const upper_words = new Set(["id", "url", "json"])

/** Returns a text in title case, as n8n writes names. */
const title = (text: string): string =>
  text.split(/[ _]/).map((word, index) => {
    if (upper_words.has(word)) return word.toUpperCase()
    return index > 0 && small_words.has(word) ? word : word.charAt(0).toUpperCase() + word.slice(1)
  }).join(" ")

/** Returns the first sentence of a description, without Markdown. */
const sentence = (text = ""): string => (/^.*?(?=\.(?:\s|$)|$)/s.exec(text)?.[0] ?? "").replaceAll("`", "")

const byName = (one: { readonly name: string }, other: { readonly name: string }) => one.name < other.name ? -1 : 1

const option = (value: string) => ({ name: title(value.replaceAll(".", " ")), value })

/** Returns the type of a schema, without null. */
const typeOf = ({ type }: Schema): string => (Array.isArray(type) ? type.find((each) => each !== "null") : type) ?? ""

/** Returns the parameter for a value. A value of another type than a text, a number, or a boolean is JSON. */
const propertyOf = (name: string, schema: Schema, description = schema.description): Property => {
  const base = {
    displayName: title(name),
    name,
    ...(description === undefined ? {} : { description: sentence(description) })
  }
  if (schema.enum !== undefined) {
    return { ...base, type: "options", options: schema.enum.map(option).toSorted(byName), default: schema.enum[0] }
  }
  switch (typeOf(schema)) {
    case "string":
      return { ...base, type: "string", default: "" }
    case "integer":
    case "number":
      return { ...base, type: "number", default: 0 }
    case "boolean":
      return { ...base, type: "boolean", default: false }
    default:
      return { ...base, type: "json", default: typeOf(schema) === "array" ? "[]" : "{}" }
  }
}

const fieldOf = ({ name, type }: Property, optional: boolean) => ({
  name,
  ...(type === "json" ? { json: true } : {}),
  ...(optional ? { optional } : {})
})

/** Returns the parameters of a body with their fields; one for the whole body if it is one of several shapes. */
const bodyOf = ({ requestBody }: Operation, { components }: Document) => {
  if (requestBody === undefined) return { required: [], optional: [], whole: [] }
  const { examples, schema } = requestBody.content["application/json"]
  const { properties, required = [] } = components.schemas[schema.$ref?.split("/").at(-1) ?? ""] ?? schema
  if (properties === undefined) {
    const example = JSON.stringify(Object.values(examples)[0]?.value, null, 2)
    return { required: [], optional: [], whole: [{ ...propertyOf("body", {}), default: example }] }
  }
  const all = Object.entries(properties).map(([name, each]) => propertyOf(name, each))
  return {
    required: all.filter(({ name }) => required.includes(name)),
    optional: all.filter(({ name }) => !required.includes(name)),
    whole: []
  }
}

const idempotencyKey: Property = {
  displayName: "Idempotency Key",
  name: "idempotency_key",
  type: "string",
  default: "",
  description: "Requests with the same key have one effect. By default, each item of an execution has a key of its own."
}

const returnAll: Property = {
  displayName: "Return All",
  name: "return_all",
  type: "boolean",
  default: false,
  description: "Whether to return the items of all pages instead of one page"
}

const operationOf = (document: Document, path: string, method: string, operation: Operation) => {
  const parameters = operation.parameters.flatMap((each) => "$ref" in each ? [] : [each])
  const inPlace = (place: Parameter["in"]) =>
    parameters.filter((each) => each.in === place).map(({ description, name, schema }) =>
      propertyOf(name, schema, description)
    )
  const [path_fields, query] = [inPlace("path"), inPlace("query")]
  const body = bodyOf(operation, document)
  const isPaged = query.some(({ name }) => name === "cursor")
  const options = [
    ...query,
    ...body.optional,
    ...(isPaged ? [returnAll] : []),
    ...(method === "get" ? [] : [idempotencyKey])
  ].toSorted((one, other) => one.displayName < other.displayName ? -1 : 1)
  const displayOptions = { show: { operation: [operation.operationId] } }
  const collection = {
    displayName: "Options",
    name: "options",
    type: "collection",
    placeholder: "Add option",
    default: {},
    displayOptions,
    options
  }
  const required = [...path_fields, ...body.required, ...body.whole].map((each) => ({
    ...each,
    required: true,
    displayOptions
  }))
  return {
    properties: options.length === 0 ? required : [...required, collection],
    request: {
      method: method.toUpperCase(),
      path,
      path_fields: path_fields.map((each) => fieldOf(each, false)),
      query: query.map((each) => fieldOf(each, true)),
      body: body.whole.length > 0
        ? null
        : [...body.required.map((each) => fieldOf(each, false)), ...body.optional.map((each) => fieldOf(each, true))]
    }
  }
}

const resourceOf = ({ tags }: Operation): string => (tags[0] ?? "").toLowerCase().replaceAll(" ", "_")

/** Returns the parameter that selects an operation of a resource. */
const operationChoice = (resource: string, operations: ReadonlyArray<Operation>): Property => {
  const options = operations.map(({ description, operationId, summary }) => ({
    name: title(summary),
    value: operationId,
    action: summary,
    description: sentence(description)
  })).toSorted(byName)
  return {
    displayName: "Operation",
    name: "operation",
    type: "options",
    noDataExpression: true,
    displayOptions: { show: { resource: [resource] } },
    options,
    default: options[0]?.value
  }
}

/** Returns the parameters of the trigger: those of a webhook without its URL. */
const triggerPropertiesOf = ({ components }: Document): ReadonlyArray<Property> => {
  const { event_types, include_resource } = components.schemas["CreateWebhook"]?.properties ?? {}
  const types = event_types?.items?.enum ?? []
  return [
    {
      displayName: "Event Types",
      name: "event_types",
      type: "multiOptions",
      required: true,
      options: types.map(option).toSorted(byName),
      default: [types[0]],
      description: "The types of the events that start the workflow, at most five"
    },
    propertyOf("include_resource", include_resource ?? {})
  ]
}

/** Returns the content of the generated file. */
export const operationsOf = (document: Document) => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      operation,
      ...operationOf(document, path, method, operation)
    }))
  )
  const resources = Map.groupBy(operations, ({ operation }) => resourceOf(operation))
  const resource = {
    displayName: "Resource",
    name: "resource",
    type: "options",
    noDataExpression: true,
    options: Array.from(resources.keys(), option).toSorted(byName),
    default: operations[0] === undefined ? "" : resourceOf(operations[0].operation)
  }
  return {
    properties: [
      resource,
      ...Array.from(resources, ([name, of]) => operationChoice(name, of.map(({ operation }) => operation))),
      ...operations.flatMap(({ properties }) => properties)
    ],
    requests: Object.fromEntries(operations.map(({ operation, request }) => [operation.operationId, request])),
    triggerProperties: triggerPropertiesOf(document)
  }
}
