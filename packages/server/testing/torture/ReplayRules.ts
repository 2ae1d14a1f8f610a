/** The rules of contract §14.18 for replays: the stored events since a time are posted again. */
import type { Evidence } from "./Evidence.ts"
import type { Violation } from "./History.ts"
import { fieldOf, isSuccess, type Request, spanOf, textOf } from "./Requests.ts"

interface Replay {
  readonly request: Request
  readonly organization: number
  readonly webhook_id: string
  readonly since: string
  readonly created_at: string
  readonly started_at: number
  /** When its webhook got another replay, which is refused until this one has ended. */
  readonly until: number
}

const replaysOf = ({ requests }: Evidence): ReadonlyArray<Replay> => {
  const accepted = requests.flatMap((request) => {
    const { call: { operation, organization }, outcomes: [first] } = request
    const span = spanOf(request)
    if (operation !== "webhooks.replay" || first === undefined || span === null || !isSuccess(first.answer)) return []
    const field = (name: string) => textOf(first.answer.body, "data", name) ?? ""
    return {
      request,
      organization,
      webhook_id: field("webhook_id"),
      since: field("since"),
      created_at: field("created_at"),
      started_at: span.started_at,
      ended_at: first.ended_at
    }
  }).toSorted((a, b) => a.created_at < b.created_at ? -1 : 1)
  return accepted.map((replay, index) => ({
    ...replay,
    until: accepted.slice(index + 1).find(({ webhook_id }) => webhook_id === replay.webhook_id)?.ended_at ?? Infinity
  }))
}

/** Returns whether the webhook had a type during the whole replay, whatever the order of concurrent updates was. */
const subscribed = ({ requests }: Evidence, { started_at, until, webhook_id }: Replay) => {
  const writes = requests.flatMap((request) => {
    const { call: { operation, request: { body, path } }, outcomes: [first] } = request
    const span = spanOf(request)
    const types = fieldOf(body, "event_types")
    const isWrite = operation === "webhooks.create"
      ? textOf(first?.answer.body, "data", "id") === webhook_id
      : operation === "webhooks.update" && path.includes(webhook_id)
    return isWrite && span !== null && Array.isArray(types) && (first === undefined || isSuccess(first.answer))
      ? { from: span.started_at, to: span.ended_at ?? Infinity, types }
      : []
  })
  const possible = writes.filter((write) =>
    write.from < until && !writes.some(({ from, to }) => from > write.to && to < started_at)
  )
  // A webhook whose creation was not answered had other types, until an update.
  const isKnown = possible.some(({ to }) => to < started_at)
  return (type: unknown): boolean => isKnown && possible.every(({ types }) => types.includes(type))
}

/**
 * Each replay posts the events that were stored when it was requested. Those that an endpoint had received by then were
 * stored for sure. A webhook that is disabled ends its replay.
 */
const aboutReplay = (evidence: Evidence, replay: Replay): ReadonlyArray<Violation> => {
  const { created_at, organization, request: { outcomes }, since, started_at, until, webhook_id } = replay
  const { history: { organizations, received } } = evidence
  const final = organizations[organization]?.final
  const webhook = final?.webhooks.find(({ id }) => id === webhook_id)
  if (final === undefined || webhook?.["status"] !== "active") return []
  const isSubscribed = subscribed(evidence, replay)
  const endpoint = new URL(String(webhook["url"])).pathname
  const idsOf = (isWanted: (one: (typeof received)[number]) => boolean) =>
    new Set(received.filter(isWanted).map(({ event_id }) => event_id))
  const stored = idsOf(({ at }) => at < started_at)
  const posted = idsOf(({ at, endpoint: to, status }) =>
    to === endpoint && at >= started_at && at < until && status >= 200 && status < 300
  )
  const missing = final.events.filter(({ id, timestamp, type }) =>
    isSubscribed(type) && stored.has(String(id)) && !posted.has(String(id)) &&
    String(timestamp) >= since && String(timestamp) < created_at
  )
  return missing.slice(0, 1).map((event) => ({
    rule: "A replay posts each stored event since a time again (contract §14.18).",
    detail: `${missing.length} events, such as ${JSON.stringify(event)}, were not posted to ${endpoint} again`,
    calls: outcomes.slice(0, 1).map(({ index }) => index)
  }))
}

export const check = (evidence: Evidence): ReadonlyArray<Violation> =>
  replaysOf(evidence).flatMap((replay) => aboutReplay(evidence, replay))
