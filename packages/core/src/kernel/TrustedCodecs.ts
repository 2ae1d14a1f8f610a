/**
 * Codecs for values that are ours: transformed as their schema says, and not checked again.
 *
 * What our own database returns, and what our own decisions answer, was checked
 * when it came in. A codec is derived once from a schema's AST, so nothing is
 * spelled twice and nothing can drift.
 */
import { Context, Effect, Option, SchemaAST, type SchemaGetter, type SchemaIssue } from "effect"

/** Whether our own values are trusted to fit their schemas. They are checked unless a server decides otherwise. */
export const TrustOwnValues = Context.Reference<boolean>("@messaging-crm/core/TrustedCodecs/TrustOwnValues", {
  defaultValue: () => false
})

type Convert = (value: unknown) => unknown

const same: Convert = (value) => value

const inTurn = (steps: ReadonlyArray<Convert>): Convert => {
  const [first = same, ...others] = steps.filter((step) => step !== same)
  return others.reduce((before, after) => (value) => after(before(value)), first)
}

/** Returns what a getter makes of a value, or none for one that asks whether there is a value. */
const getterOf = (getter: SchemaGetter.Getter<unknown, unknown, unknown>): Option.Option<Convert> => {
  switch (getter._tag) {
    case "Passthrough":
      return Option.some(same)
    case "Transform":
      return Option.some((value) => getter.transform(value))
    case "TransformEffect":
      // No schema of ours asks for a service or waits, which the type of any getter leaves open.
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
    : Option.map(Option.all([codecOf(to), getterOf(transformation.decode)]), inTurn)

interface Field {
  readonly name: string
  readonly isOptional: boolean
  readonly codec: Convert
}

const fieldOf = ({ name, type }: SchemaAST.PropertySignature): Option.Option<Field> =>
  typeof name !== "string" || name === "__proto__"
    ? Option.none()
    : Option.map(codecOf(type), (codec) => ({ name, isOptional: type.context?.isOptional === true, codec }))

/** Returns the source of a function that builds an object of the fields and no others, in their order. */
const sourceOf = (fields: ReadonlyArray<Field>): string => {
  const parts = fields.map(({ codec, isOptional, name }, index) => {
    const key = JSON.stringify(name)
    return { key, isOptional, value: codec === same ? `given[${key}]` : `fields[${index}].codec(given[${key}])` }
  })
  // One literal for what is always there, since V8 then knows the shape; order is kept behind the first that may be absent.
  const optional = parts.findIndex(({ isOptional }) => isOptional)
  const fixed = optional === -1 ? parts : parts.slice(0, optional)
  const literal = fixed.map(({ key, value }) => `${key}: ${value}`).join(", ")
  const others = parts.slice(fixed.length).map(({ isOptional, key, value }) =>
    `${isOptional ? `if (${key} in given) ` : ""}made[${key}] = ${value}`
  )
  return [`const made = { ${literal} }`, ...others, "return made"].join("\n")
}

/** Generated, because a loop over names takes several times as long. Where code may not be generated, there is no codec. */
const objectOf = ({ propertySignatures }: SchemaAST.Objects): Option.Option<Convert> =>
  Option.flatMap(
    Option.all(propertySignatures.map(fieldOf)),
    (fields) =>
      Option.liftThrowable((): Convert =>
        new Function("fields", `return (given) => {\n${sourceOf(fields)}\n}`)(fields)
      )()
  )

const recordOf = ({ indexSignatures }: SchemaAST.Objects): Option.Option<Convert> => {
  const [only, ...others] = indexSignatures
  if (only === undefined || others.length > 0 || only.parameter !== SchemaAST.string) return Option.none()
  return Option.map(
    codecOf(only.type),
    (codec) =>
      codec === same ?
        same :
        (given) => Object.fromEntries(Object.entries(Object(given)).map(([key, value]) => [key, codec(value)]))
  )
}

const arrayOf = ({ elements, rest }: SchemaAST.Arrays): Option.Option<Convert> => {
  const [only, ...others] = rest
  if (only === undefined || others.length > 0 || elements.length > 0) return Option.none()
  // What is decoded by the schema of an array is one.
  return Option.map(
    codecOf(only),
    (codec) => codec === same ? same : (given) => (given as ReadonlyArray<unknown>).map((value) => codec(value))
  )
}

/** A union of what is left as it is, or of one thing and its absence. */
const unionOf = ({ types }: SchemaAST.Union): Option.Option<Convert> =>
  Option.flatMap(Option.all(types.map(codecOf)), (codecs) => {
    const [only, ...others] = codecs.filter((codec) => codec !== same)
    if (only === undefined) return Option.some(same)
    const unchanged = types.filter((_, index) => codecs[index] === same)
    const isOptional = unchanged.every(({ _tag }) => _tag === "Null" || _tag === "Undefined")
    if (others.length > 0 || !isOptional) return Option.none()
    return Option.some((value) => value === null || value === undefined ? value : only(value))
  })

const localOf = (ast: SchemaAST.AST): Option.Option<Convert> => {
  switch (ast._tag) {
    case "Objects":
      return ast.indexSignatures.length === 0
        ? objectOf(ast)
        : ast.propertySignatures.length === 0
        ? recordOf(ast)
        : Option.none()
    case "Arrays":
      return arrayOf(ast)
    case "Union":
      return unionOf(ast)
    case "Declaration":
      return ast.typeParameters.length === 0 ? Option.some(same) : Option.none()
    case "Suspend":
      return Option.none()
    default:
      return Option.some(same)
  }
}

const codecOf = (ast: SchemaAST.AST): Option.Option<Convert> =>
  Option.map(Option.all([...(ast.encoding ?? []).toReversed().map(linkOf), localOf(ast)]), inTurn)

/**
 * Returns what decodes a value that is known to fit the AST, or none for an AST
 * that holds what is not understood: it is decoded by its schema as ever.
 *
 * Encoding by a schema is decoding by the flipped AST.
 */
export const trusted = codecOf
