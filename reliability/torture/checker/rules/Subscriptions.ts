/** The types to which a webhook was certainly subscribed, in every possible order of concurrent calls. */
import { fieldOf, isSuccess, textOf } from "../../Responses.ts"
import type { Evidence } from "../Evidence.ts"
import { type Request, spanOf } from "../Requests.ts"

/** Returns whether the webhook was active and subscribed to the type for the whole time. */
export type IsSubscribed = (webhook_id: string, from: number, until: number) => (type: unknown) => boolean

interface Write {
  readonly started_at: number
  readonly ended_at: number
  /** Null if the write disables the webhook. */
  readonly types: ReadonlyArray<unknown> | null
}

/** Returns the ID of the webhook that a request is about; empty if it creates one and its response is unknown. */
export const webhookOf = ({ call: { operation, request: { path } }, outcomes: [first] }: Request): string =>
  (operation === "webhooks.create" ? textOf(first?.response.body, "data", "id") : path.split("/")[2]) ?? ""

const writeOf = (request: Request): Write | null => {
  const { call: { operation, request: { body } }, outcomes: [first] } = request
  const span = spanOf(request)
  if (span === null || (first !== undefined && !isSuccess(first.response))) return null
  const [started_at, ended_at] = [span.started_at, span.ended_at ?? Infinity]
  if (operation === "webhooks.disable") return { started_at, ended_at, types: null }
  const types = fieldOf(body, "event_types")
  const isWrite = operation === "webhooks.create" || operation === "webhooks.update"
  return isWrite && Array.isArray(types) ? { started_at, ended_at, types } : null
}

export const subscriptions = ({ history: { organizations }, requests }: Evidence): IsSubscribed => {
  const writes = new Map<string, Array<Write>>()
  for (const request of requests) {
    const write = writeOf(request)
    const id = webhookOf(request)
    if (write !== null) writes.set(id, [...writes.get(id) ?? [], write])
  }
  for (const { id, status } of organizations.flatMap(({ final }) => final.webhooks)) {
    const known = writes.get(String(id)) ?? []
    const changes = known.filter(({ types }) => types !== null)
    // A disabled webhook is never active again, so no attempt to disable an active webhook took effect.
    if (status === "active") writes.set(String(id), changes)
    // The service can also disable a webhook, at a time that no response shows.
    else if (changes.length === known.length) writes.delete(String(id))
  }
  return (webhook_id, from, until) => {
    const all = writes.get(webhook_id) ?? []
    const possible = all.filter((write) =>
      write.started_at < until &&
      // An update of a disabled webhook succeeds, and leaves it disabled.
      (write.types === null || !all.some(({ ended_at, started_at }) => started_at > write.ended_at && ended_at < from))
    )
    // A webhook whose creation got no response had other types, until an update.
    const isKnown = possible.some(({ ended_at }) => ended_at < from)
    return (type) => isKnown && possible.every(({ types }) => types?.includes(type) === true)
  }
}
