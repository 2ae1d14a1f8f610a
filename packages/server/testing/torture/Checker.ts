/** Compares a history with the contract, and returns every violation. */
import * as AuditRules from "./AuditRules.ts"
import * as DeliveryRules from "./DeliveryRules.ts"
import * as EventRules from "./EventRules.ts"
import { type Evidence, gather } from "./Evidence.ts"
import type { Check, Violation } from "./History.ts"
import * as IdempotencyRules from "./IdempotencyRules.ts"
import * as IdentityRules from "./IdentityRules.ts"
import type { SearchResult } from "./Linearizability.ts"
import * as ListRules from "./ListRules.ts"
import * as MessageRules from "./MessageRules.ts"
import { type ObjectHistory, objectsOf } from "./Objects.ts"
import * as ProgressRules from "./ProgressRules.ts"
import * as ReplayRules from "./ReplayRules.ts"
import * as ResponseRules from "./ResponseRules.ts"
import * as SendRules from "./SendRules.ts"
import { shrink } from "./Shrink.ts"
import { type TagHistory, tagsOf } from "./Tags.ts"

/** The name of each kind of object in a violation. */
const names = {
  contacts: "contact (contract §8)",
  conversations: "conversation (contract §10)",
  webhooks: "webhook (contract §14)"
} as const

const contradiction = (result: SearchResult, of: string, detail: string, calls: ReadonlyArray<number>): Violation => ({
  rule: result === "undecided"
    ? `The checker can decide about the calls on a ${of}.`
    : `Calls on a ${of} take effect one after another, each between its start and its response.`,
  detail,
  calls: calls.toSorted((a, b) => a - b)
})

const checkObject = ({ id, search, kind, steps }: ObjectHistory): ReadonlyArray<Violation> => {
  const result = search(steps)
  if (result === "linearizable") return []
  const least = result === "undecided" ? [] : shrink(steps, search)
  const last = least.filter(({ action: { action: { call } } }) => call === null)
    .map(({ action: { action: { outcome } } }) => JSON.stringify(outcome?.resource))
  const detail = [`${id}: no order explains these ${least.length} of ${steps.length} calls`, ...last].join(
    "; at the end "
  )
  return [contradiction(result, names[kind], detail, least.flatMap(({ action: { action: { call } } }) => call ?? []))]
}

const checkTags = ({ search, steps }: TagHistory): ReadonlyArray<Violation> => {
  const result = search(steps)
  if (result === "linearizable") return []
  const least = result === "undecided" ? [] : shrink(steps, search)
  const detail = `no order explains these ${least.length} of ${steps.length} calls`
  return [
    contradiction(result, "set of tags (contract §9.3)", detail, least.flatMap(({ action: { call } }) => call ?? []))
  ]
}

/** The calls on each object are linearizable. */
const checkOrders = (evidence: Evidence): ReadonlyArray<Violation> => [
  ...objectsOf(evidence).flatMap(checkObject),
  ...tagsOf(evidence).flatMap(checkTags)
]

const checks: ReadonlyArray<(evidence: Evidence) => ReadonlyArray<Violation>> = [
  ResponseRules.check,
  AuditRules.check,
  DeliveryRules.check,
  EventRules.check,
  IdempotencyRules.check,
  IdentityRules.check,
  ListRules.check,
  MessageRules.check,
  ProgressRules.check,
  ReplayRules.check,
  SendRules.check,
  checkOrders
]

export const check: Check = (history) => {
  const evidence = gather(history)
  return checks.flatMap((one) => one(evidence))
}
