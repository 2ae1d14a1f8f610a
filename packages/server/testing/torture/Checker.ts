/** Judges a history: returns every guarantee of the contract that it breaks. */
import * as AnswerRules from "./AnswerRules.ts"
import * as AuditRules from "./AuditRules.ts"
import * as EventRules from "./EventRules.ts"
import { type Evidence, gather } from "./Evidence.ts"
import type { Check, Violation } from "./History.ts"
import * as IdempotencyRules from "./IdempotencyRules.ts"
import * as IdentityRules from "./IdentityRules.ts"
import type { Verdict } from "./Linearizability.ts"
import * as ListRules from "./ListRules.ts"
import * as MessageRules from "./MessageRules.ts"
import { objectsOf, type SearchedObject } from "./Objects.ts"
import * as ProgressRules from "./ProgressRules.ts"
import * as ReplayRules from "./ReplayRules.ts"
import * as SendRules from "./SendRules.ts"
import { shrink } from "./Shrink.ts"
import { type SearchedTags, tagsOf } from "./Tags.ts"

/** How a kind of object is named in a violation. */
const names = {
  contacts: "contact (contract §8)",
  conversations: "conversation (contract §10)",
  webhooks: "webhook (contract §14)"
} as const

const contradiction = (verdict: Verdict, of: string, detail: string, calls: ReadonlyArray<number>): Violation => ({
  rule: verdict === "undecided"
    ? `The checker can decide about the calls on a ${of}.`
    : `Calls on a ${of} take effect one after another, each between its start and its answer.`,
  detail,
  calls: calls.toSorted((a, b) => a - b)
})

const judgeObject = ({ id, judge, kind, steps }: SearchedObject): ReadonlyArray<Violation> => {
  const verdict = judge(steps)
  if (verdict === "linearizable") return []
  const least = verdict === "undecided" ? [] : shrink(steps, judge)
  const last = least.filter(({ action: { action: { call } } }) => call === null)
    .map(({ action: { action: { outcome } } }) => JSON.stringify(outcome?.resource))
  const detail = [`${id}: no order explains these ${least.length} of ${steps.length} calls`, ...last].join(
    "; at the end "
  )
  return [contradiction(verdict, names[kind], detail, least.flatMap(({ action: { action: { call } } }) => call ?? []))]
}

const judgeTags = ({ judge, steps }: SearchedTags): ReadonlyArray<Violation> => {
  const verdict = judge(steps)
  if (verdict === "linearizable") return []
  const least = verdict === "undecided" ? [] : shrink(steps, judge)
  const detail = `no order explains these ${least.length} of ${steps.length} calls`
  return [
    contradiction(verdict, "set of tags (contract §9.3)", detail, least.flatMap(({ action: { call } }) => call ?? []))
  ]
}

/** Whether single objects behave as if their calls came one after another. */
const judgeOrders = (evidence: Evidence): ReadonlyArray<Violation> => [
  ...objectsOf(evidence).flatMap(judgeObject),
  ...tagsOf(evidence).flatMap(judgeTags)
]

const checks: ReadonlyArray<(evidence: Evidence) => ReadonlyArray<Violation>> = [
  AnswerRules.check,
  AuditRules.check,
  EventRules.check,
  IdempotencyRules.check,
  IdentityRules.check,
  ListRules.check,
  MessageRules.check,
  ProgressRules.check,
  ReplayRules.check,
  SendRules.check,
  judgeOrders
]

export const check: Check = (history) => {
  const evidence = gather(history)
  return checks.flatMap((one) => one(evidence))
}
