/**
 * Load, decide, commit: how every operation writes.
 *
 * 1. `load` reads what the decision needs, without a transaction or locks.
 * 2. `decide` is a pure function of what was loaded, the time and new IDs. It
 *    returns the result and the changes, or a rejection.
 * 3. `Commit` applies the changes atomically if no row that they depend on has
 *    changed. Otherwise it fails with `Conflict`, and all three steps run again.
 */
import { Context, DateTime, Effect, Layer, Predicate, Result } from "effect"
import { type Actor, CurrentActor, RequestId } from "../kernel/Actor.ts"
import { Ids, type OrganizationId } from "../kernel/Ids.ts"
import { type AuditedOperation, operation, rulesOf } from "../kernel/Operations.ts"
import * as Audit from "./Audit.ts"
import * as Changes from "./Changes.ts"
import type { DecisionContext } from "./Changes.ts"
import { LeaseLost } from "./Commit.ts"
import * as ConflictRetries from "./ConflictRetries.ts"
import { ConcurrentChanges } from "./ConflictRetries.ts"
import * as RecordedResponses from "./RecordedResponses.ts"
import type { Respond } from "./RecordedResponses.ts"
import { type StorageExhausted, StorageUse, storedBy } from "./StorageUse.ts"
import { type ClaimedWork, type WorkKind, WorkSignal } from "./WorkQueue.ts"
import * as WriteTime from "./WriteTime.ts"

export type { DecisionContext } from "./Changes.ts"
export { ConcurrentChanges, ConflictBackoff } from "./ConflictRetries.ts"

/** A call of an audited operation. */
export interface Call {
  readonly name: AuditedOperation
  readonly actor: Actor
  readonly request_id: string | null
}

/** A result that names its resource. */
interface Resource {
  readonly id: string
}

/** The records that are committed with the changes of a decision, and the value to return once they are committed. */
interface Recorded<Returned> {
  readonly returned: Returned
  readonly records: Pick<Changes.Changes, "audit" | "response">
}

/** Makes the records of a decision. It runs in each attempt. */
type MakeRecords<A, Returned> = (
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
    { encode, record }: Respond<A, Out>,
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

  return <A extends Resource, Out>(call: Call, respond: Respond<A, Out>): MakeRecords<A, Out> => (decision, context) =>
    respondAndRecord(call, respond, decision, context)
})

/** How an operation writes: its load and its decision. */
export interface LoadAndDecide<Loaded, A, Rejection, R> {
  /** Never fails: a row that does not exist is loaded as none, so that only `decide` determines which error is returned first. */
  readonly load: Effect.Effect<Loaded, never, R>
  /** The load of the first attempt, if the caller has loaded some of it before. Default: `load`. */
  readonly firstLoad?: Effect.Effect<Loaded, never, R>
  readonly decide: (loaded: Loaded, context: DecisionContext) => Result.Result<Changes.Decision<A>, Rejection>
}

/** An operation of an actor that writes. */
export interface Write<Input extends ReadonlyArray<unknown>, Result, Rejection> {
  (...input: Input): Effect.Effect<Result, Rejection | ConcurrentChanges, CurrentActor>
  /** Returns the response to a request, which is committed under the request's idempotency key. */
  <Out>(
    ...input: readonly [...Input, respond: Respond<Result, Out> | undefined]
  ): Effect.Effect<Out, Rejection | ConcurrentChanges | StorageExhausted, CurrentActor>
}

/** Returns how one call of an operation writes. It can fail before anything is loaded. */
type DefineWrite<Input extends ReadonlyArray<unknown>, Step, Loaded, A, Rejection> = (
  ...input: Input
) => Generator<Step, LoadAndDecide<Loaded, A, Rejection, CurrentActor>, never>

// ----------------------------------------------------------- decisions

/** Returns the result itself and no records, for an operation that no actor requested. */
const withoutRecords = <A>({ result }: Changes.Decision<A>) =>
  Effect.succeed({ returned: result, records: Changes.none })

/** Returns the kinds of work that the changes make available to workers. */
const kindsOf = (
  { enqueue = [], expand = [], expedite = [], raise = [], throttle = [] }: Changes.Changes
): ReadonlySet<WorkKind> => {
  const kinds = new Set([...enqueue, ...expedite, ...throttle].map(({ kind }) => kind))
  if (raise.length > 0) kinds.add("webhook_event")
  return expand.length === 0 ? kinds : kinds.add("webhook_delivery")
}

// ---------------------------------------------------------- operations

/** Makes the steps of a commit within the organization's storage budget. */
const makeCommitSteps = Effect.gen(function*() {
  const commit = yield* WriteTime.makeCommit
  const storage = yield* StorageUse

  /** Returns the changes, without the resources of their events if the organization's storage budget is used up. */
  const withinBudget = (organization_id: OrganizationId, changes: Changes.Changes): Effect.Effect<Changes.Changes> => {
    const { raise = [] } = changes
    return raise.every(({ resource }) => resource === null)
      ? Effect.succeed(changes)
      : Effect.match(storage.require(organization_id), {
        onSuccess: () => changes,
        onFailure: () => ({ ...changes, raise: raise.map((event) => ({ ...event, resource: null })) })
      })
  }

  /**
   * Commits changes and counts the bytes that they store. Returns why they are not committed, or null: the retries need
   * the failure together with the changes.
   */
  const commitAndCount = (organization_id: OrganizationId, changes: Changes.Changes) =>
    Effect.uninterruptible(commit(organization_id, Changes.mergeActivity(changes))).pipe(
      Effect.matchEffect({
        onFailure: Effect.succeed,
        onSuccess: (subscribed) => Effect.as(storage.count(organization_id, storedBy(changes, subscribed)), null)
      })
    )

  return { commitAndCount, withinBudget }
})

/** Makes the function that loads, decides, and commits, and that repeats all three after a conflict. */
const makeLoadDecideCommit = Effect.gen(function*() {
  const { commitAndCount, withinBudget } = yield* makeCommitSteps
  const ids = yield* Ids
  const retry = yield* ConflictRetries.make
  const signal = yield* WorkSignal

  /** Loads, decides and commits once. */
  const attempt = Effect.fnUntraced(function*<Loaded, A, Rejection, R, Returned>(
    organization_id: OrganizationId,
    load: Effect.Effect<Loaded, never, R>,
    decide: LoadAndDecide<Loaded, A, Rejection, R>["decide"],
    makeRecords: MakeRecords<A, Returned>
  ) {
    const loaded = yield* load
    const context = { now: yield* DateTime.now, uuid: ids.next }
    const decision = yield* Effect.fromResult(decide(loaded, context))
    const { records, returned } = yield* makeRecords(decision, context)
    const changes = yield* withinBudget(organization_id, { ...decision.changes, ...records })
    const failure = Changes.isWithoutEffect(changes) ? null : yield* commitAndCount(organization_id, changes)
    return { returned, changes, failure }
  })

  return Effect.fnUntraced(function*<Loaded, A, Rejection, R, Returned>(
    organization_id: OrganizationId,
    { decide, load, firstLoad = load }: LoadAndDecide<Loaded, A, Rejection, R>,
    makeRecords: MakeRecords<A, Returned>
  ) {
    const first = yield* attempt(organization_id, firstLoad, decide, makeRecords)
    const { changes, returned } = first.failure === null
      ? first
      : yield* retry(first, attempt(organization_id, load, decide, makeRecords))
    for (const kind of kindsOf(changes)) yield* signal.notify(kind)
    return returned
  })
})

/** A definition that `write` gets, without the types of its operation. */
type AnyDefinition = (
  ...input: ReadonlyArray<unknown>
) => Effect.fn.Return<LoadAndDecide<unknown, Resource, unknown, CurrentActor>, unknown, CurrentActor>
type AnyRespond = Respond<Resource, unknown>

/** Returns whether the last value of a call is its `respond`: input is data, so it has no function `encode`. */
const isRespond = (value: unknown): value is AnyRespond =>
  Predicate.hasProperty(value, "encode") && Predicate.isFunction(value.encode)

/** Splits the values of a call into its input and the `respond` that can follow it. */
const splitCall = (values: ReadonlyArray<unknown>) => {
  const last = values.at(-1)
  return isRespond(last) ? { input: values.slice(0, -1), respond: last } : { input: values, respond: undefined }
}

/** The ways to write. One instance serves the whole process, because its operations share the semaphores for retries. */
export class Decide extends Context.Service<Decide, {
  /**
   * Makes an operation of the current actor. A call returns its result once it is
   * committed. The commit includes an audit record about the resource with
   * the result's ID, unless an operator's command changes nothing. After 50
   * conflicts, or after the time of its request (`WriteTime.ts`), the call fails with `ConcurrentChanges`.
   *
   * With a `respond` after its input, the call returns the response instead. The response is encoded once, and committed
   * under the request's idempotency key if it has one. If the organization's storage budget is used up, such a request
   * fails with `StorageExhausted` and loads nothing, unless it is a part of one that has begun (`IdempotentParts.ts`).
   */
  readonly write: <
    Input extends ReadonlyArray<unknown>,
    Step extends Effect.Effect<unknown, unknown, CurrentActor>,
    Loaded,
    A extends Resource,
    Rejection
  >(
    name: AuditedOperation,
    define: DefineWrite<Input, Step, Loaded, A, Rejection>
  ) => Write<Input, A, Effect.Error<Step> | Rejection>
  /**
   * Runs one operation in an organization that no actor requested, such as storing an inbound message. Conflicts
   * without end are a defect.
   */
  readonly run: <Loaded, A, Rejection, R>(
    organization_id: OrganizationId,
    operation: LoadAndDecide<Loaded, A, Rejection, R>
  ) => Effect.Effect<A, Rejection, R>
  /** The same for claimed work and callbacks, whose decision cannot reject. Returns null when the lease was lost. */
  readonly settle: <Loaded, A, R>(
    claimed: Pick<ClaimedWork, "organization_id">,
    operation: Pick<LoadAndDecide<Loaded, A, never, R>, "firstLoad" | "load"> & {
      readonly decide: (loaded: Loaded, context: DecisionContext) => Changes.Decision<A>
    }
  ) => Effect.Effect<A | null, never, R>
}>()("@messaging-crm/core/Decide") {
  /** Layer that runs operations over the `Commit` port. */
  static readonly layer = Layer.effect(
    Decide,
    Effect.gen(function*() {
      const returnResponse = yield* makeReturnResponse
      const loadDecideCommit = yield* makeLoadDecideCommit
      const storage = yield* StorageUse

      const runWith = <Loaded, A, Rejection, R, Returned>(
        organization_id: OrganizationId,
        operation: LoadAndDecide<Loaded, A, Rejection, R>,
        makeRecords: MakeRecords<A, Returned>
      ): Effect.Effect<Returned, Rejection | ConcurrentChanges, R> =>
        loadDecideCommit(organization_id, operation, makeRecords).pipe(
          // Only work has a lease, and only `settle` runs for work.
          Effect.catch((error) => error instanceof LeaseLost ? Effect.die(error) : Effect.fail(error))
        )

      const runAudited = Effect.fnUntraced(function*<Loaded, A extends Resource, Rejection, R, Out>(
        name: AuditedOperation,
        operation: LoadAndDecide<Loaded, A, Rejection, R>,
        respond: Respond<A, Out> | undefined
      ) {
        const actor = yield* CurrentActor
        if (respond !== undefined && !RecordedResponses.isPart(respond.record)) {
          yield* storage.require(actor.organization_id)
        }
        const call: Call = { name, actor, request_id: yield* RequestId }
        return yield* respond === undefined
          ? runWith(actor.organization_id, operation, returnResult(call))
          : runWith(actor.organization_id, operation, returnResponse(call, respond))
      })

      const write = (name: AuditedOperation, define: AnyDefinition) =>
        operation(name)(function*(...values: ReadonlyArray<unknown>) {
          const { input, respond } = splitCall(values)
          return yield* runAudited(name, yield* define(...input), respond)
        })

      return Decide.of({
        write: write as Decide["Service"]["write"],
        run: (organization_id, operation) =>
          runWith(organization_id, operation, withoutRecords).pipe(
            Effect.catch((error) => error instanceof ConcurrentChanges ? Effect.die(error) : Effect.fail(error))
          ),
        settle: ({ organization_id }, { decide, ...loads }) =>
          loadDecideCommit(
            organization_id,
            { ...loads, decide: (loaded, context) => Result.succeed(decide(loaded, context)) },
            withoutRecords
          ).pipe(
            Effect.catch((error) => error instanceof LeaseLost ? Effect.succeed(null) : Effect.die(error))
          )
      })
    })
  )
}
