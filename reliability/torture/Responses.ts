/** Reads fields of responses, whose JSON the history keeps without types. */
import type { RecordedResponse, Resource } from "./History.ts"

const isObject = (value: unknown): value is Resource => typeof value === "object" && value !== null

/** Returns a field of a JSON object; undefined if the value has no such field. */
export const fieldOf = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((part, name) => isObject(part) ? part[name] : undefined, value)

export const textOf = (value: unknown, ...path: ReadonlyArray<string>): string | null => {
  const field = fieldOf(value, ...path)
  return typeof field === "string" ? field : null
}

export const listOf = (value: unknown, ...path: ReadonlyArray<string>): ReadonlyArray<Resource> => {
  const field = fieldOf(value, ...path)
  return Array.isArray(field) ? field.filter(isObject) : []
}

/** Returns the objects of a body: those of its list, or its only object. */
export const resourcesIn = (body: unknown): ReadonlyArray<Resource> => {
  const data = fieldOf(body, "data")
  return Array.isArray(data) ? data.filter(isObject) : isObject(data) ? [data] : []
}

export const codeOf = ({ body }: RecordedResponse): string | null => textOf(body, "error", "code")

export const isSuccess = ({ status }: Pick<RecordedResponse, "status">): boolean => status >= 200 && status < 300
