/**
 * Derives functions from the AST of a schema that apply its transformations without its checks.
 *
 * Written from the sources of Effect 4.1. A schema that uses an unsupported part has no derived codec.
 */
import { isNormalizing } from "@messaging-crm/core/Codecs"
import { toIso } from "@messaging-crm/core/Timestamps"
import { Effect, Option, SchemaAST, type SchemaGetter, type SchemaIssue } from "effect"
import { isoOf } from "./Times.ts"

type Convert = (value: unknown) => unknown

const identity: Convert = (value) => value

const composed = (steps: ReadonlyArray<Convert>): Convert => {
  const [first = identity, ...others] = steps.filter((step) => step !== identity)
  return others.reduce((before, after) => (value) => after(before(value)), first)
}

/** Returns the function of a getter, or none if the getter depends on whether the value is present. */
const getterOf = (getter: SchemaGetter.Getter<unknown, unknown, unknown>): Option.Option<Convert> => {
  if (isNormalizing(getter)) return Option.some(identity)
  // `toIso` has the type of a specific getter; only identity is compared.
  if (getter === toIso as unknown) return Option.some(isoOf as Convert)
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

const linkOf = ({ to, transformation }: SchemaAST.Link): Option.Option<Convert> =>
  transformation._tag === "Middleware"
    ? Option.none()
    : Option.map(Option.all([codecOf(to), getterOf(transformation.decode)]), composed)

interface Field {
  readonly name: string
  readonly isOptional: boolean
  readonly codec: Convert
}

const fieldOf = ({ name, type }: SchemaAST.PropertySignature): Option.Option<Field> =>
  typeof name !== "string" || name === "__proto__"
    ? Option.none()
    : Option.map(codecOf(type), (codec) => ({ name, isOptional: type.context?.isOptional === true, codec }))

/** Returns the source of what is at a name, or at a position. */
type Accessor = (name: string, position: number) => string

const byName: Accessor = (name) => JSON.stringify(name)
const byPosition: Accessor = (_name, position) => String(position)

/** Returns the source of a function that builds an object with exactly these fields, in their order. */
const sourceOf = (fields: ReadonlyArray<Field>, accessorOf: Accessor): string => {
  const parts = fields.map(({ codec, isOptional, name }, index) => {
    const value = `given[${accessorOf(name, index)}]`
    return {
      key: JSON.stringify(name),
      isOptional,
      value: codec === identity ? value : `fields[${index}].codec(${value})`
    }
  })
  // One literal for the required fields, so that V8 can infer the shape. From the first optional field on,
  // assignments keep the order.
  const optional = parts.findIndex(({ isOptional }) => isOptional)
  const fixed = optional === -1 ? parts : parts.slice(0, optional)
  const literal = fixed.map(({ key, value }) => `${key}: ${value}`).join(", ")
  const others = parts.slice(fixed.length).map(({ isOptional, key, value }) =>
    `${isOptional ? `if (${key} in given) ` : ""}made[${key}] = ${value}`
  )
  return [`const made = { ${literal} }`, ...others, "return made"].join("\n")
}

/**
 * Generates the function, because a loop over the names takes several times as long.
 *
 * Where code generation is forbidden, returns none.
 */
const objectOf = ({ propertySignatures }: SchemaAST.Objects, accessorOf: Accessor): Option.Option<Convert> =>
  Option.flatMap(
    Option.all(propertySignatures.map(fieldOf)),
    (fields) =>
      Option.liftThrowable((): Convert =>
        new Function("fields", `return (given) => {\n${sourceOf(fields, accessorOf)}\n}`)(fields)
      )()
  )

const recordOf = ({ indexSignatures }: SchemaAST.Objects): Option.Option<Convert> => {
  const [only, ...others] = indexSignatures
  if (only === undefined || others.length > 0 || only.parameter !== SchemaAST.string) return Option.none()
  return Option.map(
    codecOf(only.type),
    (codec) =>
      codec === identity ?
        identity :
        (given) => Object.fromEntries(Object.entries(Object(given)).map(([key, value]) => [key, codec(value)]))
  )
}

const arrayOf = ({ elements, rest }: SchemaAST.Arrays): Option.Option<Convert> => {
  const [only, ...others] = rest
  if (only === undefined || others.length > 0 || elements.length > 0) return Option.none()
  // The value is trusted to match the schema, so it is an array.
  return Option.map(
    codecOf(only),
    (codec) => codec === identity ? identity : (given) => (given as ReadonlyArray<unknown>).map((value) => codec(value))
  )
}

/** Returns the literals that a schema consists of; none if it also has other values. */
const literalsOf = (ast: SchemaAST.AST): ReadonlyArray<unknown> => {
  if (ast._tag === "Literal") return [ast.literal]
  if (ast._tag !== "Union") return []
  const literals = ast.types.map(literalsOf)
  return literals.some(({ length }) => length === 0) ? [] : literals.flat()
}

const literalsAt = (name: PropertyKey) => (member: SchemaAST.AST): ReadonlyArray<unknown> => {
  if (member._tag !== "Objects" || member.encoding !== undefined) return []
  const property = member.propertySignatures.find((each) => each.name === name)
  return property === undefined || property.type.encoding !== undefined ? [] : literalsOf(property.type)
}

/** Returns the name of the property whose literals tell all members apart. */
const tagOf = (types: ReadonlyArray<SchemaAST.AST>): Option.Option<string> => {
  const [first] = types
  const names = first?._tag === "Objects" ? first.propertySignatures.map(({ name }) => name) : []
  const tag = names.find((name) => {
    const literals = types.map(literalsAt(name))
    return literals.every(({ length }) => length > 0) && new Set(literals.flat()).size === literals.flat().length
  })
  return typeof tag === "string" ? Option.some(tag) : Option.none()
}

/** Supports a union of objects with a tag. An object with another tag, which a newer version has written, is unchanged. */
const taggedOf = (types: ReadonlyArray<SchemaAST.AST>, codecs: ReadonlyArray<Convert>): Option.Option<Convert> =>
  Option.map(tagOf(types), (tag) => {
    const byTag = new Map(
      types.flatMap((type, index) =>
        literalsAt(tag)(type).map((literal) => [literal, codecs[index] ?? identity] as const)
      )
    )
    return (value) => (byTag.get(Object(value)[tag]) ?? identity)(value)
  })

const isAbsent = ({ _tag }: SchemaAST.AST): boolean => _tag === "Null" || _tag === "Undefined"

/** Supports a union whose members are all unchanged, and one converted member or objects with a tag, with null or undefined. */
const unionOf = ({ types }: SchemaAST.Union): Option.Option<Convert> =>
  Option.flatMap(Option.all(types.map(codecOf)), (codecs) => {
    if (codecs.every((codec) => codec === identity)) return Option.some(identity)
    const present = types.filter((type) => !isAbsent(type))
    const [only = identity, ...others] = codecs.filter((_, index) => present.includes(types[index] as SchemaAST.AST)) // same length
    return Option.map(
      others.length === 0 ? Option.some(only) : taggedOf(present, [only, ...others]),
      (convert) => (value) => value === null || value === undefined ? value : convert(value)
    )
  })

const localOf = (ast: SchemaAST.AST): Option.Option<Convert> => {
  switch (ast._tag) {
    case "Objects":
      return ast.indexSignatures.length === 0
        ? objectOf(ast, byName)
        : ast.propertySignatures.length === 0
        ? recordOf(ast)
        : Option.none()
    case "Arrays":
      return arrayOf(ast)
    case "Union":
      return unionOf(ast)
    case "Declaration":
      return ast.typeParameters.length === 0 ? Option.some(identity) : Option.none()
    case "Suspend":
      return Option.none()
    default:
      return Option.some(identity)
  }
}

/**
 * Returns a function that decodes a value that is known to match the AST. Returns
 * none if a part of the AST is not supported: use the schema itself then.
 *
 * To encode, pass the flipped AST.
 */
export const codecOf = (ast: SchemaAST.AST): Option.Option<Convert> =>
  Option.map(Option.all([...(ast.encoding ?? []).toReversed().map(linkOf), localOf(ast)]), composed)

/**
 * Returns a function that decodes an object from the values of its fields, in the order of the schema. Returns none
 * if the AST is not that of an object whose fields are all required, or holds a part that is not supported.
 */
export const valuesCodecOf = (ast: SchemaAST.AST): Option.Option<(values: ReadonlyArray<unknown>) => unknown> =>
  ast._tag === "Objects" && ast.encoding === undefined && ast.indexSignatures.length === 0 &&
    ast.propertySignatures.every(({ type }) => type.context?.isOptional !== true)
    ? objectOf(ast, byPosition)
    : Option.none()
