/** The IDs that the clients of an organization have seen in responses. */
import type { RecordedResponse } from "../History.ts"
import { isSuccess, resourcesIn } from "../Responses.ts"
import type { PlannedRequest } from "./Recorder.ts"

/** The parts of an organization that requests name. */
interface Named {
  readonly channel_id: string
  readonly member_id: string
  readonly template_id: string
  /** The phones of contacts. The network behaves by their last digits. */
  readonly phones: ReadonlyArray<string>
  /** Returns the URL of an endpoint that no other webhook has. */
  readonly newUrl: () => string
}

export interface SeenResources extends Named {
  readonly contacts: Array<string>
  readonly conversations: Array<string>
  readonly events: Array<string>
  readonly messages: Array<{ readonly id: string; readonly conversation_id: string }>
  readonly sends: Array<string>
  readonly tags: Array<string>
  /** The active webhooks. */
  readonly webhooks: Array<string>
  readonly deliveries: Array<{ readonly id: string; readonly webhook_id: string }>
}

export const makeSeenResources = (named: Named): SeenResources => ({
  ...named,
  contacts: [],
  conversations: [],
  events: [],
  messages: [],
  sends: [],
  tags: [],
  webhooks: [],
  deliveries: []
})

const addOnce = <A>(values: Array<A>, value: A, isSame: (one: A) => boolean = (one) => one === value): void => {
  if (!values.some(isSame)) values.push(value)
}

/** Adds the IDs in a response. */
export const addSeen = (seen: SeenResources, { operation }: PlannedRequest, response: RecordedResponse): void => {
  if (!isSuccess(response)) return
  const [resource] = operation.split(".")
  for (const row of resourcesIn(response.body)) {
    const id = String(row["id"])
    if (resource === "contacts" && operation !== "contacts.upsert") addOnce(seen.contacts, id)
    if (resource === "conversations") addOnce(seen.conversations, id)
    if (resource === "events") addOnce(seen.events, id)
    if (resource === "tags") addOnce(seen.tags, id)
    if (resource === "sends") {
      addOnce(seen.sends, id)
      addOnce(seen.conversations, String(row["conversation_id"]))
    }
    if (resource === "messages") {
      addOnce(seen.messages, { id, conversation_id: String(row["conversation_id"]) }, (one) => one.id === id)
    }
    if (resource === "webhook_deliveries") {
      addOnce(seen.deliveries, { id, webhook_id: String(row["webhook_id"]) }, (one) => one.id === id)
    }
    if (resource === "webhooks" && operation !== "webhooks.test") {
      const at = seen.webhooks.indexOf(id)
      if (row["status"] === "active") addOnce(seen.webhooks, id)
      else if (at >= 0) seen.webhooks.splice(at, 1)
    }
  }
}
