/**
 * Derives functions from the AST of a schema that apply its transformations without its checks.
 *
 * Written from the sources of Effect 4.1. A schema that uses an unsupported part, or one that a later version of Effect
 * adds, has no derived codec.
 */
import { Effect, Option, SchemaAST, type SchemaGetter, type SchemaIssue } from "effect"
import { isNormalizing } from "../Normalizing.ts"
import { composed, type Converter, identity } from "./Converter.ts"
import { type Field, objectConverter } from "./GeneratedObjects.ts"
import { type Member, taggedUnionConverter } from "./TaggedUnions.ts"

/** Returns the converter of a getter, or none if the getter depends on whether the value is present. */
const getterConverter = (getter: SchemaGetter.Getter<unknown, unknown, unknown>): Option.Option<Converter> => {
  if (isNormalizing(getter)) return Option.some(identity)
  switch (getter._tag) {
    case "Passthrough":
      return Option.some(identity)
    case "Transform":
      return Option.some((value) => getter.transform(value))
    case "TransformEffect":
      // The type permits services and asynchronous effects, but no schema of this service uses them.
      return Option.some((value) =>
        Effect.runSync(getter.transform(value, {}) as Effect.Effect<unknown, SchemaIssue.Issue>)
      )
    default:
      return Option.none()
  }
}

const linkConverter = ({ to, transformation }: SchemaAST.Link): Option.Option<Converter> =>
  transformation._tag === "Middleware"
    ? Option.none()
    : Option.map(Option.all([converterOf(to), getterConverter(transformation.decode)]), composed)

const fieldOf = ({ name, type }: SchemaAST.PropertySignature): Option.Option<Field> =>
  typeof name !== "string" || name === "__proto__"
    ? Option.none()
    : Option.map(converterOf(type), (convert) => ({ name, isOptional: type.context?.isOptional === true, convert }))

const fieldsOf = ({ propertySignatures }: SchemaAST.Objects): Option.Option<ReadonlyArray<Field>> =>
  Option.all(propertySignatures.map(fieldOf))

const recordConverter = ({ indexSignatures }: SchemaAST.Objects): Option.Option<Converter> => {
  const [only, ...others] = indexSignatures
  if (only === undefined || others.length > 0 || only.parameter !== SchemaAST.string) return Option.none()
  return Option.map(
    converterOf(only.type),
    (convert) =>
      convert === identity ?
        identity :
        (given) => Object.fromEntries(Object.entries(Object(given)).map(([key, value]) => [key, convert(value)]))
  )
}

const arrayConverter = ({ elements, rest }: SchemaAST.Arrays): Option.Option<Converter> => {
  const [only, ...others] = rest
  if (only === undefined || others.length > 0 || elements.length > 0) return Option.none()
  return Option.map(
    converterOf(only),
    (convert) =>
      convert === identity ?
        identity :
        // The value is trusted to match the schema, so it is an array.
        (given) => (given as ReadonlyArray<unknown>).map((value) => convert(value))
  )
}

const memberOf = (type: SchemaAST.AST): Option.Option<Member> =>
  Option.map(converterOf(type), (convert) => ({ type, convert }))

const isAbsent = ({ type }: Member): boolean => type._tag === "Null" || type._tag === "Undefined"

/** Supports a union whose members are all unchanged, and one converted member or objects with a tag, with null or undefined. */
const unionConverter = ({ types }: SchemaAST.Union): Option.Option<Converter> =>
  Option.flatMap(Option.all(types.map(memberOf)), (members) => {
    if (members.every(({ convert }) => convert === identity)) return Option.some(identity)
    const [only, ...others] = members.filter((member) => !isAbsent(member))
    if (only === undefined) return Option.none()
    return Option.map(
      others.length === 0 ? Option.some(only.convert) : taggedUnionConverter([only, ...others]),
      (convert) => (value) => value === null || value === undefined ? value : convert(value)
    )
  })

/** Returns the converter of an AST without its encoding. */
const localConverter = (ast: SchemaAST.AST): Option.Option<Converter> => {
  switch (ast._tag) {
    case "Objects":
      if (ast.indexSignatures.length === 0) {
        return Option.map(fieldsOf(ast), (fields) => objectConverter(fields, "name"))
      }
      return ast.propertySignatures.length === 0 ? recordConverter(ast) : Option.none()
    case "Arrays":
      return arrayConverter(ast)
    case "Union":
      return unionConverter(ast)
    case "Declaration":
      return ast.typeParameters.length === 0 ? Option.some(identity) : Option.none()
    case "Null":
    case "Undefined":
    case "Void":
    case "Never":
    case "Unknown":
    case "Any":
    case "String":
    case "Number":
    case "Boolean":
    case "BigInt":
    case "Symbol":
    case "Literal":
    case "UniqueSymbol":
    case "ObjectKeyword":
    case "Enum":
    case "TemplateLiteral":
      return Option.some(identity)
    default:
      return Option.none()
  }
}

/**
 * Returns a function that decodes a value that is known to match the AST. Returns
 * none if a part of the AST is not supported.
 *
 * To encode, pass the flipped AST.
 */
export const converterOf = (ast: SchemaAST.AST): Option.Option<Converter> =>
  Option.map(Option.all([...(ast.encoding ?? []).toReversed().map(linkConverter), localConverter(ast)]), composed)

/**
 * Returns a function that decodes an object from the values of its fields, in the order of the schema. Returns none
 * if the AST is not that of an object whose fields are all required, or contains a part that is not supported.
 */
export const valuesConverterOf = (ast: SchemaAST.AST): Option.Option<(values: ReadonlyArray<unknown>) => unknown> =>
  ast._tag === "Objects" && ast.encoding === undefined && ast.indexSignatures.length === 0
    ? fieldsOf(ast).pipe(
      Option.filter((fields) => fields.every(({ isOptional }) => !isOptional)),
      Option.map((fields) => objectConverter(fields, "position"))
    )
    : Option.none()
