/** Generates the functions that build objects, because a loop over the names takes several times as long. */
import { type Converter, identity } from "./Converter.ts"

export interface Field {
  readonly name: string
  readonly isOptional: boolean
  readonly convert: Converter
}

/** Returns the source of a function that builds an object with exactly these fields, in their order, from their values by `keys`. */
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
