/** The rules of contract §14.18 for replays: the stored events since a time are posted again. */
import type { Violation } from "../../History.ts"
import { isSuccess, textOf } from "../../Responses.ts"
import type { Evidence } from "../Evidence.ts"
import { type Request, spanOf } from "../Requests.ts"
import { type IsSubscribed, subscriptions } from "./Subscriptions.ts"

interface Replay {
  readonly request: Request
  readonly organization: number
  readonly webhook_id: string
  readonly since: string
  readonly created_at: string
  readonly started_at: number
  /** The time of the next replay of the webhook, which is rejected until this one has ended. */
  readonly until: number
}

const replaysOf = ({ requests }: Evidence): ReadonlyArray<Replay> => {
  const accepted = requests.flatMap((request) => {
    const { call: { operation, organization }, outcomes: [first] } = request
    const span = spanOf(request)
    if (operation !== "webhooks.replay" || first === undefined || span === null || !isSuccess(first.response)) return []
    const field = (name: string) => textOf(first.response.body, "data", name) ?? ""
    return {
      request,
      organization,
      webhook_id: field("webhook_id"),
      since: field("since"),
      created_at: field("created_at"),
      started_at: span.started_at,
      ended_at: first.ended_at
    }
  })
  return accepted.map((replay) => ({
    ...replay,
    until: accepted.reduce(
      (until, { ended_at, started_at, webhook_id }) =>
        webhook_id === replay.webhook_id && started_at > replay.ended_at ? Math.min(until, ended_at) : until,
      Infinity
    )
  }))
}

/**
 * Each replay posts the events that were stored at the time of its request, among them those that an endpoint had received.
 * The replay ends if the webhook is disabled.
 */
const checkReplay = ({ history }: Evidence, isSubscribed: IsSubscribed, replay: Replay): ReadonlyArray<Violation> => {
  const { created_at, organization, request: { outcomes }, since, started_at, until, webhook_id } = replay
  const { organizations, received } = history
  const final = organizations[organization]?.final
  const webhook = final?.webhooks.find(({ id }) => id === webhook_id)
  if (final === undefined || webhook === undefined) return []
  const isExpected = isSubscribed(webhook_id, started_at, until)
  const endpoint = new URL(String(webhook["url"])).pathname
  const idsOf = (isIncluded: (one: (typeof received)[number]) => boolean) =>
    new Set(received.filter(isIncluded).map(({ event_id }) => event_id))
  const stored = idsOf(({ at }) => at < started_at)
  const posted = idsOf(({ at, endpoint: to, status }) =>
    to === endpoint && at >= started_at && at < until && status >= 200 && status < 300
  )
  const missing = final.events.filter(({ id, timestamp, type }) =>
    isExpected(type) && stored.has(String(id)) && !posted.has(String(id)) &&
    String(timestamp) >= since && String(timestamp) < created_at
  )
  return missing.slice(0, 1).map((event) => ({
    rule: "A replay posts each stored event since a time again (contract §14.18).",
    detail: `${missing.length} events, such as ${JSON.stringify(event)}, were not posted to ${endpoint} again`,
    calls: outcomes.slice(0, 1).map(({ index }) => index)
  }))
}

export const check = (evidence: Evidence): ReadonlyArray<Violation> => {
  const isSubscribed = subscriptions(evidence)
  return replaysOf(evidence).flatMap((replay) => checkReplay(evidence, isSubscribed, replay))
}
