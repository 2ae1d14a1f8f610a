/**
 * Generates `src/Contract.ts` from the OpenAPI document: a type for each schema,
 * and the input and response of each operation. It fails on an unsupported construct
 * of JSON Schema, so that no type silently becomes `unknown`.
 */
import { readFileSync, writeFileSync } from "node:fs"

interface Schema {
  readonly $ref?: string
  readonly additionalProperties?: boolean | Schema
  readonly allOf?: ReadonlyArray<Schema>
  readonly anyOf?: ReadonlyArray<Schema>
  readonly const?: unknown
  readonly description?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly items?: Schema
  readonly oneOf?: ReadonlyArray<Schema>
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: ReadonlyArray<string>
  readonly type?: string | ReadonlyArray<string>
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
}

interface Operation {
  readonly parameters?: ReadonlyArray<{
    readonly description?: string
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema: Schema
  }>
  readonly requestBody?: Content & { readonly required?: boolean }
  readonly responses: Readonly<Record<string, Content>>
  readonly summary?: string
  readonly "x-required-scope"?: string
}

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const scalars: Readonly<Record<string, string>> = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
  null: "null"
}

const doc = (text: string | undefined, indent: string): string =>
  text === undefined ? "" : `${indent}/** ${text.replaceAll("*/", "* /").replace(/\s+/g, " ").trim()} */\n`

const nameOf = (property: string): string => /^\w+$/.test(property) ? property : JSON.stringify(property)

const union = (members: ReadonlyArray<string>, indent: string): string => {
  const distinct = Array.from(new Set(members))
  const line = distinct.join(" | ")
  return line.length <= 80 || line.includes("\n") ? line : distinct.map((each) => `\n${indent}  | ${each}`).join("")
}

const objectOf = (schema: Schema, indent: string): string => {
  const { additionalProperties, properties = {}, required = [] } = schema
  if (typeof additionalProperties === "object" && Object.keys(properties).length === 0) {
    return `Readonly<Record<string, ${typeOf(additionalProperties, indent)}>>`
  }
  // Any JSON object, such as the response of a form.
  if (Object.keys(properties).length === 0 && additionalProperties !== false) return "Readonly<Record<string, unknown>>"
  const inner = `${indent}  `
  const fields = Object.entries(properties).map(([name, field]) => {
    const mark = required.includes(name) ? "" : "?"
    return `${doc(field.description, inner)}${inner}readonly ${nameOf(name)}${mark}: ${typeOf(field, inner)}\n`
  })
  return `{\n${fields.join("")}${indent}}`
}

const choicesOf = (schema: Schema, indent: string): ReadonlyArray<string> =>
  schema.enum?.map((literal) => JSON.stringify(literal)) ?? [typeOf(schema, indent)]

const typeOf = (schema: Schema, indent: string): string => {
  const { $ref, allOf, anyOf, const: constant, enum: literals, items, oneOf, type } = schema
  if ($ref !== undefined) return $ref.replace("#/components/schemas/", "")
  if (constant !== undefined) return JSON.stringify(constant)
  if (literals !== undefined) return union(literals.map((literal) => JSON.stringify(literal)), indent)
  const members = anyOf ?? oneOf
  if (members !== undefined) return union(members.flatMap((member) => choicesOf(member, indent)), indent)
  if (type === "object") return objectOf(schema, indent)
  if (type === "array" && items !== undefined) return `ReadonlyArray<${typeOf(items, indent)}>`
  if (typeof type === "string" && type in scalars) return scalars[type] ?? ""
  if (Array.isArray(type)) return union(type.map((each: string) => typeOf({ ...schema, type: each }, indent)), indent)
  if (allOf !== undefined) return allOf.map((each) => typeOf(each, indent)).join(" & ")
  throw new Error(`No type is known for ${JSON.stringify(schema)}`)
}

const declarationOf = ([name, schema]: readonly [string, Schema]): string => {
  const type = typeOf(schema, "")
  const declaration = type.startsWith("{") && !type.includes("\n} |")
    ? `export interface ${name} ${type}`
    : `export type ${name} = ${type}`
  return `${doc(schema.description, "")}${declaration}\n`
}

const json = ({ content = {} }: Content): Schema | undefined => content["application/json"]?.schema

const parametersOf = (operation: Operation, place: string): string => {
  const found = (operation.parameters ?? []).filter((parameter) => parameter.in === place)
  if (found.length === 0) return ""
  const required = found.filter((parameter) => parameter.required === true).map(({ name }) => name)
  const properties = Object.fromEntries(
    found.map((
      { description, name, schema }
    ) => [name, description === undefined ? schema : { ...schema, description }])
  )
  const type = objectOf({ properties, required }, "    ")
  return `    readonly ${place}${required.length === 0 ? "?" : ""}: ${type}\n`
}

const operationOf = (method: string, path: string, operation: Operation): string => {
  const [, response] = Object.entries(operation.responses).find(([status]) => status.startsWith("2")) ?? []
  const schema = response === undefined ? undefined : json(response)
  if (schema === undefined) throw new Error(`${method} ${path} has no response`)
  const body = operation.requestBody === undefined ? undefined : json(operation.requestBody)
  const mark = operation.requestBody?.required === true ? "" : "?"
  const scope = operation["x-required-scope"]
  return [
    doc(`${operation.summary ?? ""}.${scope === undefined ? "" : ` The key needs the scope \`${scope}\`.`}`, "  "),
    `  readonly "${method.toUpperCase()} ${path.replace(/^\/v1(?=\/)/, "")}": {\n`,
    parametersOf(operation, "path"),
    parametersOf(operation, "query"),
    body === undefined ? "" : `    readonly body${mark}: ${typeOf(body, "    ")}\n`,
    `    readonly response: ${typeOf(schema, "    ")}\n  }\n`
  ].join("")
}

const errorCodesOf = ({ components }: Document): string => {
  const codes = Object.values(components.schemas).flatMap(({ properties }) => properties?.error?.properties?.code ?? [])
  return `/** Why a request was rejected. */\nexport type ErrorCode = ${typeOf({ anyOf: codes }, "")}\n`
}

const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"))

/** Returns the text of `src/Contract.ts`. */
export const contract = (): string => {
  const document: Document = read("../../adapter-http/openapi.json")
  const { version }: { readonly version: string } = read("../package.json")
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationOf(method, path, operation))
  )
  return [
    "// Generated from the service's OpenAPI document by `npm run docs`. Not to be edited.\n",
    `/** Version of this package. */\nexport const version = "${version}"\n`,
    ...Object.entries(document.components.schemas).toSorted(([a], [b]) => a < b ? -1 : 1).map(declarationOf),
    errorCodesOf(document),
    `/** The input and the response of each operation, by its method and path. */\nexport interface Operations {\n${
      operations.join("")
    }}\n`
  ].join("\n").replace(/ +$/gm, "")
}

if (import.meta.main) writeFileSync(new URL("../src/Contract.ts", import.meta.url), contract())
