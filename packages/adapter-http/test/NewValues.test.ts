/** A client made of the contract accepts what a later service of `v1` can add to a response (contract §1.4, §1.6). */
import { assert, describe, it } from "@effect/vitest"
import { Api } from "@messaging-crm/adapter-http/api/Api"
import { Schema } from "effect"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { document, documented, flawOf, resolve, type Response } from "../testing/Document.ts"

/** The open enumerations of contract §1.4, by the component that has them. */
const open_values: Readonly<Record<string, ReadonlyArray<string>>> = {
  Message: ["type"],
  EventMessage: ["type"],
  Template: ["category", "parameter_format", "status"],
  TemplateComponent: ["format", "type"]
}

interface Described {
  readonly $ref?: string
  readonly anyOf?: ReadonlyArray<Described>
  readonly oneOf?: ReadonlyArray<Described>
  readonly description?: string
  readonly items?: Described
  readonly properties?: Readonly<Record<string, Described>>
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Replaces the properties of every described object in a value. */
const grown = (
  schema: Described,
  value: unknown,
  grow: (component: string, object: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
): unknown => {
  const { anyOf, items, oneOf, properties } = resolve<Described>(schema)
  if (Array.isArray(value) && items !== undefined) return value.map((each) => grown(items, each, grow))
  if (!isObject(value)) return value
  const branch = (anyOf ?? oneOf)?.find((each) => flawOf(each, value) === null)
  if (branch !== undefined) return grown(branch, value, grow)
  if (properties === undefined) return value
  const inside = Object.entries(value).map(([name, each]) => [name, grown(properties[name] ?? {}, each, grow)])
  return grow(schema.$ref?.split("/").at(-1) ?? "", Object.fromEntries(inside))
}

const withNewValues = (component: string, object: Readonly<Record<string, unknown>>) => ({
  ...object,
  ...Object.fromEntries((open_values[component] ?? []).map((name) => [name, "not_yet_known"]))
})

const withNewField = (_: string, object: Readonly<Record<string, unknown>>) => ({ ...object, not_yet_known: 1 })

const endpoints = new Map<string, HttpApiEndpoint.Top>()
HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) =>
    void endpoints.set(`${endpoint.method} ${endpoint.path.replace(/:(\w+)/g, "{$1}")}`, endpoint)
})

/** Every example of a successful response, with its schema in the document and those of the client. */
const examples = documented.flatMap(({ method, operation, path }) => {
  const status = Object.keys(operation.responses).find((each) => each.startsWith("2")) ?? ""
  const media = resolve<Response>(operation.responses[status]).content["application/json"]
  const { success = new Set<Schema.Top>() } = endpoints.get(`${method} /v1${path}`) ?? {}
  return Object.values(media?.examples ?? {}).map((example) => ({
    operation: `${method} ${path}`,
    described: media?.schema as Described,
    schemas: Array.from(success),
    value: resolve<{ readonly value: unknown }>(example).value
  }))
})

/** The components in whose examples a value was replaced. */
const flawsOf = (schemas: ReadonlyArray<Schema.Top>, value: unknown) =>
  schemas.flatMap((schema) => {
    // None of the contract's schemas needs a service.
    const exit = Schema.decodeUnknownExit(schema as Schema.Codec<unknown>)(value)
    return exit._tag === "Success" ? [] : [String(exit.cause)]
  })

describe("the client accepts, in the response of every operation,", () => {
  it("unknown values of the open enumerations, as the document does", () => {
    const replaced = new Set<string>()
    for (const { described, operation, schemas, value } of examples) {
      const later = grown(described, value, (component, object) => {
        if (component in open_values) replaced.add(component)
        return withNewValues(component, object)
      })
      assert.isNotEmpty(schemas, operation)
      assert.deepStrictEqual(flawsOf(schemas, later), [], operation)
      assert.isNull(flawOf(described, later), operation)
    }
    assert.includeMembers(Array.from(replaced), ["Message", "Template", "TemplateComponent"])
  })

  it("new fields", () => {
    for (const { described, operation, schemas, value } of examples) {
      assert.deepStrictEqual(flawsOf(schemas, grown(described, value, withNewField)), [], operation)
    }
  })
})

it("says in the document which values are open", () => {
  const said = Object.entries(document.components.schemas ?? {}).flatMap(([component, schema]) => {
    const open = Object.entries((schema as Described).properties ?? {}).filter(([, { description }]) =>
      description?.includes("New values can appear") === true
    )
    return open.length === 0 ? [] : [[component, open.map(([name]) => name).toSorted()]]
  })
  assert.deepStrictEqual(Object.fromEntries(said), open_values)
})
