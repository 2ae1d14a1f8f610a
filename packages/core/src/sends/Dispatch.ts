/**
 * Dispatch: how the worker processes one send.
 *
 * The attempt is committed before the provider is called. The next step depends on the
 * outcome: see `SendOutcomes.ts`.
 */
import { Context, DateTime, Duration, Effect, Layer, Metric, Option } from "effect"
import * as Holds from "../catalog/ChannelHolds.ts"
import { SendId } from "../kernel/Ids.ts"
import { send_attempts } from "../kernel/Metrics.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import { traced } from "../kernel/Traces.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext } from "../work/Decide.ts"
import type { ClaimedWork } from "../work/WorkQueue.ts"
import { type FailureReason, isKnownContent, MessagingProvider, ProviderOutcomeUnknown } from "./MessagingProvider.ts"
import { makeOutcomes, postpone, stop, UnknownOutcomeTimeout, type Unsettled } from "./SendOutcomes.ts"
import { isOpen, type OutgoingSend, type SendRow, SendRows, SendState, SendStore } from "./Sends.ts"
import { endOfRetries, isInTime } from "./SendSchedule.ts"

export { UnknownOutcomeTimeout } from "./SendOutcomes.ts"
export { attemptsOf, nextAttempt, retry_time_max } from "./SendSchedule.ts"

// ----------------------------------------------------------- decisions

/** The timeout of one attempt, well below the lease of the work. */
export const attempt_time_max = Duration.seconds(20)

/** The longest time that a send waits for a paused or throttled channel before its first attempt: as long as a reply window. */
export const hold_time_max = Duration.hours(24)

/** The metric's `outcome` of an attempt that was not accepted. */
const metric_outcomes = {
  ProviderRejected: "rejected",
  ProviderBusy: "busy",
  ProviderHeld: "held",
  ProviderOutcomeUnknown: "unknown"
} as const

const countAttempt = (
  outcome: (typeof metric_outcomes)[keyof typeof metric_outcomes] | "accepted",
  reason: FailureReason | "none" = "none"
) => Metric.update(send_attempts.of({ outcome, reason }), 1)

/** A pause of a send, and the reason for which it fails if the pause is too long. */
interface Wait {
  readonly due_at: Timestamp
  readonly reason: FailureReason
}

/** Returns when a send has waited long enough: a day after it was accepted, or two minutes after its first attempt. */
const endOfWait = ({ created_at, first_attempt_at }: SendRow): Timestamp =>
  first_attempt_at === null ? DateTime.addDuration(created_at, hold_time_max) : endOfRetries(first_attempt_at)

/** Postpones the attempt, at most until the end of the send's wait. After that, the send stops. */
const wait = (unsettled: Unsettled, { due_at, reason }: Wait, context: DecisionContext): Changes.Changes => {
  const { claimed, send } = unsettled
  const end = endOfWait(send)
  return DateTime.isLessThan(context.now, end)
    ? postpone(claimed, DateTime.min(due_at, end))
    : stop(unsettled, reason, context)
}

/**
 * Returns when a waiting send is due again, or null if it does not wait. It waits for a worker of a newer version if this one
 * does not support its content, or for its channel.
 */
const waitOf = ({ hold, send }: OutgoingSend, now: Timestamp): Wait | null => {
  if (!isKnownContent(send.content)) {
    return { due_at: DateTime.add(now, { seconds: 30 }), reason: "provider_unavailable" }
  }
  // A send that is `sending` must not wait for its channel, so that its unknown outcome is reported.
  const held = Option.filter(Holds.active(Option.fromNullOr(hold), now), () => send.status === "queued")
  const waitFor = (found: Holds.ChannelHold) => ({ due_at: Holds.nextCheck(found, send.id, now), reason: found.reason })
  return Option.getOrNull(Option.map(held, waitFor))
}

/**
 * Begins an attempt. Returns null, and settles the work, if the send has already ended, its channel is held, or an earlier
 * attempt may have sent it and must not be repeated.
 */
const begin = (
  claimed: ClaimedWork,
  outgoing: Option.Option<OutgoingSend>,
  { provider, timeout }: {
    readonly provider: Pick<MessagingProvider["Service"], "dedup">
    readonly timeout: Duration.Duration
  },
  context: DecisionContext
): Changes.Decision<OutgoingSend | null> => {
  const { now } = context
  if (Option.isNone(outgoing) || !isOpen(outgoing.value.send)) return { result: null, changes: Changes.finish(claimed) }
  const { send } = outgoing.value
  const set = SendState.begin(send, now)
  const unsettled = { claimed, send: { ...send, may_be_sent: set.may_be_sent }, timeout }
  const mayRepeat = provider.dedup === "client_ref" && isInTime(set, now)
  if (set.may_be_sent && !mayRepeat) return { result: null, changes: stop(unsettled, "outcome_unknown", context) }
  const waiting = waitOf(outgoing.value, now)
  if (waiting !== null) return { result: null, changes: wait(unsettled, waiting, context) }
  return {
    result: { ...outgoing.value, send: { ...send, ...set, version: send.version + 1 } },
    changes: Changes.all(
      SendRows.update(send, set),
      Changes.settle({ claimed, outcome: "keep" })
    )
  }
}

// ---------------------------------------------------------- operations

/** Makes the function that calls the provider for an attempt, and records the outcome. */
const makeDeliver = Effect.gen(function*() {
  const outcomes = yield* makeOutcomes
  const provider = yield* MessagingProvider

  return Effect.fnUntraced(function*(claimed: ClaimedWork, outgoing: OutgoingSend) {
    const { channel, send } = outgoing
    const { content, id: reference, recipient } = send
    const attempt = { claimed, send, began_at: yield* DateTime.now }
    yield* provider.deliver({ channel, reference, recipient, content }).pipe(
      Effect.timeoutOrElse({ duration: attempt_time_max, orElse: () => Effect.fail(new ProviderOutcomeUnknown()) }),
      Effect.withSpan("MessagingProvider.deliver", { kind: "client" }),
      Effect.tap(() => countAttempt("accepted")),
      Effect.tapError((error) => countAttempt(metric_outcomes[error._tag], "reason" in error ? error.reason : "none")),
      Effect.matchEffect({
        onSuccess: (accepted) => outcomes.complete(attempt, outgoing, accepted),
        onFailure: (error) => {
          switch (error._tag) {
            case "ProviderRejected":
              return outcomes.reject(attempt, error)
            case "ProviderBusy":
              return outcomes.retry(attempt, error)
            case "ProviderHeld":
              return outcomes.hold(attempt, error)
            case "ProviderOutcomeUnknown":
              return outcomes.handleUnknownOutcome(claimed)
          }
        }
      })
    )
  })
})

export class Dispatch extends Context.Service<Dispatch, {
  /** Makes one attempt of a claimed `send`, and settles the claim. */
  readonly attempt: (claimed: ClaimedWork) => Effect.Effect<void>
  /** Fails a send whose outcome is still unknown, and settles the claimed `send_outcome`. */
  readonly expireOutcome: (claimed: ClaimedWork) => Effect.Effect<void>
  /** Ends a send that cannot be processed because of a defect, and settles the claim. */
  readonly abandon: (claimed: ClaimedWork) => Effect.Effect<void>
}>()("@messaging-crm/core/Dispatch") {
  static readonly layer = Layer.effect(
    Dispatch,
    Effect.gen(function*() {
      const { settle } = yield* Decide
      const deliver = yield* makeDeliver
      const outcomes = yield* makeOutcomes
      const provider = yield* MessagingProvider
      const store = yield* SendStore
      const timeout = yield* UnknownOutcomeTimeout

      const attempt = traced("Dispatch.attempt")(function*(claimed: ClaimedWork) {
        const begun = yield* settle(claimed, {
          load: store.load(claimed.organization_id, SendId.make(claimed.ref)),
          decide: (outgoing, context) => begin(claimed, outgoing, { provider, timeout }, context)
        })
        if (begun !== null) yield* deliver(claimed, begun)
      })

      const expireOutcome = traced("Dispatch.expireOutcome")(function*(claimed: ClaimedWork) {
        yield* outcomes.fail(claimed, "outcome_unknown")
      })

      const abandon = traced("Dispatch.abandon")(function*(claimed: ClaimedWork) {
        yield* claimed.kind === "send"
          ? outcomes.abandon(claimed)
          : outcomes.fail(claimed, "outcome_unknown")
      })

      return Dispatch.of({ attempt, expireOutcome, abandon })
    })
  )
}
