/** Calls of handwritten histories. Each has its usual response unless the attempt contains another one. */
import type { Call, RecordedResponse, Resource } from "../../torture/History.ts"
import { contact, ids, later, noon, open, send, type UnnumberedCall, webhook } from "./HandwrittenHistories.ts"

/** The times of a call, and its response where it differs from the usual one. */
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

const responseOf = (attempt: Attempt): RecordedResponse => {
  const { data, error, remaining, replays, retry_after_seconds = null, status = 200 } = attempt
  const success = Array.isArray(data) ? { data, next_cursor: null } : { data }
  const body = error === undefined ? success : { error: { param: null, ...error } }
  return {
    status,
    body,
    text: JSON.stringify(body),
    is_replay: replays !== undefined,
    original_request_id: replays === undefined ? null : `r-${replays}`,
    retry_after_seconds,
    rate: remaining === undefined ? null : { remaining, reset_seconds: 60 }
  }
}

const call = (
  operation: Call["operation"],
  method: Call["request"]["method"],
  path: string,
  body: unknown,
  attempt: Attempt
): UnnumberedCall =>
(index) => ({
  client: index,
  index,
  organization: 0,
  operation,
  request: {
    method,
    path,
    body,
    idempotency_key: attempt.key ?? null,
    request_id: `r-${index}`,
    key_id: method === "COMMAND" ? null : attempt.key_id ?? "key"
  },
  started_at: attempt.from,
  ended_at: attempt.to,
  response: attempt.to === null ? null : responseOf(attempt)
})

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
