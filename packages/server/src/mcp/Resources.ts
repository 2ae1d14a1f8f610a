/** Resources for agents, which a user can attach to a chat: each is the result of a tool that reads. */
import type { Tool } from "./Tools.ts"

interface Resource {
  readonly name: string
  readonly description: string
  /** The template of its URI, with one argument of the tool. */
  readonly uri: string
  readonly tool: string
  readonly argument: string
}

const resources: ReadonlyArray<Resource> = [
  {
    name: "contact",
    description: "A contact with its identities and tags.",
    uri: "messaging-crm://contacts/{contact_id}",
    tool: "get_contact",
    argument: "contact_id"
  },
  {
    name: "messages",
    description: "The latest messages of a conversation, newest first.",
    uri: "messaging-crm://conversations/{conversation_id}/messages",
    tool: "list_messages",
    argument: "conversation_id"
  }
]

export const mime_type = "application/json"

/** The resources, as the protocol describes them. */
export const templates = resources.map(({ description, name, uri }) => ({
  name,
  description,
  uriTemplate: uri,
  mimeType: mime_type
}))

/** Returns the call that reads the resource with a URI, or undefined for another URI. */
export const callOf = (uri: string, tools: ReadonlyArray<Tool>) => {
  for (const resource of resources) {
    const [before = "", after = ""] = resource.uri.split(`{${resource.argument}}`)
    const tool = tools.find(({ name }) => name === resource.tool)
    if (tool === undefined || !uri.startsWith(before) || !uri.endsWith(after)) continue
    return { tool, given: { [resource.argument]: uri.slice(before.length, uri.length - after.length) } }
  }
  return undefined
}
