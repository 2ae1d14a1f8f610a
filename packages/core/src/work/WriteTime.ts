/**
 * The time limit of a request's write (contract §5.6).
 *
 * When the time is over, the write is not interrupted, because a sent commit cannot be. Instead, no further commit of it begins.
 * So it is known whether the write changed nothing, or may have changed something.
 */
import { Context, Deferred, Duration, Effect, Exit, Schema } from "effect"
import { Commit, type CommitFailure, Conflict } from "./Commit.ts"

/** The time limit of a write. A reference, so that an embedder can set it. */
export const WriteTimeLimit = Context.Reference<Duration.Duration>(
  "@messaging-crm/core/WriteTime/WriteTimeLimit",
  { defaultValue: () => Duration.seconds(10) }
)

/** The time of a write was over before its result. If `may_have_written` is false, it changed nothing, and never will. */
export class WriteTimeOver extends Schema.TaggedError<WriteTimeOver>()("WriteTimeOver", {
  may_have_written: Schema.Boolean
}) {}

/** The failures of a commit that has written nothing. */
const without_effect: ReadonlySet<string> = new Set<Exclude<CommitFailure["_tag"], "Unconfirmed">>([
  "Conflict",
  "KeyUsed",
  "LeaseLost"
])

const hasNoEffect = (exit: Exit.Exit<unknown, CommitFailure>): boolean =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.every((reason) => reason._tag === "Fail" && without_effect.has(reason.error._tag))

/** The time of one write, and its commits. */
export class WriteTime {
  /** How many commits may have been sent and have no result. */
  private open_commits = 0
  private mayHaveWritten = false
  private is_over = false

  get isOver(): boolean {
    return this.is_over
  }

  /** Ends the time. From now on no commit begins. */
  end(): WriteTimeOver {
    this.is_over = true
    return new WriteTimeOver({ may_have_written: this.mayHaveWritten || this.open_commits > 0 })
  }

  /** Runs a commit, unless the time is over. */
  run<A>(commit: Effect.Effect<A, CommitFailure>): Effect.Effect<A, CommitFailure> {
    return Effect.suspend(() => {
      if (this.is_over) return Effect.fail(new Conflict())
      this.open_commits++
      return Effect.onExitPrimitive(commit, (exit) => {
        this.open_commits--
        if (!hasNoEffect(exit)) this.mayHaveWritten = true
        return undefined
      })
    })
  }

  /** Records that a commit that runs waits before it is sent. */
  wait(): void {
    this.open_commits--
  }

  /** Ends that wait, and returns whether the commit can still be sent. */
  resume(): boolean {
    this.open_commits++
    return !this.is_over
  }
}

/** The time of the current write; null without a limit. */
export const CurrentWriteTime = Context.Reference<WriteTime | null>(
  "@messaging-crm/core/WriteTime/CurrentWriteTime",
  { defaultValue: () => null }
)

/** Makes the function that commits within the time of the current write. A commit after it is a `Conflict`. */
export const makeCommit = Effect.map(
  Commit,
  ({ commit }): Commit["Service"]["commit"] => (organization_id, changes) =>
    Effect.withFiber((fiber) => {
      const committed = commit(organization_id, changes)
      return fiber.getRef(CurrentWriteTime)?.run(committed) ?? committed
    })
)

/**
 * Runs a write within its time, and fails if it has not ended by then. It then continues, but commits nothing more.
 *
 * Neither an interruption nor the end of the time stops the write, so it has a fiber of its own.
 */
export const within = <A, E, R>(write: Effect.Effect<A, E, R>): Effect.Effect<A, E | WriteTimeOver, R> =>
  Effect.uninterruptible(Effect.gen(function*() {
    const time = new WriteTime()
    const writing = yield* Effect.forkDetach(Effect.provideService(write, CurrentWriteTime, time), {
      startImmediately: true
    })
    const ended = writing.pollUnsafe()
    if (ended !== undefined) return yield* ended
    const outcome = Deferred.makeUnsafe<A, E | WriteTimeOver>()
    const timer = yield* Effect.sleep(yield* WriteTimeLimit).pipe(
      Effect.andThen(Effect.sync(() => Deferred.doneUnsafe(outcome, Exit.fail(time.end())))),
      Effect.forkDetach({ startImmediately: true })
    )
    writing.addObserver((exit) => {
      timer.interruptUnsafe()
      Deferred.doneUnsafe(outcome, exit)
    })
    return yield* Deferred.await(outcome)
  }))
