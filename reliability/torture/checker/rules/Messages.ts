/** The rules of contract §11, §12, and §15 for messages: each accepted, reported, or raised message is stored once, without changes. */
import { type FinalState, type Resource, type Violation, violation } from "../../History.ts"
import { fieldOf, listOf, textOf } from "../../Responses.ts"
import type { Evidence } from "../Evidence.ts"

interface Stored {
  readonly message: Resource
  readonly contact: string | null
  readonly channel: string | null
}

/** Returns every message with the external ID of its contact and with its channel. */
const messagesIn = ({ conversations, messages }: FinalState): ReadonlyArray<Stored> => {
  const threads = new Map(conversations.map((thread) => [thread["id"], thread]))
  return Object.values(messages).flat().map((message) => {
    const thread = threads.get(message["conversation_id"])
    return { message, contact: textOf(thread, "contact", "external_id"), channel: textOf(thread, "channel", "id") }
  })
}

/** Returns whether the author has not changed the message. */
const isUnchanged = ({ message }: Stored): boolean => message["edited_at"] === null && message["deleted_at"] === null

/** Returns the texts of a request, which its message must contain. */
const textsIn = (body: unknown): ReadonlyArray<string> => {
  const text = textOf(body, "text")
  const parameters = listOf(body, "template", "components")
    .filter(({ type }) => type === "body")
    .flatMap((component) => listOf(component, "parameters"))
  return text === null ? parameters.flatMap((parameter) => textOf(parameter, "text") ?? []) : [text]
}

/** Each message that the network accepted is stored once, for its recipient, with the text of its request. */
const checkAccepted = ({ history: { accepted, organizations }, requests }: Evidence): ReadonlyArray<Violation> => {
  const stored = Map.groupBy(
    organizations.flatMap(({ final }) => messagesIn(final)),
    ({ message }) => String(message["provider_message_id"])
  )
  const requested = new Map(requests.flatMap(({ call, outcomes: [first] }) => {
    const id = textOf(first?.response.body, "data", "id")
    return id === null || !call.operation.startsWith("sends.") ? [] : [[id, call] as const]
  }))
  return accepted.flatMap(({ provider_message_id, recipient, reference, text }) => {
    const matches = stored.get(provider_message_id) ?? []
    const [one] = matches
    const call = requested.get(reference)
    const isStored = matches.length === 1 && one !== undefined && one.contact === recipient &&
      (one.message["text"] === text || !isUnchanged(one))
    return [
      isStored ? [] : violation(
        "An accepted message is stored once, as it was sent (contract §11.1).",
        `${provider_message_id} to ${recipient} with ${JSON.stringify(text)}: ${JSON.stringify(matches)}`
      ),
      call === undefined || textsIn(call.request.body).every((part) => text?.includes(part)) ? [] : violation(
        "A message has the text of its request (contract §12.2).",
        `${reference} with ${JSON.stringify(text)}`,
        [call.index]
      )
    ].flat()
  })
}

/** Each inbound message is stored as the network reported it. */
const checkInbound = ({ history: { inbound, organizations } }: Evidence): ReadonlyArray<Violation> => {
  const reported = new Map(inbound.map((message) => [`${message.channel_id} ${message.provider_message_id}`, message]))
  return organizations.flatMap(({ final }) => messagesIn(final)).flatMap((one) => {
    const { channel, contact, message } = one
    const expected = reported.get(`${channel} ${message["provider_message_id"]}`)
    return expected === undefined ||
        (expected.from === contact && (expected.text === message["text"] || !isUnchanged(one)))
      ? []
      : violation(
        "An inbound message is stored as it was reported (contract §15.2).",
        `${JSON.stringify(expected)}: ${JSON.stringify(message)}`
      )
  })
}

/** Each message to which a send, an event, or a response refers is stored. */
const checkReferences = ({ history: { organizations }, observations }: Evidence): ReadonlyArray<Violation> =>
  organizations.flatMap(({ final }, organization) => {
    const stored = new Set(messagesIn(final).map(({ message }) => `${message["conversation_id"]} ${message["id"]}`))
    const named = [
      ...final.sends.filter(({ status }) => status === "sent"),
      ...final.events.flatMap((event) =>
        fieldOf(event, "data", "message_id") === undefined ? [] : listOf({ only: [event["data"]] }, "only")
      ),
      ...observations.messages.filter((one) => one.organization === organization).map(({ resource }) => ({
        conversation_id: resource["conversation_id"],
        message_id: resource["id"]
      }))
    ].map(({ conversation_id, message_id }) => `${conversation_id} ${message_id}`)
    return Array.from(new Set(named)).filter((name) => !stored.has(name)).map((name) =>
      violation("A message that was stored is not lost (contract §7.2).", `conversation and message: ${name}`)
    )
  })

export const check = (evidence: Evidence): ReadonlyArray<Violation> => [
  ...checkAccepted(evidence),
  ...checkInbound(evidence),
  ...checkReferences(evidence)
]
