/** The loop of a kind of work: claims due items, and executes them within the limits of the kind and of each organization. */
import { DateTime, Duration, Effect, FiberSet, Latch, Random, Schedule as Repetition } from "effect"
import { Ids, type OrganizationId } from "../kernel/Ids.ts"
import { logAndPause, pollPause } from "../kernel/Loops.ts"
import { pauseAfter, schedules } from "../kernel/Retries.ts"
import * as Traces from "../kernel/Traces.ts"
import { CurrentTurn, Turns } from "../kernel/Turns.ts"
import * as Changes from "./Changes.ts"
import { Decide } from "./Decide.ts"
import { SecretCanary } from "./SecretCanary.ts"
import { type Claim, type ClaimedWork, kind_rules, LeaseTime, type WorkKind, WorkSignal } from "./WorkQueue.ts"

/** The number of defects after which an item is abandoned. */
const defect_max = schedules.defect.pauses.length

/** A claimed item, and its execution. */
export interface Item {
  readonly claimed: ClaimedWork
  readonly execution: Effect.Effect<void>
  /** Ends the send, delivery, or replay of an item that keeps causing defects; null for one that is retried until it succeeds. */
  readonly abandon: ((claimed: ClaimedWork) => Effect.Effect<void>) | null
}

/** Makes the function that executes an item, and settles it whatever happens. */
const makePerform = Effect.gen(function*() {
  const decide = yield* Decide
  const lease = yield* LeaseTime

  const settle = (settlement: Changes.Settlement) =>
    decide.settle(settlement.claimed, {
      load: Effect.void,
      decide: () => ({ result: undefined, changes: Changes.settle(settlement) })
    })

  /** Counts a defect of an item, and postpones it. */
  const postpone = Effect.fnUntraced(function*({ abandon, claimed }: Item) {
    const attempts = (abandon === null ? claimed.defects : claimed.defects % defect_max) + 1
    const due_at = DateTime.addDuration(yield* DateTime.now, pauseAfter(kind_rules[claimed.kind].retries, attempts))
    yield* settle({ claimed, outcome: "defect", due_at })
  })

  const log = ({ kind }: ClaimedWork, defect: unknown) =>
    Effect.logWithLevel(kind_rules[kind].defect_level)("A work item failed; retry scheduled", defect)

  /**
   * Postpones an item after a defect. If that cannot be written, as while the database is unavailable, it is tried every second until the
   * lease ends: the item would block a place of its lane until then.
   */
  const recover = (item: Item, defect: unknown) =>
    postpone(item).pipe(
      Effect.sandbox,
      Effect.retry({ schedule: Repetition.spaced("1 second"), times: Duration.toSeconds(lease) }),
      Effect.catch(Effect.failCause),
      Effect.andThen(log(item.claimed, defect)),
      Effect.annotateLogs({ defects: item.claimed.defects + 1 })
    )

  /** Abandons an item. If that write fails, too, it is retried the same number of times. Then the item is dropped. */
  const abandonOrDrop = (item: Item, abandon: NonNullable<Item["abandon"]>) =>
    Effect.catchDefect(abandon(item.claimed), (defect) =>
      item.claimed.defects < 2 * defect_max
        ? recover(item, defect)
        : Effect.logError("Work item dropped: its failure could not be recorded", defect).pipe(
          Effect.andThen(settle({ claimed: item.claimed, outcome: "finish" }))
        ))

  /** An item whose defect cannot be recorded stays claimed. It can be claimed again when its lease has ended. */
  const perform = (item: Item) => {
    const { abandon, claimed, execution } = item
    const isAbandoned = abandon !== null && claimed.defects >= defect_max
    return (isAbandoned ? abandonOrDrop(item, abandon) : execution).pipe(
      Effect.asVoid,
      Effect.onInterrupt(() => settle({ claimed, outcome: "release" })),
      Effect.catchDefect((defect) => recover(item, defect)),
      Effect.catchDefect((defect) => Effect.logError("Work item defect not recorded", defect)),
      Effect.provideService(CurrentTurn, claimed.organization_id),
      // The span continues the trace that enqueued the item.
      Effect.withSpan(`Worker.${claimed.kind}`, {
        ...Traces.within(claimed.trace),
        kind: "consumer",
        attributes: { ref: claimed.ref, attempt: claimed.attempt }
      }),
      Effect.annotateLogs({
        organization_id: claimed.organization_id,
        kind: claimed.kind,
        ref: claimed.ref,
        attempt: claimed.attempt
      })
    )
  }

  return perform
})

/**
 * The maximum number of items of one claim of the loop. All of them begin at once, without a pause for requests of the same
 * process.
 */
const claim_max = 16
/** The maximum number of items that `runOnce` claims. */
const batch_max = 64

const claim_interval_max = Duration.millis(20)
const poll_millis = 250

/** How the items of a kind are claimed and executed. */
export interface Source {
  readonly kind: WorkKind
  readonly claim: (options: Claim) => Effect.Effect<ReadonlyArray<Item>>
  /** The maximum number of items that one process executes at once. */
  readonly in_progress_max: number
  /**
   * Whether some of them are always free for another organization: a claim takes items of one organization until it holds as
   * many as are free. So a single organization gets half of them, and two get a third each.
   */
  readonly is_shared: boolean
  /** While fewer can be started, the next claim waits until so many have ended, or for `claim_interval_max`. */
  readonly claim_min: number
  /** How long a process that stops waits for the items in progress. */
  readonly shutdown_time_max: Duration.Duration
}

/** Makes what the next claim of a loop waits for: due work, or the end of items in progress. */
const makeWaits = ({ claim_min, kind }: Source, signal: WorkSignal["Service"]) => {
  /** Opens when `claim_min` items have ended since the last claim. */
  const freed = Latch.makeUnsafe(false)
  let ended = 0

  /** Counts the items that end from now on. */
  const restart = Effect.suspend(() => {
    ended = 0
    return freed.close
  })

  const end = Effect.suspend(() => ++ended >= claim_min ? freed.open : Effect.void)

  const poll = Effect.flatMap(Random.next, (random) =>
    pollPause(
      Effect.timeoutOption(
        Effect.raceFirst(signal.wait(kind), freed.await),
        Duration.millis(poll_millis * (0.8 + 0.4 * random))
      )
    ))

  /** Waits until enough items have ended that a claim is worth its cost. */
  const waitForSeveral = Effect.timeoutOption(freed.await, claim_interval_max).pipe(
    Effect.andThen(Effect.suspend(() => ended > 0 ? Effect.void : poll))
  )

  return { end, poll, restart, waitForSeveral }
}

/** Makes the functions that execute the due work of a kind. Each kind has a loop, so that slow work of one does not delay another. */
export const make = Effect.gen(function*() {
  const canary = yield* SecretCanary
  const ids = yield* Ids
  const lease = yield* LeaseTime
  const perform = yield* makePerform
  const signal = yield* WorkSignal

  const claimFrom = Effect.fnUntraced(function*(
    { claim, kind }: Source,
    limit: number,
    fairness: Pick<Claim, "free" | "leased"> = {}
  ) {
    const now = yield* DateTime.now
    const lease_until = DateTime.addDuration(now, lease)
    return yield* claim({ ...fairness, kind, limit, now, lease_until, token: yield* ids.uuid })
  })

  /** Claims one batch of due work, executes it, and returns the number of items. */
  const runOnce = Effect.fnUntraced(function*(source: Source) {
    const claimed = yield* claimFrom(source, batch_max)
    yield* Effect.forEach(claimed, perform, { concurrency: "unbounded", discard: true })
    return claimed.length
  })

  /** Runs until it is interrupted. Then it waits for the items in progress, and releases the claims of the others. */
  const run = Effect.fnUntraced(function*(source: Source) {
    const { claim_min, in_progress_max, is_shared, shutdown_time_max } = source
    const items = yield* FiberSet.make<void>()
    // Items run in the context that is captured here, not in that of the fiber that starts them.
    const start = yield* FiberSet.runtime(items)<never>()
    yield* Effect.addFinalizer(() =>
      Effect.timeoutOption(Effect.interruptible(FiberSet.awaitEmpty(items)), shutdown_time_max)
    )
    /** A claim takes no more items than are free, so that all of them begin at once. */
    const turns = new Turns<OrganizationId>({ places: in_progress_max })
    const { end, poll, restart, waitForSeveral } = makeWaits(source, signal)

    /** Claims as many items as the limits allow, starts them, and returns what the next claim waits for. */
    const fill = Effect.gen(function*() {
      if (!(yield* canary.isReadable)) {
        // Items that end meanwhile would otherwise end each pause at once.
        yield* restart
        return poll
      }
      const { free, held } = turns
      if (free <= 0) return waitForSeveral
      const limit = Math.min(free, claim_max)
      yield* restart
      // Without a span: the loop claims four times a second.
      const claimed = yield* Effect.withTracerEnabled(
        claimFrom(source, limit, is_shared ? { free, leased: held } : {}),
        false
      )
      for (const item of claimed) {
        start(Effect.ensuring(turns.run(item.claimed.organization_id, perform(item)), end))
      }
      if (turns.free < claim_min) return waitForSeveral
      if (claimed.length === limit) return Effect.void
      return poll
    })

    // Uninterruptible: a claimed item that is not started would be blocked until its lease ends.
    return yield* Effect.flatten(Effect.uninterruptible(fill)).pipe(logAndPause("The worker"), Effect.forever)
  }, Effect.scoped)

  return { run, runOnce }
})
