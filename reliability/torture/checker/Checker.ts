/** Compares a history with the contract, and returns every violation. */
import type { Check, Violation } from "../History.ts"
import { type Evidence, gather } from "./Evidence.ts"
import { objectsOf, type ObjectTrace } from "./objects/Objects.ts"
import { shrink } from "./objects/Shrink.ts"
import { tagsOf } from "./objects/Tags.ts"
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

const checkObject = <Action>({ id, name, search, steps, viewOf }: ObjectTrace<Action>): ReadonlyArray<Violation> => {
  const result = search(steps)
  if (result === "linearizable") return []
  const least = (result === "undecided" ? [] : shrink(steps, search)).map(({ action }) => viewOf(action))
  const last = least.filter(({ call }) => call === null).map(({ shown }) => JSON.stringify(shown))
  const detail = `${id}: no order explains these ${least.length} of ${steps.length} calls`
  return [{
    rule: result === "undecided"
      ? `The checker can decide about the calls on a ${name}.`
      : `Calls on a ${name} take effect one after another, each between its start and its response.`,
    detail: [detail, ...last].join("; at the end "),
    calls: least.flatMap(({ call }) => call ?? []).toSorted((a, b) => a - b)
  }]
}

/** The calls on each object are linearizable. */
const checkOrders = (evidence: Evidence): ReadonlyArray<Violation> => [
  ...objectsOf(evidence).flatMap(checkObject),
  ...tagsOf(evidence).flatMap(checkObject)
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
