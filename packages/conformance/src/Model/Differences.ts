/** Names the fields in which two values differ, and finds the commands that a difference needs. */
import { Effect } from "effect"

const text_chars_max = 200
const differences_max = 20

const textOf = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > text_chars_max ? `${text.slice(0, text_chars_max)}… (${text.length} characters)` : text
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** Returns a line for each field in which a value differs from the expected one, with both values. */
export const differences = (found: unknown, expected: unknown, path = "result"): ReadonlyArray<string> => {
  if (Object.is(found, expected)) return []
  if (!isObject(found) || !isObject(expected) || Array.isArray(found) !== Array.isArray(expected)) {
    return [`${path}: found ${textOf(found)}, expected ${textOf(expected)}`]
  }
  const keys = Array.from(new Set([...Object.keys(found), ...Object.keys(expected)]))
  return keys.flatMap((key) => {
    const at = Array.isArray(found) ? `${path}[${key}]` : `${path}.${key}`
    if (!(key in expected)) return [`${at}: found ${textOf(found[key])}, expected no such field`]
    if (!(key in found)) return [`${at}: found no such field, expected ${textOf(expected[key])}`]
    return differences(found[key], expected[key], at)
  })
}

/** Fails with the fields in which a value differs from the expected one. */
export const assertSame = (found: unknown, expected: unknown): void => {
  const lines = differences(found, expected)
  if (lines.length === 0) return
  const rest = lines.length > differences_max ? [`and ${lines.length - differences_max} more`] : []
  throw new Error(["The service differs from the model.", ...lines.slice(0, differences_max), ...rest].join("\n"))
}

/** Removes one item after another, from the last to the first, as long as the others still fail. */
export const needed = Effect.fnUntraced(function*<A, R>(
  items: ReadonlyArray<A>,
  fails: (items: ReadonlyArray<A>) => Effect.Effect<boolean, never, R>
) {
  let left = items
  for (let index = items.length - 1; index >= 0; index--) {
    const without = left.toSpliced(index, 1)
    if (yield* fails(without)) left = without
  }
  return left
})
