/** Generates the functions that build objects, because a loop over the names takes several times as long. */
import { Option } from "effect"
import { type Converter, identity } from "./Converter.ts"

export interface Field {
  readonly name: string
  readonly isOptional: boolean
  readonly convert: Converter
}

/** Returns the source of the key under which a field's value is given: its name, or its position. */
type KeyOf = (name: string, position: number) => string

export const byName: KeyOf = (name) => JSON.stringify(name)
export const byPosition: KeyOf = (_name, position) => String(position)

/** Returns the source of a function that builds an object with exactly these fields, in their order. */
export const sourceOf = (fields: ReadonlyArray<Field>, keyOf: KeyOf): string => {
  const parts = fields.map(({ convert, isOptional, name }, index) => {
    const value = `given[${keyOf(name, index)}]`
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

/** Returns the converter to an object with these fields, or none where code generation is forbidden. */
export const objectConverter = Option.liftThrowable((fields: ReadonlyArray<Field>, keyOf: KeyOf): Converter =>
  new Function("fields", `return (given) => {\n${sourceOf(fields, keyOf)}\n}`)(fields)
)
