/** The request that a call of a tool makes, and the text of its response. */
import type { WithResponse } from "@messaging-crm/client"
import { Data, Effect, Predicate } from "effect"
import { type Argument, page_size_default, type Tool } from "./Tools.ts"

/** The arguments of a call do not match its tool. The message is for the agent. */
export class ArgumentsInvalid extends Data.TaggedError("ArgumentsInvalid")<{ readonly message: string }> {}

/** The parts of a request, as the client takes them. */
export interface ToolRequest {
  readonly path: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly body: unknown
  readonly if_match: string | null
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const printable = /^[\x20-\x7e]*$/

const isPlain = (value: unknown): value is boolean | number | string =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean"

/** Returns what is wrong with an argument, or null. The service checks the rest. */
const flawOf = ({ in: place, name, required }: Argument, value: unknown): string | null => {
  if (value === undefined || value === null) return required ? `${name} is required.` : null
  if (!isPlain(value)) return `${name} must be a text, a number, or a boolean.`
  if (place === "path" && !uuid.test(String(value))) return `${name} must be a UUID.`
  return place === "header" && !printable.test(String(value)) ? `${name} must be printable ASCII.` : null
}

const bodyFlaw = ({ body }: Tool, value: unknown): string | null => {
  if (value === undefined || value === null) return body?.required === true ? "body is required: an object." : null
  return Predicate.isObject(value) ? null : "body must be an object with the fields of the request."
}

/** Returns the request of a call. */
export const requestOf = (
  tool: Tool,
  given: Readonly<Record<string, unknown>>
): Effect.Effect<ToolRequest, ArgumentsInvalid> => {
  const names = [...tool.arguments.map(({ name }) => name), ...(tool.body === null ? [] : ["body"])]
  const unknown = Object.keys(given).find((name) => !names.includes(name))
  const flaw = unknown === undefined
    ? [...tool.arguments.map((argument) => flawOf(argument, given[argument.name])), bodyFlaw(tool, given["body"])]
      .find((each) => each !== null)
    : `${tool.name} has no argument ${JSON.stringify(unknown)}. It has: ${names.join(", ") || "none"}.`
  if (flaw !== undefined && flaw !== null) return Effect.fail(new ArgumentsInvalid({ message: flaw }))
  const partOf = (place: Argument["in"]): Readonly<Record<string, string>> =>
    Object.fromEntries(
      tool.arguments.filter((argument) => argument.in === place).flatMap(({ name }) => {
        const value = given[name] ?? (name === "page_size" ? page_size_default : undefined)
        return value === undefined ? [] : [[name, String(value)]]
      })
    )
  const { if_match = null } = partOf("header")
  return Effect.succeed({ path: partOf("path"), query: partOf("query"), body: given["body"] ?? undefined, if_match })
}

/** The longest text in an item of a list, in characters. The notes of a contact can have 200,000. */
const listed_text_chars_max = 5000

/** Shortens the long texts of an item of a list. */
const shortened = (value: unknown): unknown => {
  if (typeof value === "string" && value.length > listed_text_chars_max) {
    const left = value.length - listed_text_chars_max
    return `${
      value.slice(0, listed_text_chars_max).toWellFormed()
    }… (${left} more characters; get the item to read them)`
  }
  if (Array.isArray(value)) return value.map(shortened)
  return Predicate.isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shortened(each)]))
    : value
}

/** Returns the text of a response: its JSON, with the `etag` of a contact. Items of lists have no long texts. */
export const textOf = (response: WithResponse<{ readonly data: unknown }>): string => {
  const { lastResponse: { etag } } = response
  const body = Array.isArray(response.data) ? { ...response, data: response.data.map(shortened) } : response
  return JSON.stringify(etag === null ? body : { ...body, etag })
}
