/** The rules of contract §13 for events: each change raises one event, and its content stays true. */
import { type FinalState, type Resource, type Violation, violation } from "../../History.ts"
import { fieldOf, isSuccess, textOf } from "../../Responses.ts"
import { createdId, type Evidence } from "../Evidence.ts"
import { type Request } from "../Requests.ts"
import { messageRanks } from "./Progress.ts"

const keyOf = (event: Resource, ...data: ReadonlyArray<string>): string =>
  [event["type"], ...data.map((name) => fieldOf(event, "data", name))].join(" ")

/** An event that a change must have raised, with the bounds of its number and the calls of the change. */
interface ExpectedEvent {
  readonly key: string
  readonly least: number
  readonly most: number
  readonly calls: ReadonlyArray<number>
}

const once = (key: string, calls: ReadonlyArray<number> = []): ExpectedEvent => ({ key, least: 1, most: 1, calls })

const callsOf = ({ outcomes }: Request): ReadonlyArray<number> => outcomes.slice(0, 1).map(({ index }) => index)

const ofContacts = (evidence: Evidence, organization: number): ReadonlyArray<ExpectedEvent> =>
  evidence.requests.flatMap((request) => {
    const { call: { operation, organization: own }, outcomes: [first] } = request
    const isCreated = own === organization && operation === "contacts.create" && first !== undefined &&
      isSuccess(first.response)
    return isCreated ? once(`contact.created ${createdId(evidence, request)}`, callsOf(request)) : []
  })

const ofMessages = ({ messages, sends }: FinalState): ReadonlyArray<ExpectedEvent> => [
  ...Object.values(messages).flat().flatMap(({ deleted_at, direction, id, status }) =>
    [
      once(`message.${direction === "inbound" ? "received" : "sent"} ${id}`),
      direction === "outbound" && status !== "sent" && deleted_at === null
        ? once(`message.updated ${id} ${status}`)
        : []
    ].flat()
  ),
  ...sends.flatMap(({ failure_reason, id, status }) =>
    status === "failed" && failure_reason !== "recipient_opted_out" ? once(`send.failed ${id}`) : []
  )
]

/** Expects one event for each `closed_at` that a response showed. */
const ofConversations = ({ requests, observations }: Evidence, organization: number): ReadonlyArray<ExpectedEvent> => {
  const own = observations.conversations.filter((observation) => observation.organization === organization)
  return Array.from(Map.groupBy(own, ({ resource }) => String(resource["id"])), ([id, same]) => {
    const closes = requests.filter(({ attempts, call: { operation, request: { path } } }) =>
      operation === "conversations.close" && attempts.length > 0 && path.toLowerCase().includes(id)
    )
    const seen = new Set(same.flatMap(({ resource }) => textOf(resource, "closed_at") ?? []))
    return { key: `conversation.closed ${id}`, least: seen.size, most: closes.length, calls: closes.flatMap(callsOf) }
  })
}

const ofWebhooks = ({ webhooks }: FinalState): ReadonlyArray<ExpectedEvent> =>
  webhooks.flatMap(({ id, status }) => status === "disabled" ? once(`webhook.disabled ${id}`) : [])

const raisedKey = (event: Resource): string => {
  switch (event["type"]) {
    case "message.updated":
      return keyOf(event, "message_id", "status")
    case "message.received":
    case "message.sent":
      return keyOf(event, "message_id")
    case "send.failed":
      return keyOf(event, "send_id")
    case "contact.created":
      return keyOf(event, "contact_id")
    case "webhook.disabled":
      return keyOf(event, "webhook_id")
    default:
      return keyOf(event, "conversation_id")
  }
}

/** Each observed change raised its event, and no event was raised twice. */
const checkRaising = (evidence: Evidence): ReadonlyArray<Violation> =>
  evidence.history.organizations.flatMap(({ final }, organization) => {
    const raised = Map.groupBy(final.events, raisedKey)
    const expected = [
      ...ofContacts(evidence, organization),
      ...ofMessages(final),
      ...ofConversations(evidence, organization),
      ...ofWebhooks(final)
    ]
    return expected.flatMap(({ calls, key, least, most }) => {
      const count = raised.get(key)?.length ?? 0
      const bounds = least === most ? `${least}` : `${least} to ${most}`
      return count >= least && count <= most
        ? []
        : violation("Each change raises one event (contract §13.1).", `${key}: ${count} events, not ${bounds}`, calls)
    })
  })

/** No message has an earlier status than an event reported. */
const checkMessageEvents = ({ history: { organizations } }: Evidence): ReadonlyArray<Violation> =>
  organizations.flatMap(({ final }) => {
    const messages = new Map(Object.values(final.messages).flat().map((message) => [message["id"], message]))
    return final.events.filter(({ type }) => type === "message.updated").flatMap((event) => {
      const message = messages.get(fieldOf(event, "data", "message_id"))
      const status = String(fieldOf(event, "data", "status"))
      const [reported, stored] = [messageRanks[status], messageRanks[String(message?.["status"])]]
      const holds = status === "deleted"
        ? message?.["deleted_at"] !== null
        : reported === undefined || stored === undefined || stored >= reported
      return message === undefined || holds
        ? []
        : violation(
          "The status in a message event does not go back (contract §11.4, §11.7).",
          `${JSON.stringify(event)}, and the message is ${JSON.stringify(message)}`
        )
    })
  })

export const check = (evidence: Evidence): ReadonlyArray<Violation> => [
  ...checkRaising(evidence),
  ...checkMessageEvents(evidence)
]
