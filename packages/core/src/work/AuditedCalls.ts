/** Audited calls: the audit record and the recorded response that are committed with the changes of an actor's call. */
import { Effect } from "effect"
import type { Actor } from "../kernel/Actor.ts"
import { type AuditedOperation, rulesOf } from "../kernel/Operations.ts"
import * as Audit from "./Audit.ts"
import * as Changes from "./Changes.ts"
import * as RecordedResponses from "./RecordedResponses.ts"

/** A call of an audited operation. */
export interface Call {
  readonly name: AuditedOperation
  readonly actor: Actor
  readonly request_id: string | null
}

/** A result that names its resource. */
export interface Resource {
  readonly id: string
}

/** The records that are committed with the changes of a decision, and the value to return once they are committed. */
interface Recorded<Returned> {
  readonly returned: Returned
  readonly records: Pick<Changes.Changes, "audit" | "response">
}

/** Makes the records of a decision. It runs in each attempt. */
export type MakeRecords<A, Returned> = (
  decision: Changes.Decision<A>,
  context: Changes.DecisionContext
) => Effect.Effect<Recorded<Returned>>

/** Returns whether the actor is an operator, who has access to the database anyway. */
const isOperator = ({ key_id, scopes }: Actor): boolean => key_id === undefined && scopes === undefined

/** Returns the audit record of a call. A call that changes nothing has none if it is an operator's, or shows no resource. */
const auditOf = (
  { actor, name, request_id }: Call,
  { changes, result }: Changes.Decision<Resource>,
  context: Changes.DecisionContext
): Recorded<unknown>["records"] =>
  Changes.isWithoutEffect(changes) && (isOperator(actor) || rulesOf(name).audited === "changes")
    ? Changes.none
    : { audit: Audit.make(name, result.id, actor, request_id, context) }

/** Returns the result of a call itself, and commits the audit record. */
export const returnResult = <A extends Resource>(call: Call): MakeRecords<A, A> => (decision, context) =>
  Effect.succeed({ returned: decision.result, records: auditOf(call, decision, context) })

/** Makes the function that returns the response to a call, and commits the audit record and the response. */
export const makeReturnResponse = Effect.map(RecordedResponses.make, (responses) => {
  // Declared once, not for each call (docs/performance.md, Constructs of core).
  const respondAndRecord = Effect.fnUntraced(function*<A extends Resource, Out>(
    call: Call,
    { encode, record }: RecordedResponses.Respond<A, Out>,
    decision: Changes.Decision<A>,
    context: Changes.DecisionContext
  ) {
    const returned = yield* encode(decision.result)
    const audit = auditOf(call, decision, context)
    if (record === null) return { returned, records: audit }
    const response = yield* responses.toRecord(call.actor.organization_id, record, returned, {
      is_secret: rulesOf(call.name).is_secret,
      created_at: context.now
    })
    return { returned, records: { ...audit, response } }
  })

  return <A extends Resource, Out>(call: Call, respond: RecordedResponses.Respond<A, Out>): MakeRecords<A, Out> =>
  (decision, context) => respondAndRecord(call, respond, decision, context)
})
