/**
 * Load, decide, commit: how every operation writes.
 *
 * 1. `load` reads what the decision needs, without a transaction or locks.
 * 2. `decide` is a pure function of what was loaded, the time and new IDs. It
 *    returns the result and the changes, or a rejection.
 * 3. `Commit` applies the changes atomically if no row that they depend on has
 *    changed. Otherwise it fails with `Conflict`, and all three steps run again.
 */
import { Context, DateTime, Effect, Layer, Metric, Result, Schema } from "effect"
import { type Actor, CurrentActor, RequestId } from "../kernel/Actor.ts"
import { type EventId, Ids, type OrganizationId } from "../kernel/Ids.ts"
import { conflicts } from "../kernel/Metrics.ts"
import { type AuditedOperation, rulesOf } from "../kernel/Operations.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import * as Audit from "./Audit.ts"
import * as Changes from "./Changes.ts"
import { Commit, type Conflict, type KeyUsed, LeaseLost, type Unconfirmed } from "./Commit.ts"
import * as ConflictRetries from "./ConflictRetries.ts"
import * as RecordedResponses from "./RecordedResponses.ts"
import type { Respond } from "./RecordedResponses.ts"
import { type ClaimedWork, type WorkKind, WorkSignal } from "./WorkQueue.ts"

export { ConflictBackoff } from "./ConflictRetries.ts"

/** The inputs that a pure decision cannot make itself: the time, and new IDs. */
export interface DecisionContext {
  readonly now: Timestamp
  readonly uuid: () => string
}

/** How an operation writes: its load and its decision. */
export interface LoadAndDecide<Loaded, A, Rejection, R> {
  /** Never fails: a row that does not exist is loaded as none, so that only `decide` determines which error is returned first. */
  readonly load: Effect.Effect<Loaded, never, R>
  readonly decide: (loaded: Loaded, context: DecisionContext) => Result.Result<Changes.Decision<A>, Rejection>
  /**
   * Returns the resource as it was loaded. Every operation that may change nothing has it: the response to such a call is
   * not stored, and its retry returns the resource.
   */
  readonly current?: (loaded: Loaded) => Result.Result<A, Rejection>
  /** Whether a call that changes nothing leaves no record at all, because its result shows no resource. */
  readonly is_quiet?: true
}

/** An operation of an actor that writes. */
export interface Write<Input extends ReadonlyArray<unknown>, Result, Rejection> {
  (...input: Input): Effect.Effect<Result, Rejection | ConcurrentChanges, CurrentActor>
  /** Returns the response to a request, which is committed under the request's idempotency key. */
  <Out>(
    ...input: readonly [...Input, respond: Respond<Result, Out> | undefined]
  ): Effect.Effect<Out, Rejection | ConcurrentChanges, CurrentActor>
}

// -------------------------------------------------------------- errors

/** Concurrent writes kept changing the rows that the operation depends on. Nothing was written; a retry can succeed. */
export class ConcurrentChanges extends Schema.TaggedError<ConcurrentChanges>()("ConcurrentChanges", {}) {}

// ----------------------------------------------------------- decisions

/** The records that are committed with a decision: the audit record, and the recorded response. */
type Records = Pick<Changes.Changes, "audit" | "response">

/** Makes the result of a run from a decision, and the records that are committed with it. */
type Complete<A, Out> = (
  decision: Changes.Decision<A>,
  context: DecisionContext
) => Effect.Effect<readonly [Out, Records]>

/** Returns the result itself and no records, for an operation that no actor requested. */
const unrecorded = <A>({ result }: Changes.Decision<A>) => Effect.succeed([result, Changes.none] as const)

/** A call of an audited operation. */
interface Call {
  readonly name: AuditedOperation
  readonly actor: Actor
  readonly request_id: string | null
  readonly is_quiet: true | undefined
}

/** Returns the audit record of a call. A call that changes nothing has none if it is quiet, or an operator's. */
const auditOf = <A extends { readonly id: string }>(
  { actor, is_quiet, name, request_id }: Call,
  { changes, result }: Changes.Decision<A>,
  context: DecisionContext
): Records =>
  // Audited even without changes, because the response shows the resource to a key that may lack the scope to read it.
  Changes.isWithoutEffect(changes) && (actor.key_id === undefined || is_quiet)
    ? Changes.none
    : { audit: Audit.make(name, result.id, actor, request_id, context) }

/** Returns the result of a call itself, and commits the audit record. */
const returnResult =
  (call: Call) => <A extends { readonly id: string }>(decision: Changes.Decision<A>, context: DecisionContext) =>
    Effect.succeed([decision.result, auditOf(call, decision, context)] as const)

type Failure = Conflict | KeyUsed | LeaseLost | Unconfirmed

/** One load, decision and commit. */
interface RunOutcome<Out> {
  readonly out: Out
  readonly changes: Changes.Changes
  /** The events that are stored with their resources. */
  readonly committed: Result.Result<ReadonlyArray<EventId>, Failure>
}

/** Returns the operation that returns the resource as it was loaded. */
const rereading = <Loaded, A, Rejection, R>(
  { current, load }: LoadAndDecide<Loaded, A, Rejection, R>
): LoadAndDecide<Loaded, A, Rejection, R> => ({
  load,
  decide: (loaded) => {
    if (current === undefined) throw new Error("An operation without `current` has a record without a response.")
    return Result.map(current(loaded), (result) => ({ result, changes: Changes.none }))
  }
})

/** Returns the kinds of work that the changes make available to workers. */
const kindsOf = ({ enqueue = [], raise = [], throttle = [] }: Changes.Changes): ReadonlySet<WorkKind> => {
  const kinds = new Set([...enqueue, ...throttle].map(({ kind }) => kind))
  return raise.length === 0 ? kinds : kinds.add("webhook_delivery")
}

// ---------------------------------------------------------- operations

/** Makes the function that loads, decides, and commits, and that repeats all three after a conflict. */
const makeRun = Effect.fnUntraced(function*(responses: RecordedResponses.RecordedResponses) {
  const { commit } = yield* Commit
  const ids = yield* Ids
  const { inTurn, pause } = yield* ConflictRetries.make
  const signal = yield* WorkSignal

  /** Loads, decides and commits once. */
  const attempt = Effect.fnUntraced(function*<Loaded, A, Rejection, R, Out>(
    organization_id: OrganizationId,
    load: Effect.Effect<Loaded, never, R>,
    decide: LoadAndDecide<Loaded, A, Rejection, R>["decide"],
    complete: Complete<A, Out>
  ) {
    const loaded = yield* load
    const context = { now: yield* DateTime.now, uuid: ids.next }
    const decision = yield* Effect.fromResult(decide(loaded, context))
    const { changes } = decision
    const [out, records] = yield* complete(decision, context)
    const whole = yield* responses.withinBudget(organization_id, { ...changes, ...records })
    if (Changes.isNone(whole)) return { out, changes, committed: Result.succeed([]) }
    const committed: Result.Result<ReadonlyArray<EventId>, Failure> = yield* Effect.result(
      Effect.uninterruptible(commit(organization_id, Changes.folded(whole)))
    )
    if (Result.isSuccess(committed)) yield* responses.count(organization_id, whole, committed.success)
    return { out, changes, committed }
  })

  /** Repeats an attempt after a failure of its commit. `unconfirmed` is an earlier commit that may be applied. */
  const retry = Effect.fnUntraced(function*<Rejection, R, Out>(
    again: Effect.Effect<RunOutcome<Out>, Rejection, R>,
    failure: Failure,
    tries: number,
    unconfirmed: Unconfirmed | null
  ): Effect.fn.Return<RunOutcome<Out>, Rejection | ConcurrentChanges | LeaseLost, R> {
    if (failure._tag === "LeaseLost") return yield* failure
    // Not an error of the operation: `Idempotency` replays the record of a used key.
    if (failure._tag === "KeyUsed") return yield* Effect.die(failure)
    const lost = failure._tag === "Unconfirmed" ? failure : unconfirmed
    if (tries === ConflictRetries.tries_max) {
      return yield* lost === null ? new ConcurrentChanges() : Effect.die(lost)
    }
    if (failure._tag === "Conflict") yield* Metric.update(conflicts, 1)
    yield* pause(tries)
    const next = yield* again
    return Result.isFailure(next.committed) ? yield* retry(again, next.committed.failure, tries + 1, lost) : next
  })

  return Effect.fnUntraced(function*<Loaded, A, Rejection, R, Out>(
    organization_id: OrganizationId,
    operation: LoadAndDecide<Loaded, A, Rejection, R>,
    complete: Complete<A, Out>,
    initial = operation.load
  ) {
    const first = yield* attempt(organization_id, initial, operation.decide, complete)
    const { changes, out } = Result.isFailure(first.committed)
      ? yield* inTurn(
        first.changes,
        retry(
          attempt(organization_id, operation.load, operation.decide, complete),
          first.committed.failure,
          1,
          null
        )
      )
      : first
    for (const kind of kindsOf(changes)) yield* signal.notify(kind)
    return out
  })
})

/** Makes the response to a call from its result, and the record of it under the call's idempotency key. */
const respondTo = Effect.fnUntraced(function*<A extends { readonly id: string }, Out>(
  responses: RecordedResponses.RecordedResponses,
  call: Call,
  hasCurrent: boolean,
  { encode, record }: Respond<A, Out>,
  decision: Changes.Decision<A>,
  context: DecisionContext
) {
  const response = yield* encode(decision.result)
  const audit = auditOf(call, decision, context)
  const isUnchanged = Changes.isWithoutEffect(decision.changes)
  if (record === null || record.is_retry || (call.is_quiet && isUnchanged)) return [response, audit] as const
  const stored = hasCurrent && isUnchanged ? null : response
  const recorded = yield* responses.make(call.actor.organization_id, record, stored, {
    is_secret: rulesOf(call.name).is_secret,
    created_at: context.now
  })
  return [response, { ...audit, response: recorded }] as const
})

/** The ways to write. One instance serves the whole process, because its operations share the semaphores for retries. */
export class Decide extends Context.Service<Decide, {
  /**
   * Runs one operation of the current actor, and returns its result once it is
   * committed. The commit includes an audit record about the resource with
   * the result's ID, unless an operator's command changes nothing. After `tries_max`
   * conflicts it fails with `ConcurrentChanges`.
   *
   * With `respond` it returns the response instead. The response is encoded once, and
   * committed under the request's idempotency key if it has one.
   */
  readonly runAudited: <Loaded, A extends { readonly id: string }, Rejection, R, Out = A>(
    name: AuditedOperation,
    operation: LoadAndDecide<Loaded, A, Rejection, R>,
    respond?: Respond<A, Out>
  ) => Effect.Effect<Out, Rejection | ConcurrentChanges, R | CurrentActor>
  /**
   * Runs one operation in an organization that no actor requested, such as storing an inbound message. Conflicts
   * without end are a defect.
   */
  readonly run: <Loaded, A, Rejection, R>(
    organization_id: OrganizationId,
    operation: LoadAndDecide<Loaded, A, Rejection, R>
  ) => Effect.Effect<A, Rejection, R>
  /**
   * The same for claimed work and callbacks, whose decision cannot reject. Returns null when the lease was lost. `initial` is the
   * load of the first attempt, if the caller has loaded some of it before.
   */
  readonly settle: <Loaded, A, R>(
    claimed: Pick<ClaimedWork, "organization_id">,
    operation: {
      readonly initial?: Effect.Effect<Loaded, never, R>
      readonly load: Effect.Effect<Loaded, never, R>
      readonly decide: (loaded: Loaded, context: DecisionContext) => Changes.Decision<A>
    }
  ) => Effect.Effect<A | null, never, R>
}>()("@messaging-crm/core/Decide") {
  /** Layer that runs operations over the `Commit` port. */
  static readonly layer = Layer.effect(
    Decide,
    Effect.gen(function*() {
      const responses = yield* RecordedResponses.make
      const run = yield* makeRun(responses)

      const runFor = <Loaded, A, Rejection, R, Out>(
        organization_id: OrganizationId,
        operation: LoadAndDecide<Loaded, A, Rejection, R>,
        complete: Complete<A, Out>
      ): Effect.Effect<Out, Rejection | ConcurrentChanges, R> =>
        run(organization_id, operation, complete).pipe(
          // Only work has a lease, and only `settle` runs for work.
          Effect.catch((error) => error instanceof LeaseLost ? Effect.die(error) : Effect.fail(error))
        )

      const runAudited = Effect.fnUntraced(function*<Loaded, A extends { readonly id: string }, Rejection, R, Out>(
        name: AuditedOperation,
        operation: LoadAndDecide<Loaded, A, Rejection, R>,
        respond?: Respond<A, Out>
      ) {
        const actor = yield* CurrentActor
        const call: Call = { name, actor, request_id: yield* RequestId, is_quiet: operation.is_quiet }
        if (respond === undefined) {
          // Without `respond`, `Out` is the type of the result.
          const complete = returnResult(call) as unknown as Complete<A, Out>
          return yield* runFor(actor.organization_id, operation, complete)
        }
        const hasCurrent = operation.current !== undefined
        const isRetry = respond.record?.is_retry === true
        return yield* runFor(
          actor.organization_id,
          isRetry ? rereading(operation) : operation,
          (decision, context) => respondTo(responses, call, hasCurrent, respond, decision, context)
        )
      })

      return Decide.of({
        runAudited,
        run: (organization_id, operation) =>
          runFor(organization_id, operation, unrecorded).pipe(
            Effect.catch((error) => error instanceof ConcurrentChanges ? Effect.die(error) : Effect.fail(error))
          ),
        settle: ({ organization_id }, { decide, initial, load }) =>
          run(
            organization_id,
            { load, decide: (loaded, context) => Result.succeed(decide(loaded, context)) },
            unrecorded,
            initial
          ).pipe(
            Effect.catch((error) => error instanceof LeaseLost ? Effect.succeed(null) : Effect.die(error))
          )
      })
    })
  )
}
