/** Converts a union of objects by their tag: the property whose literals tell all members apart. */
import { Option, type SchemaAST } from "effect"
import { type Converter, identity } from "./Converter.ts"

export interface Member {
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
export const taggedUnionConverter = (members: ReadonlyArray<Member>): Option.Option<Converter> =>
  Option.map(tagOf(members), (tag) => {
    const byTag = new Map(
      members.flatMap((member) => literalsAt(tag, member).map((literal) => [literal, member.convert] as const))
    )
    return (value) => (byTag.get(Object(value)[tag]) ?? identity)(value)
  })
