/** Compares a history with the contract, and returns every violation. */
import type { Check, Violation } from "../History.ts"
import { type Evidence, gather } from "./Evidence.ts"
import type { SearchResult } from "./objects/Linearizability.ts"
import { type ObjectHistory, objectsOf } from "./objects/Objects.ts"
import { shrink } from "./objects/Shrink.ts"
import { type TagHistory, tagsOf } from "./objects/Tags.ts"
import * as Audit from "./rules/Audit.ts"
import * as Deliveries from "./rules/Deliveries.ts"
import * as Events from "./rules/Events.ts"
import * as Idempotency from "./rules/Idempotency.ts"
import * as Identities from "./rules/Identities.ts"
import * as Lists from "./rules/Lists.ts"
import * as Messages from "./rules/Messages.ts"
import * as Progress from "./rules/Progress.ts"
import * as Replays from "./rules/Replays.ts"
import * as Responses from "./rules/Responses.ts"
import * as Sends from "./rules/Sends.ts"

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
  Responses.check,
  Audit.check,
  Deliveries.check,
  Events.check,
  Idempotency.check,
  Identities.check,
  Lists.check,
  Messages.check,
  Progress.check,
  Replays.check,
  Sends.check,
  checkOrders
]

export const check: Check = (history) => {
  const evidence = gather(history)
  return checks.flatMap((one) => one(evidence))
}
