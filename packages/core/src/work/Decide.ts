/**
 * Load, decide, commit: how every operation writes.
 *
 * 1. `load` reads what the decision needs: no transaction, no locks.
 * 2. `decide` is a pure function of that, the time and fresh ids. It returns the
 *    answer and the changes, or a refusal.
 * 3. The changes commit in one step if what was loaded still stands. If not,
 *    all three steps run again.
 */
import { Context, DateTime, Duration, Effect, Layer, Metric, Random, Result, Semaphore } from "effect"
import { Ids, type OrganizationId } from "../kernel/Ids.ts"
import { conflicts } from "../kernel/Metrics.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "./Changes.ts"
import { Commit, type Conflict, type KeyUsed, LeaseLost } from "./Commit.ts"
import { type ClaimedWork, type WorkKind, WorkSignal } from "./WorkQueue.ts"

/** What a decision may not find in what was loaded: the time, and ids nobody has. */
export interface Fresh {
  readonly now: Timestamp
  readonly uuid: () => string
}

export interface Operation<Loaded, Answer, Refusal, R> {
  /** Never refuses: what is absent is loaded as none, so that `decide` alone says which refusal comes first. */
  readonly load: Effect.Effect<Loaded, never, R>
  readonly decide: (loaded: Loaded, fresh: Fresh) => Result.Result<Changes.Decision<Answer>, Refusal>
}

/** How the answer of the current request is remembered with its changes; null when it carries no idempotency key. */
export const Remember = Context.Reference<
  ((answer: unknown, now: Timestamp) => Effect.Effect<Changes.Remembered>) | null
>("@messaging-crm/core/Decide/Remember", { defaultValue: () => null })

/** Reads that do not need each other leave together. */
export const together = { concurrency: "unbounded" } as const

/** After so many conflicts in a row, about two seconds, the operation fails. */
const tries_max = 50

/** How many groups of rows take turns in a process after a first conflict. */
const stripes = 64

/** The longest wait after a conflict. A reference, so that a test whose clock stands still need not wait. */
export const ConflictBackoff = Context.Reference<Duration.Duration>("@messaging-crm/core/Decide/ConflictBackoff", {
  defaultValue: () => Duration.millis(50)
})

/** Returns how long to wait after a conflict, in milliseconds: 2, 3, 4.5 … up to the longest, each more or less by half. */
const backoff = (tries: number, longest: Duration.Duration, random: number): number =>
  Math.min(Duration.toMillis(longest), 2 * 1.5 ** (tries - 1)) * (0.5 + random)

/** Returns the group of the first row that the changes contend for. */
const stripeOf = ({ expect = [], update = [] }: Changes.Changes): number => {
  const [first] = [...update, ...expect]
  if (first === undefined) return 0
  let hash = 0
  for (const character of Object.values(first.key).join()) hash = (hash * 31 + character.charCodeAt(0)) | 0
  return Math.abs(hash) % stripes
}

/** Returns the kinds of work that a worker may find now. */
const kindsOf = ({ enqueue = [], raise = [], throttle = [] }: Changes.Changes): ReadonlySet<WorkKind> =>
  new Set([
    ...[...enqueue, ...throttle].map(({ kind }) => kind),
    ...raise.map(() => "webhook_delivery" as const)
  ])

/** The two ways to write. All operations of a process take turns at a row after a first conflict, so they share one. */
export class Decide extends Context.Service<Decide, {
  /** Carries out one operation in an organization, and answers once it is committed. */
  readonly decide: <Loaded, Answer, Refusal, R>(
    organization_id: OrganizationId,
    operation: Operation<Loaded, Answer, Refusal, R>
  ) => Effect.Effect<Answer, Refusal, R>
  /** The same for claimed work, which nobody refuses. Answers null where the claim was taken away. */
  readonly settle: <Loaded, Answer, R>(
    claimed: ClaimedWork,
    operation: {
      readonly load: Effect.Effect<Loaded, never, R>
      readonly decide: (loaded: Loaded, fresh: Fresh) => Changes.Decision<Answer>
    }
  ) => Effect.Effect<Answer | null, never, R>
}>()("@messaging-crm/core/Decide") {
  /** Layer that decides over whatever commits. */
  static readonly layer = Layer.effect(
    Decide,
    Effect.gen(function*() {
      const { commit } = yield* Commit
      const ids = yield* Ids
      const longest = yield* ConflictBackoff
      const signal = yield* WorkSignal
      const turns = Array.from({ length: stripes }, () => Semaphore.makeUnsafe(1))

      /** Tries once: the answer, or what kept it from being committed, beside the changes. */
      const attempt = Effect.fnUntraced(function*<Loaded, Answer, Refusal, R>(
        organization_id: OrganizationId,
        { decide, load }: Operation<Loaded, Answer, Refusal, R>
      ) {
        const remember = yield* Remember
        const loaded = yield* load
        const now = yield* DateTime.now
        const { answer, changes } = yield* Effect.fromResult(decide(loaded, { now, uuid: ids.next }))
        const whole = remember === null ? changes : { ...changes, remember: yield* remember(answer, now) }
        if (Changes.isNone(whole)) return { answer, changes, committed: Result.void }
        const committed: Result.Result<void, Conflict | KeyUsed | LeaseLost> = yield* Effect.result(
          Effect.uninterruptible(commit(organization_id, Changes.folded(whole)))
        )
        return { answer, changes, committed }
      })

      const run = Effect.fnUntraced(function*<Loaded, Answer, Refusal, R>(
        organization_id: OrganizationId,
        operation: Operation<Loaded, Answer, Refusal, R>
      ) {
        const first = yield* attempt(organization_id, operation)
        let { answer, changes, committed } = first
        const again = Effect.gen(function*() {
          for (let tries = 1; Result.isFailure(committed); tries++) {
            const { failure } = committed
            if (failure._tag === "LeaseLost") return yield* failure
            // Neither stands in an operation's signature: who gave a key looks for its record, and conflicts without end are a failure of ours.
            if (failure._tag === "KeyUsed" || tries === tries_max) return yield* Effect.die(failure)
            yield* Metric.update(conflicts, 1)
            const millis = backoff(tries, longest, yield* Random.next)
            yield* millis > 0 ? Effect.sleep(millis) : Effect.yieldNow
            ;({ answer, changes, committed } = yield* attempt(organization_id, operation))
          }
        })
        if (Result.isFailure(committed)) {
          const turn = turns[stripeOf(changes)]
          yield* turn === undefined ? again : Semaphore.withPermit(turn, again)
        }
        for (const kind of kindsOf(changes)) yield* signal.notify(kind)
        return answer
      })

      return Decide.of({
        decide: (organization_id, operation) =>
          run(organization_id, operation).pipe(
            // Only work has a lease, and only `settle` carries out work.
            Effect.catch((error) => error instanceof LeaseLost ? Effect.die(error) : Effect.fail(error))
          ),
        settle: ({ organization_id }, { decide, load }) =>
          run(organization_id, { load, decide: (loaded, fresh) => Result.succeed(decide(loaded, fresh)) }).pipe(
            Effect.catch(() => Effect.succeed(null))
          )
      })
    })
  )
}
