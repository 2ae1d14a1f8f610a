/**
 * How the service converts its own values: rows of the database to core's types, and results of operations to JSON.
 *
 * A codec applies the transformations of a schema without its checks, because the service checked these values before it
 * stored them. It returns what the schema does, except that an object with a tag that only a newer version knows stays unchanged.
 *
 * A codec is derived from the AST of its schema; the functions were written from the sources of Effect 4.1. A schema that uses an
 * unsupported part, or one that a later version of Effect adds, has no codec.
 */
import { Effect, Option, Schema, SchemaAST, SchemaGetter, type SchemaIssue } from "effect"

/** Converts a value in one direction, and trusts that it is valid. */
type Converter = (value: unknown) => unknown

/** The converter of a value that stays as it is. A converter that contains only this one is this one, so that it costs nothing. */
export const identity: Converter = (value) => value

/** Returns the converter that applies others in their order. */
const composed = (converters: ReadonlyArray<Converter>): Converter => {
  const [first = identity, ...others] = converters.filter((convert) => convert !== identity)
  return others.reduce((before, after) => (value) => after(before(value)), first)
}

/**
 * Makes the getter of a decoding that only normalizes, such as trimming, and is idempotent. What the service has stored is
 * normalized already.
 */
export const normalizing = <A>(normalize: (value: A) => A): SchemaGetter.Getter<A, A> =>
  Object.assign(SchemaGetter.transform(normalize), { isNormalizing: true })

/** Returns whether a getter only normalizes, so that decoding an own value may leave it out. */
const isNormalizing = (getter: object): boolean => "isNormalizing" in getter

interface Member {
  readonly type: SchemaAST.AST
  readonly convert: Converter
}

/** Returns the literals that a schema consists of; none if it also has other values. */
const literalsOf = (ast: SchemaAST.AST): ReadonlyArray<unknown> => {
  if (ast._tag === "Literal") return [ast.literal]
  if (ast._tag !== "Union") return []
  const literals = ast.types.map(literalsOf)
  return literals.some(({ length }) => length === 0) ? [] : literals.flat()
}

/** Returns the literals of a property of a member; none if it has other values or is encoded. */
const literalsAt = (name: PropertyKey, { type }: Member): ReadonlyArray<unknown> => {
  if (type._tag !== "Objects" || type.encoding !== undefined) return []
  const property = type.propertySignatures.find((each) => each.name === name)
  return property === undefined || property.type.encoding !== undefined ? [] : literalsOf(property.type)
}

const tagOf = (members: ReadonlyArray<Member>): Option.Option<PropertyKey> => {
  const first = members[0]?.type
  const names = first?._tag === "Objects" ? first.propertySignatures.map(({ name }) => name) : []
  return Option.fromUndefinedOr(names.find((name) => {
    const literals = members.map((member) => literalsAt(name, member))
    return literals.every(({ length }) => length > 0) && new Set(literals.flat()).size === literals.flat().length
  }))
}

/** Returns the converter of a union, or none if it has no tag. An object with another tag, which a newer version has written, is unchanged. */
const taggedUnionConverter = (members: ReadonlyArray<Member>): Option.Option<Converter> =>
  Option.map(tagOf(members), (tag) => {
    const byTag = new Map(
      members.flatMap((member) => literalsAt(tag, member).map((literal) => [literal, member.convert] as const))
    )
    return (value) => (byTag.get(Object(value)[tag]) ?? identity)(value)
  })

interface Field {
  readonly name: string
  readonly isOptional: boolean
  readonly convert: Converter
}

/**
 * Returns the source of a function that builds an object with exactly these fields, in their order, from their values by
 * `keys`. It is generated, because a loop over the names takes several times as long.
 */
export const sourceOf = (fields: ReadonlyArray<Field>, keys: "name" | "position"): string => {
  const parts = fields.map(({ convert, isOptional, name }, index) => {
    const value = `given[${keys === "name" ? JSON.stringify(name) : index}]`
    return {
      key: JSON.stringify(name),
      isOptional,
      value: convert === identity ? value : `fields[${index}].convert(${value})`
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

/** Returns the converter to an object with these fields without generated code. */
const looped = (fields: ReadonlyArray<Field>, keys: "name" | "position"): Converter => (given) => {
  const from = Object(given)
  const made: Record<string, unknown> = {}
  for (const [position, { convert, isOptional, name }] of fields.entries()) {
    const key = keys === "name" ? name : position
    if (!isOptional || key in from) made[name] = convert(from[key])
  }
  return made
}

/** Returns the converter to an object with these fields. Where code generation is forbidden, it is slower. */
export const objectConverter = (fields: ReadonlyArray<Field>, keys: "name" | "position"): Converter => {
  try {
    return new Function("fields", `return (given) => {\n${sourceOf(fields, keys)}\n}`)(fields)
  } catch {
    return looped(fields, keys)
  }
}

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

/** A schema whose codecs need no services. */
export type OwnSchema = Schema.Codec<unknown, unknown>

/** A struct of such schemas, such as the columns of a list. */
export type OwnStruct = Schema.Struct<Readonly<Record<string, OwnSchema>>>

/** Makes a codec on its first call, because a command uses few of them. If it throws, the error of the schema names the field. */
const codecOf = <A, B>(derive: () => Option.Option<(value: A) => B>, check: (value: A) => unknown): (value: A) => B => {
  let convert: ((value: A) => B) | undefined
  return (value) => {
    convert ??= Option.getOrThrowWith(derive(), () => new Error("No codec can be derived from a part of the schema."))
    try {
      return convert(value)
    } catch (defect) {
      check(value)
      throw defect
    }
  }
}

/** Makes the function that decodes an own value. */
export const decoder = <S extends OwnSchema>(schema: S): (stored: unknown) => S["Type"] =>
  codecOf<unknown, unknown>(() => converterOf(schema.ast), (stored) => Schema.decodeUnknownSync(schema)(stored))

/** Makes the function that encodes an own value. */
export const encoder = <S extends OwnSchema>(schema: S): (own: S["Type"]) => S["Encoded"] =>
  codecOf<unknown, unknown>(
    () => converterOf(SchemaAST.flip(schema.ast)),
    (own) => Schema.encodeUnknownSync(schema)(own)
  )

/** Makes the function that decodes an object from the values of its fields, in the order of the schema. All are required. */
export const valuesDecoder = <S extends OwnStruct>(schema: S): (values: ReadonlyArray<unknown>) => S["Type"] => {
  const names = Object.keys(schema.fields)
  return codecOf<ReadonlyArray<unknown>, unknown>(
    () => valuesConverterOf(schema.ast),
    (values) => Schema.decodeUnknownSync(schema)(Object.fromEntries(names.map((name, place) => [name, values[place]])))
  ) as (values: ReadonlyArray<unknown>) => S["Type"]
}
