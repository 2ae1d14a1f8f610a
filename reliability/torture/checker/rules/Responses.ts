/** Rules for single responses: no failure without a fault, and no object beyond a limit (contract §3.4, §17). */
import { limits } from "@messaging-crm/core/Limits"
import type { Fault, FaultKind, History, Violation } from "../../History.ts"
import { codeOf, listOf, textOf } from "../../Responses.ts"
import type { Evidence, Observation } from "../Evidence.ts"
import { type CompletedCall, isCompleted } from "../Requests.ts"

/** Faults that can make a request fail: those of the database and its connections. Others can only lose the response. */
const failureFaults = new Set<FaultKind>([
  "postgres_restart",
  "failover",
  "database_cut",
  "database_delay",
  "disk_full",
  "read_only"
])

/** The time after such a fault in which requests can still fail, until connections are replaced. */
const recovery_millis = 2000

/**
 * The same while a process of the previous version runs: for a cell that it could not reach when it started, it returns 500 until
 * one of its tries, each second, has succeeded. This version returns 503.
 */
const previous_recovery_millis = 6000

const isDuringFault = ({ faults }: History, { ended_at, started_at }: CompletedCall): boolean => {
  const overlaps = ({ from, to }: Fault, more = 0) => from <= ended_at && to + more >= started_at
  const isPrevious = faults.some((fault) => fault.kind === "older_version" && overlaps(fault))
  const recovery = isPrevious ? previous_recovery_millis : recovery_millis
  return faults.some((fault) => failureFaults.has(fault.kind) && overlaps(fault, recovery))
}

const checkFailures = ({ history }: Evidence): ReadonlyArray<Violation> =>
  history.calls.filter(isCompleted).flatMap((call): ReadonlyArray<Violation> => {
    const { response, index, operation } = call
    if (response.status < 500) return []
    const detail = `${operation} returned ${response.status}: ${response.text}`
    const hasRetryAfter = response.retry_after_seconds !== null
    return [
      (response.status !== 503 && response.status !== 507) || hasRetryAfter ? [] : {
        rule: "A 503 has Retry-After (contract §3.2).",
        detail,
        calls: [index]
      },
      response.status === 503 || isDuringFault(history, call) ? [] : {
        rule: "No request fails without a fault (contract §3.4).",
        detail,
        calls: [index]
      }
    ].flat()
  })

/** A key is valid until it is revoked, and invalid from then on. */
const checkKeys = ({ history: { calls } }: Evidence): ReadonlyArray<Violation> => {
  const revocations = Map.groupBy(
    calls.filter(({ operation }) => operation === "api_keys.revoke"),
    ({ request: { body } }) => textOf(body, "id")
  )
  const uses = Map.groupBy(calls.filter(isCompleted), ({ request: { key_id } }) => key_id)
  return Array.from(uses, ([key_id, used]): ReadonlyArray<Violation> => {
    if (key_id === null) return []
    const revoked = revocations.get(key_id) ?? []
    const isRejected = ({ response: { status } }: CompletedCall) => status === 401
    const revoking_at = Math.min(...revoked.map(({ started_at }) => started_at))
    const revoked_at = Math.min(
      ...revoked.map(({ ended_at }) => ended_at ?? Infinity),
      ...used.filter(isRejected).map(({ ended_at }) => ended_at)
    )
    const early = used.find((call) => isRejected(call) && call.ended_at < revoking_at)
    // Without the database, no key can be looked up.
    const late = used.find((call) => !isRejected(call) && call.response.status < 500 && call.started_at > revoked_at)
    return [
      early === undefined ? [] : {
        rule: "A key is valid until it is revoked (contract §4.2).",
        detail: `${early.operation} got ${codeOf(early.response)}`,
        calls: [early.index]
      },
      late === undefined ? [] : {
        rule: "A revoked key is rejected from the next request on (contract §4.2).",
        detail: `${late.operation} got ${late.response.status}`,
        calls: [...revoked.slice(0, 1).map(({ index }) => index), late.index]
      }
    ].flat()
  }).flat()
}

/** Faults after which rate windows start over, or each process counts separately (contract §4.4). */
const rateFaults = new Set<FaultKind>(["postgres_restart", "failover", "disk_full", "read_only"])

/** No two requests of a window have the same number of remaining requests. */
const checkRate = ({ history: { calls, faults } }: Evidence): ReadonlyArray<Violation> => {
  if (faults.some(({ kind }) => rateFaults.has(kind))) return []
  const windows = Map.groupBy(
    calls.filter(isCompleted).filter(({ response }) => (response.rate?.remaining ?? 0) > 0),
    ({ response, request }) => `${request.key_id} ${response.rate?.reset_seconds}`
  )
  return Array.from(windows.values(), (same) => {
    const byRemaining = Map.groupBy(same, ({ response }) => response.rate?.remaining)
    const repeated = Array.from(byRemaining.values()).find(({ length }) => length > 1)
    return repeated === undefined ? [] : {
      rule: "Each request counts (contract §4.4).",
      detail: `${repeated.length} requests left ${repeated[0]?.response.rate?.remaining}`,
      calls: repeated.map(({ index }) => index)
    }
  }).flat()
}

const exceedsLimit = ({ resource }: Observation): boolean =>
  listOf(resource, "tags").length > limits.tag_ids_max ||
  Array.from(textOf(resource, "notes") ?? "").length > limits.notes_chars_max

const checkLimits = ({ history: { calls, organizations }, observations }: Evidence): ReadonlyArray<Violation> => {
  const exceeding = observations.contacts.find(exceedsLimit)
  const webhookLists = calls.filter(isCompleted).filter(({ response, operation }) =>
    operation === "webhooks.list" &&
    listOf(response.body, "data").filter(({ status }) => status === "active").length > limits.webhooks_active_max
  )
  const rule = "No limit is exceeded (contract §17)."
  return [
    exceeding === undefined ? [] : {
      rule,
      detail: `the contact ${exceeding.resource["id"]} has ${listOf(exceeding.resource, "tags").length} tags`,
      calls: exceeding.call === null ? [] : [exceeding.call]
    },
    webhookLists.slice(0, 1).map(({ index }) => ({ rule, detail: "active webhooks", calls: [index] })),
    organizations.flatMap(({ final: { tags, webhooks } }) =>
      tags.length > limits.tags_max ||
        webhooks.filter(({ status }) => status === "active").length > limits.webhooks_active_max
        ? { rule, detail: `${tags.length} tags, ${webhooks.length} webhooks`, calls: [] }
        : []
    )
  ].flat()
}

const checkUnfinishedWork = ({ history: { unfinished } }: Evidence): ReadonlyArray<Violation> =>
  unfinished.length === 0 ? [] : [{
    rule: "All queued work ends once faults have ended (contract §12.4).",
    detail: unfinished.join(", "),
    calls: []
  }]

export const check = (evidence: Evidence): ReadonlyArray<Violation> => [
  ...checkFailures(evidence),
  ...checkKeys(evidence),
  ...checkRate(evidence),
  ...checkLimits(evidence),
  ...checkUnfinishedWork(evidence)
]
