/**
 * Derives a Bruno collection from the OpenAPI document: a request for each operation, in a folder for each tag.
 *
 * `npm run docs` writes it to `clients/bruno`. Bruno's own package for its file format writes and reads the files.
 */
import { createRequire } from "node:module"

interface Example {
  readonly value: unknown
}

interface Parameter {
  readonly name: string
  readonly in: "header" | "path" | "query"
  readonly required?: boolean
  readonly example?: unknown
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: ReadonlyArray<string>
  readonly parameters?: ReadonlyArray<Parameter | { readonly $ref: string }>
  readonly requestBody?: {
    readonly content: {
      readonly "application/json": { readonly examples: Readonly<Record<string, Example>> }
    }
  }
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Field {
  readonly name: string
  readonly value: string
  readonly enabled: boolean
  readonly type?: string
}

/** A request, as the package reads it from a file. */
export interface BrunoRequest {
  readonly meta: { readonly name: string; readonly type: string; readonly seq: number }
  readonly http: { readonly method: string; readonly url: string; readonly body?: string; readonly auth: string }
  readonly params?: ReadonlyArray<Field>
  readonly headers?: ReadonlyArray<Field>
  readonly body?: { readonly json: string }
  readonly vars?: { readonly res: ReadonlyArray<Field> }
  readonly docs?: string
}

interface Language {
  readonly bruToJsonV2: (text: string) => BrunoRequest
  readonly bruToEnvJsonV2: (text: string) => { readonly variables: ReadonlyArray<Field> }
  readonly collectionBruToJson: (text: string) => { readonly auth: unknown }
  readonly jsonToBruV2: (request: BrunoRequest) => string
  readonly envJsonToBruV2: (environment: { readonly variables: ReadonlyArray<Field> }) => string
  readonly jsonToCollectionBru: (collection: unknown) => string
}

/** The package has no types. */
export const language = createRequire(import.meta.url)("@usebruno/lang") as Language

const field = (name: string, value: string, enabled = true): Field => ({ name, value, enabled })

const example = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value ?? "")

/** Returns the variable for the ID of an item of a list: the parameter of the paths below it. */
const itemVariable = ({ paths }: Document, path: string): string | undefined =>
  Object.keys(paths).filter((other) => other.startsWith(path))
    .map((other) => /^\/\{(\w+)\}/.exec(other.slice(path.length))?.[1])
    .find((name) => name !== undefined)

/** Returns the variables that a response sets, for the requests about one item: the first listed one, or the created one. */
const variablesOf = (document: Document, path: string, method: string, { operationId }: Operation) => {
  const name = itemVariable(document, path)
  if (name === undefined) return {}
  if (method === "get") return { vars: { res: [field(name, "res.body.data?.[0]?.id")] } }
  return operationId.startsWith("create") ? { vars: { res: [field(name, "res.body.data?.id")] } } : {}
}

const requestOf = (
  document: Document,
  path: string,
  method: string,
  operation: Operation,
  seq: number
): BrunoRequest => {
  const parameters = (operation.parameters ?? []).filter((each) => "name" in each)
  const of = (place: Parameter["in"]) => parameters.filter((each) => each.in === place)
  const query = of("query").map(({ example: value, name }) => ({
    ...field(name, example(value), false),
    type: "query"
  }))
  const ids = of("path").map(({ name }) => ({ ...field(name, `{{${name}}}`), type: "path" }))
  const headers = of("header").map(({ name, example: value }) =>
    // A new key for each time that a person sends the request.
    name === "Idempotency-Key" ? field(name, "{{$guid}}") : field(name, example(value), false)
  )
  const [body] = Object.values(operation.requestBody?.content["application/json"].examples ?? {})
  return {
    meta: { name: operation.summary, type: "http", seq },
    http: {
      method,
      url: `{{base_url}}${path.replaceAll(/\{(\w+)\}/g, ":$1")}`,
      body: body === undefined ? "none" : "json",
      auth: "inherit"
    },
    ...(query.length + ids.length === 0 ? {} : { params: [...query, ...ids] }),
    ...(headers.length === 0 ? {} : { headers }),
    ...(body === undefined ? {} : { body: { json: JSON.stringify(body.value, null, 2) } }),
    ...variablesOf(document, path, method, operation),
    docs: operation.description ?? operation.summary
  }
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** The files of the collection, by their path below its folder. */
export const collectionOf = (document: Document): ReadonlyMap<string, string> => {
  const files = new Map([
    ["bruno.json", json({ version: "1", name: "Messaging CRM", type: "collection", ignore: ["node_modules", ".git"] })],
    ["collection.bru", language.jsonToCollectionBru({ auth: { mode: "bearer", bearer: { token: "{{api_key}}" } } })],
    [
      "environments/Service.bru",
      language.envJsonToBruV2({
        variables: [
          field("base_url", "{{process.env.BASE_URL}}"),
          field("api_key", "{{process.env.API_KEY}}")
        ]
      })
    ]
  ])
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, operation, path }))
  )
  operations.forEach(({ method, operation, path }, index) => {
    const request = requestOf(document, path, method, operation, index + 1)
    files.set(`${operation.tags[0]}/${operation.summary}.bru`, language.jsonToBruV2(request))
  })
  return files
}
