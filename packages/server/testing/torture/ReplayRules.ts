/** The rules of contract §14.18 for replays: the stored events since a time are posted again. */
import type { Evidence } from "./Evidence.ts"
import type { Violation } from "./History.ts"
import { isSuccess, type Request, spanOf, textOf } from "./Requests.ts"

/** Returns whether a webhook may have got other types after a time, so that nobody knows which ones a replay posted. */
const hasChangedSince = ({ requests }: Evidence, webhook_id: string, time: number): boolean =>
  requests.some(({ attempts, call: { operation, request: { path } }, outcomes }) =>
    operation === "webhooks.update" && attempts.length > 0 && path.includes(webhook_id) &&
    (outcomes[0]?.ended_at ?? Infinity) > time
  )

/**
 * Each replay posts the events that were stored when it was requested. Those that an endpoint had received by then were
 * stored for sure. A webhook that is disabled ends its replay.
 */
const aboutReplay = (evidence: Evidence, request: Request): ReadonlyArray<Violation> => {
  const { call: { organization }, outcomes: [first] } = request
  const span = spanOf(request)
  if (first === undefined || span === null || !isSuccess(first.answer)) return []
  const [created_at = "", since = "", webhook_id = ""] = ["created_at", "since", "webhook_id"].map((name) =>
    textOf(first.answer.body, "data", name) ?? ""
  )
  const { history: { organizations, received } } = evidence
  const final = organizations[organization]?.final
  const webhook = final?.webhooks.find(({ id }) => id === webhook_id)
  if (final === undefined || webhook?.["status"] !== "active") return []
  if (hasChangedSince(evidence, webhook_id, span.started_at)) return []
  const types = Array.isArray(webhook["event_types"]) ? webhook["event_types"] : []
  const endpoint = new URL(String(webhook["url"])).pathname
  const stored = new Set(received.filter(({ at }) => at < span.started_at).map(({ event_id }) => event_id))
  const posted = new Set(
    received.filter((one) =>
      one.endpoint === endpoint && one.at >= span.started_at && one.status >= 200 && one.status < 300
    ).map(({ event_id }) => event_id)
  )
  const missing = final.events.filter(({ id, timestamp, type }) =>
    types.includes(type) && stored.has(String(id)) && !posted.has(String(id)) &&
    String(timestamp) >= since && String(timestamp) < created_at
  )
  return missing.slice(0, 1).map((event) => ({
    rule: "A replay posts each stored event since a time again (contract §14.18).",
    detail: `${missing.length} events, the last of them ${JSON.stringify(event)}, were not posted to ${endpoint} again`,
    calls: [first.index]
  }))
}

export const check = (evidence: Evidence): ReadonlyArray<Violation> =>
  evidence.requests.filter(({ call }) => call.operation === "webhooks.replay").flatMap((request) =>
    aboutReplay(evidence, request)
  )
