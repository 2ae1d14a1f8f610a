/** Behaviors set by a test or an operator, which override those of the numbers. */
import type { SendId } from "@messaging-crm/core/Ids"
import type { OutboundMessage } from "@messaging-crm/core/MessagingProvider"
import { HashMap, Option } from "effect"
import { type Behavior, behaviorOf } from "./Behaviors.ts"

/** The target of a behavior: one message, one recipient, or the next calls for any recipient. */
export type Target =
  | { readonly reference: SendId }
  | { readonly recipient: string }
  | { readonly next_calls: number }

export interface Scripts {
  /** One for each of the next calls. */
  readonly next: ReadonlyArray<Behavior>
  readonly by_reference: HashMap.HashMap<string, Behavior>
  readonly by_recipient: HashMap.HashMap<string, Behavior>
}

export const none: Scripts = { next: [], by_reference: HashMap.empty(), by_recipient: HashMap.empty() }

/** Adds a behavior. */
export const set = (scripts: Scripts, target: Target, behavior: Behavior): Scripts => {
  if ("reference" in target) {
    return { ...scripts, by_reference: HashMap.set(scripts.by_reference, target.reference, behavior) }
  }
  if ("recipient" in target) {
    return { ...scripts, by_recipient: HashMap.set(scripts.by_recipient, target.recipient, behavior) }
  }
  return { ...scripts, next: [...scripts.next, ...Array.from({ length: target.next_calls }, () => behavior)] }
}

/** Returns the behavior for a message and the remaining scripts. Priority: next calls, reference, recipient, the number's own. */
export const choose = (scripts: Scripts, { recipient, reference }: OutboundMessage): readonly [Behavior, Scripts] => {
  const [next, ...rest] = scripts.next
  if (next !== undefined) return [next, { ...scripts, next: rest }]
  const behavior = HashMap.get(scripts.by_reference, reference).pipe(
    Option.orElse(() => HashMap.get(scripts.by_recipient, recipient)),
    Option.getOrElse(() => behaviorOf(recipient))
  )
  return [behavior, scripts]
}
