/** Sentences for agents: the reason of a failed call, and the next step. */
import { ConnectionError, MessagingCrmError } from "@messaging-crm/client"
import type { Tool } from "./Tools.ts"

/** Returns the name of the tool that lists the resources of a tool's path, or that reads its resource. */
const listOf = ({ route }: Tool, tools: ReadonlyArray<Tool>): string | undefined => {
  const [, collection = ""] = / (\/[^/]+)/.exec(route) ?? []
  return tools.find((tool) => tool.route === `GET ${collection}`)?.name
}

/** Replaces the routes in a message of the API by the names of tools. */
const withToolNames = (message: string, tools: ReadonlyArray<Tool>): string =>
  message.replaceAll(
    /\b(?:GET|POST|PATCH) \/[\w/{}-]+/g,
    (route) => tools.find((tool) => tool.route === route)?.name ?? route
  )

const may_have_written = "The write can have taken effect: read the resource before you repeat it."

/** Returns what an agent can do after an error of the API; undefined if its message says it. */
const adviceOf = ({ code, param, retryAfter }: MessagingCrmError, tool: Tool, tools: ReadonlyArray<Tool>) => {
  const list = listOf(tool, tools)
  switch (code) {
    case "unauthorized":
      return "Ask the user for a valid key: this server reads it from API_KEY when it starts."
    case "insufficient_scope":
      return "Ask the user for such a key; other tools can still work."
    case "not_found":
      return list === undefined ? undefined : `Find the ID with ${list}.`
    case "conflict":
      return param === "type"
        ? "Only a template can be sent now: find an approved one with list_templates, and send it with send_message and the type template."
        : undefined
    case "rate_limited":
    case "storage_exhausted":
      return retryAfter === null ? undefined : `Wait ${retryAfter} s before the next call.`
    case "internal_error":
    case "request_processing":
      return tool.is_write ? may_have_written : undefined
    default:
      return undefined
  }
}

/** Returns the sentence for a failed call; undefined for a defect of this program. */
export const sentenceOf = (error: unknown, tool: Tool, tools: ReadonlyArray<Tool>): string | undefined => {
  if (error instanceof MessagingCrmError) {
    const advice = adviceOf(error, tool, tools)
    const message = withToolNames(error.message, tools)
    return advice === undefined ? message : `${message} ${advice}`
  }
  if (error instanceof ConnectionError) return tool.is_write ? `${error.message} ${may_have_written}` : error.message
  return undefined
}
