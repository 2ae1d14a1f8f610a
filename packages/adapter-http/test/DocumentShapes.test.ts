/** The shapes of the schemas in the OpenAPI document: only those that generators of clients can read. */
import { assert, describe, it } from "@effect/vitest"
import { document, documented, flawOf, type Media, resolve, type Response } from "../testing/Document.ts"

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

const listOf = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []

/** The keywords that generators read, by the type that they require; null for every type. */
const keywords: Readonly<Record<string, string | null>> = {
  type: null,
  description: null,
  default: null,
  enum: "string",
  format: "string",
  minLength: "string",
  maxLength: "string",
  pattern: "string",
  "x-extensible-enum": "string",
  minimum: "integer",
  maximum: "integer",
  items: "array",
  minItems: "array",
  maxItems: "array",
  uniqueItems: "array",
  properties: "object",
  required: "object",
  additionalProperties: "object"
}

const types = new Set(["array", "boolean", "integer", "null", "number", "object", "string"])
const scalars = new Set(["boolean", "integer", "number", "string"])

/** Returns what regular expressions of other languages, or without JavaScript's `u`, read in another way. */
const patternFlaws = (pattern: string): ReadonlyArray<string> => {
  const escapes = Array.from(pattern.matchAll(/\\([\s\S])/g), ([, character = ""]) => character)
  const odd = escapes.filter((character) => !/[sSdDwW^$\\.*+?()[\]{}|]/.test(character))
  const isRead = ["", "u"].every((flags) => {
    try {
      return new RegExp(pattern, flags).source !== ""
    } catch {
      return false
    }
  })
  return [
    ...odd.map((character) => `needless or unportable escape \\${character}`),
    ...(/\(\?(?!:)/.test(pattern) ? ["a look-around, or a named group"] : []),
    ...(isRead ? [] : ["not a regular expression"])
  ]
}

/** Returns the value of a `type` that an object must have, if there is only one. */
const tagOf = (schema: unknown): unknown => {
  const { properties, required } = resolve<Json>(schema)
  const { enum: tags } = (isObject(properties) && isObject(properties["type"]) ? properties["type"] : {}) as Json
  return listOf(required).includes("type") && listOf(tags).length === 1 ? listOf(tags)[0] : undefined
}

const isReference = (schema: unknown): boolean => isObject(schema) && typeof schema["$ref"] === "string"

const unionFlaws = ({ discriminator, ...schema }: Json): ReadonlyArray<string> => {
  const members = listOf(schema["anyOf"] ?? schema["oneOf"])
  const others = Object.keys(schema).filter((key) => !["anyOf", "oneOf", "description", "default"].includes(key))
  const tags = members.map(tagOf)
  const plain = members.map((member) => isObject(member) ? member["type"] : undefined)
  const isScalar = plain.every((type) => typeof type === "string") && new Set(plain).size === plain.length
  const isNullable = members.length === 2 && plain[1] === "null" &&
    (isReference(members[0]) ||
      plain[0] !== "null" && !(scalars.has(String(plain[0])) && !("enum" in Object(members[0]))))
  const mapping = Object.fromEntries(members.map((member, index) => [tags[index], Object(member)["$ref"]]))
  const isTagged = "oneOf" in schema && members.every(isReference) && tags.every((tag) => tag !== undefined) &&
    JSON.stringify(discriminator) === JSON.stringify({ propertyName: "type", mapping })
  return [
    ...others.map((key) => `${key} on a schema with a union`),
    ...("anyOf" in schema && "oneOf" in schema ? ["two unions"] : []),
    ...(members.length < 2 ? ["a union of fewer than two members"] : []),
    ...(isTagged || discriminator === undefined && (isNullable || isScalar && !plain.includes("null"))
      ? []
      : ["a union that neither has a discriminator, nor consists of scalars, nor is one with null"])
  ]
}

const typeFlaws = (schema: Json): ReadonlyArray<string> => {
  const { additionalProperties, default: preset, enum: texts, items, pattern, properties = {}, required, type } = schema
  const [plain, absent, ...others] = Array.isArray(type) ? type : [type, "null"]
  const isNullable = Array.isArray(type)
  return [
    ...(types.has(String(plain)) && absent === "null" && others.length === 0 ? [] : ["an unknown type"]),
    ...(isNullable && (!scalars.has(String(plain)) || texts !== undefined) ? ["a nullable type with members"] : []),
    ...Object.keys(schema).flatMap((key) => {
      if (!(key in keywords)) return [`the keyword ${key}`]
      const needed = keywords[key]
      const isFit = needed === null || needed === plain || needed === "integer" && plain === "number"
      return isFit ? [] : [`${key} of type ${plain}`]
    }),
    ...(plain === "array" && !isObject(items) ? ["an array of unknown items"] : []),
    ...listOf(required).filter((name) => !(String(name) in Object(properties))).map((name) => `no property ${name}`),
    ...(typeof additionalProperties === "object" && Object.keys(Object(properties)).length > 0
      ? ["other properties in addition to named ones"]
      : []),
    ...listOf(texts).filter((text) => typeof text !== "string" || /^-?[\d.]+$/.test(text)).map(() =>
      "a number in an enum"
    ),
    ...(new Set(listOf(texts)).size === listOf(texts).length ? [] : ["a repeated enum"]),
    ...(typeof pattern === "string" ? patternFlaws(pattern) : []),
    ...(preset === undefined || flawOf(schema, preset) === null ? [] : ["an invalid default"])
  ]
}

/** Returns what generators cannot read in a schema, apart from the schemas in it. */
const ownFlaws = (schema: unknown): ReadonlyArray<string> => {
  if (!isObject(schema)) return ["not a schema"]
  const only = (...allowed: ReadonlyArray<string>) =>
    Object.keys(schema).filter((key) => !allowed.includes(key)).map((key) => `${key} on a schema with a reference`)
  if ("$ref" in schema) return only("$ref")
  if ("allOf" in schema) {
    const members = listOf(schema["allOf"])
    return [
      ...only("allOf", "description"),
      ...(members.length === 1 && members.every(isReference) ? [] : ["an allOf"])
    ]
  }
  if ("anyOf" in schema || "oneOf" in schema) return unionFlaws(schema)
  return "type" in schema ? typeFlaws(schema) : ["no type"]
}

/** Returns the schemas directly in a schema, by their path in it. */
const partsOf = (schema: Json): ReadonlyArray<readonly [path: string, schema: unknown]> => [
  ...["anyOf", "oneOf", "allOf"].flatMap((key) =>
    listOf(schema[key]).map((each, index) => [`${key}/${index}`, each] as const)
  ),
  ...Object.entries(Object(schema["properties"])),
  ...("items" in schema ? [["items", schema["items"]] as const] : []),
  ...(isObject(schema["additionalProperties"])
    ? [["additionalProperties", schema["additionalProperties"]] as const]
    : [])
]

/** Returns every flaw in a schema, with its path. */
const flawsIn = (schema: unknown, path: string): ReadonlyArray<string> => [
  ...ownFlaws(schema).map((flaw) => `${path}: ${flaw}`),
  ...(isObject(schema) ? partsOf(schema) : []).flatMap(([name, part]) => flawsIn(part, `${path}/${name}`))
]

/** Returns every schema of the document that is no component's part, by its place. */
const schemasOf = (): ReadonlyArray<readonly [place: string, schema: unknown]> => {
  const contents = (place: string, content: Readonly<Record<string, Media>> = {}) =>
    Object.entries(content).map(([type, { schema }]) => [`${place} ${type}`, schema] as const)
  const { components, webhooks } = document
  const values = (kind: string) =>
    Object.entries(components[kind] ?? {}).map(([name, value]) => [name, resolve<Json>(value)["schema"]] as const)
  return [
    ...Object.entries(components["schemas"] ?? {}),
    ...values("parameters"),
    ...values("headers"),
    ...Object.entries(components["responses"] ?? {}).flatMap(([name, response]) =>
      contents(name, resolve<Response>(response).content)
    ),
    ...Object.entries(webhooks).flatMap(([name, { post }]) => contents(name, post.requestBody.content)),
    ...documented.flatMap(({ operation }) => [
      ...operation.parameters.map((each) =>
        [`${operation.operationId} ${each.name}`, resolve<Json>(each)["schema"]] as const
      ),
      ...contents(`${operation.operationId} request`, operation.requestBody?.content),
      ...Object.entries(operation.responses).flatMap(([status, response]) =>
        contents(`${operation.operationId} ${status}`, resolve<Response>(response).content)
      )
    ])
  ]
}

describe("every schema of the document", () => {
  it("has a shape that generators can read", () => {
    const found = schemasOf()
    assert.isAbove(found.length, 400)
    assert.deepStrictEqual(found.flatMap(([place, schema]) => flawsIn(schema, place)), [])
  })

  it("that is a component has a name that is a type's name in every language", () => {
    for (const name of Object.keys(document.components["schemas"] ?? {})) assert.match(name, /^[A-Z][A-Za-z]+$/)
  })

  it("states a pattern once, without an allOf and without escaped slashes", () => {
    const schemas = document.components["schemas"]
    assert.deepNestedInclude(schemas, {
      "CurrencyParameter.properties.currency.properties.code": {
        type: "string",
        pattern: "^[A-Z]{3}$",
        description: "An ISO 4217 code."
      }
    })
    for (const [parameter, name] of [["Image", "image"], ["Video", "video"], ["Document", "document"]]) {
      assert.deepNestedInclude(schemas, {
        [`${parameter}Parameter.properties.${name}.properties.link`]: {
          type: "string",
          minLength: 1,
          maxLength: 2048,
          pattern: "^https://[^\\s/\\\\?#]+(?:[/?#][^\\s\\\\]*)?$",
          description: "An https link from which the network loads the file."
        }
      })
    }
  })
})

describe("the check", () => {
  const text = { type: "string" }
  const unreadable: Readonly<Record<string, unknown>> = {
    "a string with an allOf": { type: "string", pattern: "^[A-Z]{3}$", allOf: [{ pattern: "^[A-Z]{3}$" }] },
    "a schema without a type": { description: "Anything." },
    "a boolean schema": true,
    "an escaped slash": { type: "string", pattern: "^https:\\/\\/" },
    "an escaped hyphen": { type: "string", pattern: "[a\\-z]" },
    "a look-behind": { type: "string", pattern: "(?<=a)b" },
    "a look-ahead": { type: "string", pattern: "(?!a)b" },
    "a named group": { type: "string", pattern: "(?<name>a)" },
    "a flag in the pattern": { type: "string", pattern: "(?i)a" },
    "a property of Unicode": { type: "string", pattern: "\\p{L}" },
    "a code point": { type: "string", pattern: "\\u{1F600}" },
    "a backreference": { type: "string", pattern: "(a)\\1" },
    "a pattern that is none": { type: "string", pattern: "[" },
    "a const": { const: "a" },
    "an OpenAPI 3.0 nullable": { type: "string", nullable: true },
    "a nullable enumeration with a type array": { type: ["string", "null"], enum: ["a", null] },
    "a nullable array with a type array": { type: ["array", "null"], items: text },
    "a nullable object with a type array": { type: ["object", "null"], properties: { a: text } },
    "a type array of two types": { type: ["string", "integer"] },
    "a null first": { type: ["null", "string"] },
    "a nullable scalar with anyOf": { anyOf: [text, { type: "null" }] },
    "an enumeration of numbers": { type: "string", enum: ["1", "2"] },
    "an enumeration without a type": { enum: ["a"] },
    "a repeated enumeration": { type: "string", enum: ["a", "a"] },
    "an array without items": { type: "array" },
    "items that are a list": { type: "array", items: [text] },
    "a missing property": { type: "object", properties: {}, required: ["a"] },
    "a keyword of another type": { type: "object", maxLength: 3 },
    "an unread keyword": { type: "object", properties: { a: text }, not: { type: "string" } },
    "named and other properties": { type: "object", properties: { a: text }, additionalProperties: text },
    "properties on a schema with a union": {
      type: "object",
      properties: { a: text },
      anyOf: [text, { type: "integer" }]
    },
    "a union of one": { anyOf: [{ type: "integer" }] },
    "a union of unnamed objects": { oneOf: [{ type: "object" }, { type: "object" }] },
    "a union of components without a discriminator": {
      anyOf: [{ $ref: "#/components/schemas/SendText" }, { $ref: "#/components/schemas/SendTemplate" }]
    },
    "a discriminator without its mapping": {
      oneOf: [{ $ref: "#/components/schemas/SendText" }, { $ref: "#/components/schemas/SendTemplate" }],
      discriminator: { propertyName: "type" }
    },
    "a description on a schema with a reference": { $ref: "#/components/schemas/SendText", description: "A text." },
    "an allOf of two": { allOf: [{ $ref: "#/components/schemas/Tag" }, { $ref: "#/components/schemas/Contact" }] },
    "an invalid default": { type: "integer", default: "one" }
  }
  for (const [name, schema] of Object.entries(unreadable)) {
    it(`finds ${name}, at any depth`, () => {
      assert.isAbove(flawsIn(schema, "here").length, 0)
      const inside = { type: "object", properties: { a: { type: "array", items: schema } } }
      assert.isAbove(flawsIn(inside, "here").length, 0)
    })
  }
})
