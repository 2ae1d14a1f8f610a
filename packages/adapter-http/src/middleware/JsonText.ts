/**
 * Flaws that `JSON.parse` accepts and this service rejects: a repeated name, because `JSON.parse`
 * keeps only the last value, and deep nesting, because writing such a value overflows the stack.
 */
import { limits } from "@messaging-crm/core/Limits"
import * as Texts from "../api/ErrorTexts.ts"

/** An object or array that contains the current position. */
interface Level {
  /** The names of an object so far, null for an array. */
  readonly names: Set<string> | null
  /** The name or position that the scan is at. */
  place: string | number
}

const pathOf = (levels: ReadonlyArray<Level>): string => levels.map(({ place }) => place).join(".")

/** Returns where the string that opens at `start` ends: the position of its closing quote. */
const endOfString = (text: string, start: number): number => {
  let index = start + 1
  while (text[index] !== "\"") index += text[index] === "\\" ? 2 : 1
  return index
}

/** Returns the first flaw of a text that is JSON, or null. Takes one pass. */
export const flawOf = (text: string): Texts.ErrorText<"invalid_input"> | null => {
  const levels: Array<Level> = []
  let expectsName = false
  for (let index = 0; index < text.length; index++) {
    const level = levels.at(-1)
    switch (text[index]) {
      case "{":
      case "[": {
        const names = text[index] === "{" ? new Set<string>() : null
        if (levels.length === limits.json_depth_max) return Texts.nestedTooDeep(pathOf(levels))
        levels.push({ names, place: 0 })
        expectsName = names !== null
        break
      }
      case "}":
      case "]":
        levels.pop()
        break
      case ",":
        if (level === undefined) break
        if (level.names === null) level.place = Number(level.place) + 1
        else expectsName = true
        break
      case "\"": {
        const end = endOfString(text, index)
        if (expectsName && level !== undefined && level.names !== null) {
          // Parsed, so that "a" and "\u0061" are one name.
          const name = String(JSON.parse(text.slice(index, end + 1)))
          level.place = name
          if (level.names.has(name)) return Texts.fieldRepeated(pathOf(levels))
          level.names.add(name)
          expectsName = false
        }
        index = end
        break
      }
    }
  }
  return null
}
