/** The `webhooks` of the OpenAPI document: the events that the service posts. */
import { declarations, type EventResourceName } from "@messaging-crm/core/Events"
import { LinkedMedia } from "@messaging-crm/core/Media"
import { LinkedMessage } from "@messaging-crm/core/Messages"
import { type JsonSchema, Record, Schema, Struct } from "effect"
import { eventOf } from "../EventExamples.ts"
import * as Examples from "../Examples.ts"

const header = (name: string, description: string, example: string) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string" },
  example
})

const parameters = [
  header(
    "webhook-id",
    "The event's `id`, identical on every attempt. Ignore an event that you have already processed.",
    Examples.ids.event_id
  ),
  header(
    "webhook-timestamp",
    "The time of the attempt, in Unix seconds. Reject a time that differs from your clock by more than five minutes.",
    "1795168800"
  ),
  header(
    "webhook-signature",
    "`v1,` and the HMAC-SHA256, in base64, of id, timestamp, and body, joined by periods. Verify it with the webhook's `signing_secret` and a Standard Webhooks library.",
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="
  )
]

const responses = {
  "2XX": { description: "Delivered. Respond within 15 seconds; the response body is ignored." },
  410: { description: "Disables the webhook." },
  default: {
    description:
      "Not delivered. The service makes up to ten attempts with the same event, over about three days. `Retry-After` can lengthen the pauses."
  }
}

const operation = (name: string, type: string, description: string, example: unknown) => ({
  post: {
    operationId: name,
    summary: type,
    description:
      `${description} Respond immediately and process the event afterward. Events can arrive in any order and more than once.`,
    tags: ["Webhooks"],
    security: [],
    parameters,
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: { $ref: `#/components/schemas/${name}` },
          examples: { event: { value: example } }
        }
      }
    },
    responses
  }
})

const EventMessage = Schema.Struct({
  ...LinkedMessage.fields,
  media: Schema.NullOr(
    Schema.Struct(Struct.omit(LinkedMedia.fields, ["url"])).annotate({
      identifier: "EventMedia",
      description: "The file of a message, without a link."
    })
  )
}).annotate({ identifier: "EventMessage", description: "A message as it was when the event was raised." })

/** The names of the components that describe the resources of events. */
const components: Readonly<Record<EventResourceName, string>> = {
  message: "EventMessage",
  conversation: "Conversation",
  contact: "Contact"
}

/** Adds the resource to `data` of the events that have one: in core, the events' layer cannot import the resources. */
export const withResources = (schemas: Readonly<Record<string, JsonSchema.JsonSchema>>) => {
  const resources = new Map(declarations.map(({ name, resource }) => [name, resource]))
  return Record.map(schemas, (schema, name) => {
    const resource = resources.get(name) ?? null
    if (resource === null) return schema
    const { data, ...properties } = schema.properties as Readonly<Record<string, JsonSchema.JsonSchema>>
    const described = {
      description: "Only for a webhook with `include_resource`.",
      allOf: [{ $ref: `#/components/schemas/${components[resource]}` }]
    }
    return {
      ...schema,
      properties: {
        ...properties,
        data: { ...data, properties: { ...(data?.properties as object), [resource]: described } }
      }
    }
  })
}

/** The schemas of the events. */
export const events = [EventMessage, ...declarations.map(({ schema }) => schema)] as const

/** The webhook operations, by type of event. */
export const webhooks = Object.fromEntries(
  declarations.map(({ description, name, type }) => [
    type,
    operation(name, type, description, eventOf(type))
  ])
)
