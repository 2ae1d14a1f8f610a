/** Parts of histories that tests make by hand: calls on a few objects, and what is stored at the end. */
import { emptyContact } from "@messaging-crm/core/Contacts"
import type { Call, Fault, FinalState, History, ReceivedDelivery, RecordedResponse, Resource } from "./History.ts"

export const ids = {
  contact: "019aa0c2-5b00-7000-8000-000000000001",
  conversation: "019aa0c2-5b00-7000-8000-000000000002",
  tag: "019aa0c2-5b00-7000-8000-000000000003",
  webhook: "019aa0c2-5b00-7000-8000-000000000004"
}

export const contact = (fields: Resource = {}): Resource => ({
  ...emptyContact,
  id: ids.contact,
  first_name: "Kim",
  updated_at: "2026-11-20T10:00:00.000Z",
  ...fields
})

export const noon = "2026-11-20T12:00:00.000Z"
export const later = "2026-11-20T13:00:00.000Z"

export const open = (opened_at = noon): Resource => ({
  id: ids.conversation,
  channel: { id: "channel", type: "phone_messaging" },
  contact: { id: ids.contact, external_id: "+4915112345678" },
  status: "open",
  close_category: null,
  assigned_user_id: null,
  opened_at,
  closed_at: null,
  last_activity_at: noon
})

export const closed = (closed_at = noon): Resource => ({ ...open(), status: "closed", closed_at })

export const webhook = (fields: Resource = {}): Resource => ({
  id: ids.webhook,
  url: "https://shop.example/a",
  event_types: ["message.sent"],
  status: "active",
  ...fields
})

/** A sent text, and its message. */
export const send = (id: string): Resource => ({
  id,
  conversation_id: ids.conversation,
  status: "sent",
  message_id: `message-${id}`,
  failure_reason: null,
  created_at: `2026-11-20T12:00:00.00${id}Z`
})

const message = (id: string, fields: Resource = {}): Resource => ({
  id: `message-${id}`,
  conversation_id: ids.conversation,
  direction: "outbound",
  status: "sent",
  text: id,
  provider_message_id: `p.${id}`,
  edited_at: null,
  deleted_at: null,
  ...fields
})

/** Sends that the network accepted, in this order, and what is stored of them. */
export const sent = (
  order: ReadonlyArray<string>,
  fields: Resource = {}
): Pick<History, "accepted"> & { readonly final: Partial<FinalState> } => ({
  accepted: order.map((id) => ({
    reference: id,
    provider_message_id: `p.${id}`,
    recipient: "+4915112345678",
    text: id
  })),
  final: {
    conversations: [open()],
    sends: order.map(send),
    messages: { [ids.conversation]: order.map((id) => message(id, fields)) }
  }
})

interface Attempt {
  readonly from: number
  /** Null without a response. */
  readonly to: number | null
  readonly status?: number
  readonly data?: unknown
  readonly error?: { readonly code: string; readonly param?: string }
  readonly retry_after_seconds?: number
  /** The position of the attempt that it replays. */
  readonly replays?: number
  readonly key?: string
  readonly key_id?: string
  /** The requests that the key has left. */
  readonly remaining?: number
}

type Made = (index: number) => Call

const call = (
  operation: Call["operation"],
  method: Call["request"]["method"],
  path: string,
  body: unknown,
  attempt: Attempt
): Made =>
(index) => {
  const {
    data,
    error,
    from,
    key = null,
    key_id = "key",
    remaining,
    replays,
    retry_after_seconds = null,
    status = 200,
    to
  } = attempt
  const found = Array.isArray(data) ? { data, next_cursor: null } : { data }
  const shown = error === undefined ? found : { error: { param: null, ...error } }
  const response: RecordedResponse = {
    status,
    body: shown,
    text: JSON.stringify(shown),
    is_replay: replays !== undefined,
    original_request_id: replays === undefined ? null : `r-${replays}`,
    retry_after_seconds,
    rate: remaining === undefined ? null : { remaining, reset_seconds: 60 }
  }
  return {
    client: index,
    index,
    organization: 0,
    operation,
    request: {
      method,
      path,
      body,
      idempotency_key: key,
      request_id: `r-${index}`,
      key_id: method === "COMMAND" ? null : key_id
    },
    started_at: from,
    ended_at: to,
    response: to === null ? null : response
  }
}

export const create = (attempt: Attempt) =>
  call("contacts.create", "POST", "/contacts", { first_name: "Kim" }, {
    status: 201,
    data: contact(),
    key: "create-1",
    ...attempt
  })
export const update = (city: string, attempt: Attempt) =>
  call("contacts.update", "PATCH", `/contacts/${ids.contact}`, { city }, {
    data: contact({ city }),
    key: `city-${city}`,
    ...attempt
  })
export const get = (city: string | null, attempt: Attempt) =>
  call("contacts.get", "GET", `/contacts/${ids.contact}`, null, { data: contact({ city }), ...attempt })
export const close = (data: Resource, attempt: Attempt) =>
  call("conversations.close", "POST", `/conversations/${ids.conversation}/close`, null, {
    data,
    key: "close-1",
    ...attempt
  })
export const reopen = (attempt: Attempt) =>
  call("conversations.reopen", "POST", `/conversations/${ids.conversation}/reopen`, null, {
    data: open(later),
    key: "open-1",
    ...attempt
  })
export const see = (data: Resource, attempt: Attempt) =>
  call("conversations.get", "GET", `/conversations/${ids.conversation}`, null, { data, ...attempt })
export const tag = (name: string, attempt: Attempt) =>
  call("tags.create", "POST", "/tags", { name, color: "red" }, {
    data: { id: `${ids.tag}${name}`, name, color: "red" },
    key: `tag-${name}`,
    ...attempt
  })
export const tags = (names: ReadonlyArray<string>, attempt: Attempt) =>
  call("tags.list", "GET", "/tags", null, {
    data: names.map((name) => ({ id: `${ids.tag}${name}`, name, color: "red" })),
    ...attempt
  })
export const disable = (attempt: Attempt) =>
  call("webhooks.disable", "DELETE", `/webhooks/${ids.webhook}`, null, {
    data: webhook({ status: "disabled" }),
    key: "disable-1",
    ...attempt
  })
export const subscribe = (event_types: ReadonlyArray<string>, attempt: Attempt) =>
  call("webhooks.create", "POST", "/webhooks", { url: "https://shop.example/a", event_types }, {
    status: 201,
    data: webhook({ event_types }),
    key: "subscribe-1",
    ...attempt
  })
export const resubscribe = (event_types: ReadonlyArray<string>, attempt: Attempt) =>
  call("webhooks.update", "PATCH", `/webhooks/${ids.webhook}`, { event_types }, {
    data: webhook({ event_types }),
    key: `resubscribe-${attempt.from}`,
    ...attempt
  })
/** A replay from noon to an hour later. */
export const replay = (attempt: Attempt) =>
  call("webhooks.replay", "POST", `/webhooks/${ids.webhook}/replay`, { since: noon }, {
    status: 202,
    data: { id: "replay", webhook_id: ids.webhook, since: noon, created_at: later },
    key: `replay-${attempt.from}`,
    ...attempt
  })
/** An event at noon. */
export const event = (type: string): Resource => ({ id: `event-${type}`, type, timestamp: noon, data: {} })
/** A request with an event that the endpoint received. */
export const posted = (type: string, at: number): ReceivedDelivery => ({
  organization: 0,
  endpoint: "/a",
  event_id: `event-${type}`,
  text: JSON.stringify(event(type)),
  at,
  status: 204,
  is_signed: true
})
export const listWebhooks = (data: ReadonlyArray<Resource>, attempt: Attempt) =>
  call("webhooks.list", "GET", "/webhooks", null, { data, ...attempt })
export const list = (ids: ReadonlyArray<string>, attempt: Attempt) =>
  call("sends.list", "GET", "/sends", null, { data: ids.map((id) => send(id)), ...attempt })
export const getSend = (id: string, attempt: Attempt) =>
  call("sends.get", "GET", `/sends/${id}`, null, { data: send(id), ...attempt })
export const say = (id: string, attempt: Attempt) =>
  call("sends.send", "POST", `/conversations/${ids.conversation}/messages`, { type: "text", text: id }, {
    status: 202,
    data: { ...send(id), status: "queued", message_id: null },
    key: `send-${id}`,
    ...attempt
  })
export const revoke = (attempt: Attempt) =>
  call("api_keys.revoke", "COMMAND", "", { id: "key" }, { data: null, ...attempt })

const nothing: FinalState = {
  contacts: [],
  tags: [],
  conversations: [],
  messages: {},
  sends: [],
  uncertain_sends: [],
  events: [],
  webhooks: [],
  deliveries: {},
  audit: []
}

export const history = (
  made: ReadonlyArray<Made>,
  final: Partial<FinalState>,
  faults: ReadonlyArray<Fault> = [],
  accepted: History["accepted"] = []
): History => ({
  seed: 0,
  organizations: [{ id: "acme", final: { ...nothing, ...final } }],
  calls: made.map((one, index) => one(index)),
  accepted,
  inbound: [],
  received: [],
  faults,
  unfinished: []
})
