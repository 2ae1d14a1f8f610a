/**
 * How the outcome of a send's attempt is recorded.
 *
 * - Accepted: the message and the completed send commit together.
 * - Rejected: the send fails. If the channel itself is rejected, its other sends wait
 *   until it is resumed (`ChannelHolds`), for a day at most.
 * - Busy, and certainly not sent: the send is retried with a backoff, for two minutes.
 *   If the channel is throttled, its other sends wait as long as the network asks for.
 * - Unknown: a retry could send the message twice. If the provider deduplicates by
 *   reference, the send is retried for two minutes, even if its channel is paused. After
 *   that, and immediately for any other provider, the send is `unknown` until a callback
 *   reports its outcome. Without one it fails after 15 minutes. A later rejection does not
 *   fail it sooner, because it does not prove that the earlier attempt sent nothing.
 */
import { Context, DateTime, Duration, Effect, Option, Result, Schedule } from "effect"
import { ChannelAccountRows } from "../catalog/ChannelAccounts.ts"
import * as Holds from "../catalog/ChannelHolds.ts"
import { SendId } from "../kernel/Ids.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext } from "../work/Decide.ts"
import { Rows } from "../work/Rows.ts"
import type { ClaimedWork } from "../work/WorkQueue.ts"
import {
  type Accepted,
  type FailureReason,
  MessagingProvider,
  type ProviderBusy,
  type ProviderHeld,
  type ProviderRejected
} from "./MessagingProvider.ts"
import { complete, fail, makeLoadCompletion } from "./SendCompletion.ts"
import { isInDoubt, isOpen, type OutgoingSend, type SendRow, SendRows, SendState, SendStore } from "./Sends.ts"
import { attemptsOf, nextAttempt } from "./SendSchedule.ts"

/** An attempt of a claimed send. */
interface SendAttempt {
  readonly claimed: ClaimedWork
  readonly send: SendRow
  readonly began_at: Timestamp
}

/** Makes the operations that hold the channel of a claimed send. */
const makeChannelHolds = Effect.gen(function*() {
  const { run } = yield* Decide
  const rows = yield* Rows

  /** Changes the hold, and returns whether that changed anything. */
  const change = (
    { organization_id }: ClaimedWork,
    { channel_id }: SendRow,
    changesOf: (found: Option.Option<Holds.ChannelHoldRow>, now: Timestamp) => Changes.Changes
  ) =>
    run(organization_id, {
      load: rows.find(Holds.ChannelHoldRows, organization_id, channel_id),
      decide: (found, { now }) => {
        const changes = changesOf(found, now)
        return Result.succeed({ result: !Changes.isNone(changes), changes })
      }
    })

  /** Pauses the channel, unless it got another token after the attempt had begun. */
  const pause = Effect.fnUntraced(function*({ began_at, claimed, send }: SendAttempt, reason: FailureReason) {
    const { channel_id } = send
    const account = reason === "provider_auth"
      ? yield* rows.find(ChannelAccountRows, claimed.organization_id, channel_id)
      : Option.none()
    if (Option.exists(account, ({ token_set_at }) => DateTime.isGreaterThan(token_set_at, began_at))) return
    const isNew = yield* change(claimed, send, (found, now) => Holds.pause(found, channel_id, reason, now))
    const log = Effect.logError("Channel paused; its sends wait")
    if (isNew) yield* Effect.annotateLogs(log, { channel_id, reason })
  })

  const throttle = ({ claimed, send }: SendAttempt, retry_after_seconds: number | null) =>
    change(claimed, send, (found, now) => Holds.throttle(found, send.channel_id, retry_after_seconds, now))

  return { pause, throttle }
})

// ----------------------------------------------------------- decisions

/** How long an `unknown` send waits for a callback before it fails: 15 minutes. */
export const UnknownOutcomeTimeout = Context.Reference<Duration.Duration>(
  "@messaging-crm/core/SendOutcomes/UnknownOutcomeTimeout",
  { defaultValue: () => Duration.minutes(15) }
)

/** How often recording an accepted message is retried, at intervals of a second: almost until the lease ends. */
const record_tries_max = 35

/** Makes the work of a send due again at a time. */
export const postpone = (claimed: ClaimedWork, due_at: Timestamp) =>
  Changes.settle({ claimed, outcome: "postpone", due_at })

/** A claimed send without an outcome. */
export interface Unsettled {
  readonly claimed: ClaimedWork
  readonly send: SendRow
  /** How long the send waits for a callback once it is `unknown`. */
  readonly timeout: Duration.Duration
}

/** Marks a send as `unknown`, and enqueues the `send_outcome` work that fails it if no callback comes. */
const awaitCallback = ({ claimed, send, timeout }: Unsettled, { now }: DecisionContext): Changes.Changes =>
  Changes.all(
    SendRows.update(send, SendState.markUnknown(send)),
    Changes.enqueue({
      kind: "send_outcome",
      lane: send.id,
      ref: send.id,
      due_at: DateTime.addDuration(now, timeout)
    }),
    Changes.finish(claimed)
  )

/** Makes no further attempt: the send fails, or becomes `unknown` if an attempt may have sent it. */
export const stop = (unsettled: Unsettled, reason: FailureReason, context: DecisionContext): Changes.Changes => {
  const { claimed, send } = unsettled
  return send.may_be_sent
    ? awaitCallback(unsettled, context)
    : Changes.all(fail(send, reason, context), Changes.finish(claimed))
}

/** Retries a send as long as the next attempt is in time (contract §12.6), and else makes no further attempt. */
const retryInTime = (
  unsettled: Unsettled,
  { reason, retry_after_seconds, throttles }: Pick<ProviderBusy, "reason" | "retry_after_seconds" | "throttles">,
  context: DecisionContext
): Changes.Changes => {
  const { claimed, send } = unsettled
  const { now } = context
  const first = send.first_attempt_at ?? now
  const pauses = throttles === "recipient" ? throttles : "send"
  const attempts = attemptsOf(claimed.attempt, first, now, pauses)
  return Option.match(nextAttempt(attempts, first, now, retry_after_seconds, pauses), {
    onNone: () => stop(unsettled, reason, context),
    onSome: (due_at) => {
      const set = send.may_be_sent ? { may_be_sent: true } : SendState.requeue(send)
      return Changes.all(SendRows.update(send, set), postpone(claimed, due_at))
    }
  })
}

// ---------------------------------------------------------- operations

/** Makes the function that settles a claim with the changes that follow for its send, or with none if the send has ended. */
const makeSettleSend = Effect.gen(function*() {
  const { settle } = yield* Decide
  const store = yield* SendStore

  return (claimed: ClaimedWork, changesOf: (send: SendRow, context: DecisionContext) => Changes.Changes) =>
    settle(claimed, {
      load: store.find(claimed.organization_id, SendId.make(claimed.ref)),
      decide: (send, context) => ({
        result: undefined,
        changes: Option.match(Option.filter(send, isOpen), {
          onNone: () => Changes.finish(claimed),
          onSome: (row) => changesOf(row, context)
        })
      })
    })
})

/**
 * Makes the function that records that the provider accepted a send.
 *
 * The acceptance is stored nowhere else, so recording it is retried for almost the whole lease.
 */
const makeComplete = Effect.gen(function*() {
  const { settle } = yield* Decide
  const loadCompletion = yield* makeLoadCompletion

  return ({ began_at, claimed }: SendAttempt, outgoing: OutgoingSend, accepted: Accepted) => {
    const { channel_id, id: send_id } = outgoing.send
    const { provider_message_id } = accepted
    const load = (begun?: OutgoingSend) =>
      loadCompletion(claimed.organization_id, { channel_id, provider_message_id, send_id }, begun)
    return settle(claimed, {
      firstLoad: load(outgoing),
      load: load(),
      decide: (loaded, context) => ({
        result: undefined,
        changes: Changes.all(
          complete(loaded, { sent_at: began_at, ...accepted }, null, context),
          Changes.settle({ claimed, outcome: "finish_if_leased" })
        )
      })
    }).pipe(
      Effect.catchDefect((defect) =>
        Effect.andThen(Effect.logWarning("Accepted message not recorded yet", defect), Effect.fail(defect))
      ),
      Effect.retry({ schedule: Schedule.spaced("1 second"), times: record_tries_max }),
      Effect.orDie,
      Effect.uninterruptible
    )
  }
})

/** Makes the functions that record an attempt after which the message was certainly not sent. */
const makeUnsent = Effect.gen(function*() {
  const channels = yield* makeChannelHolds
  const settleSend = yield* makeSettleSend
  const timeout = yield* UnknownOutcomeTimeout

  /**
   * Lets a send wait with its channel, as if the attempt had not begun. If an earlier attempt may have sent it, it does not
   * wait, so that its unknown outcome is reported.
   */
  const hold = Effect.fnUntraced(function*(attempt: SendAttempt, { reason }: ProviderHeld) {
    const { claimed } = attempt
    yield* channels.pause(attempt, reason)
    yield* settleSend(claimed, (send, context) => {
      if (send.may_be_sent) {
        return retryInTime({ claimed, send, timeout }, { reason, retry_after_seconds: null }, context)
      }
      const pause = { held_at: context.now, until: null, level: 0 }
      return Changes.all(
        SendRows.update(send, { ...SendState.requeue(send), first_attempt_at: null }),
        postpone(claimed, Holds.nextCheck(pause, send.id, context.now))
      )
    })
  })

  /** Fails a send. If its channel itself was rejected, the other sends of the channel wait from now on. */
  const reject = Effect.fnUntraced(function*(
    attempt: SendAttempt,
    { pauses_channel = false, reason }: ProviderRejected
  ) {
    if (pauses_channel) yield* channels.pause(attempt, reason)
    const { claimed } = attempt
    yield* settleSend(claimed, (send, context) => stop({ claimed, send, timeout }, reason, context))
  })

  const retry = Effect.fnUntraced(function*(attempt: SendAttempt, busy: ProviderBusy) {
    const { claimed } = attempt
    if (busy.throttles === "channel") yield* channels.throttle(attempt, busy.retry_after_seconds)
    yield* settleSend(claimed, (send, context) => retryInTime({ claimed, send, timeout }, busy, context))
  })

  return { hold, reject, retry }
})

/** Makes the operations that record an outcome of a claimed send and settle the claim. */
export const makeOutcomes = Effect.gen(function*() {
  const provider = yield* MessagingProvider
  const settleSend = yield* makeSettleSend
  const timeout = yield* UnknownOutcomeTimeout

  const failSend = (claimed: ClaimedWork, reason: FailureReason) =>
    settleSend(claimed, (send, context) => Changes.all(fail(send, reason, context), Changes.finish(claimed)))

  /** Handles an attempt whose outcome is not known: the provider accepted it, or did not. */
  const handleUnknownOutcome = (claimed: ClaimedWork) =>
    settleSend(claimed, (row, context) => {
      const unsettled = { claimed, send: { ...row, may_be_sent: true }, timeout }
      return provider.dedup === "client_ref"
        ? retryInTime(unsettled, { reason: "outcome_unknown", retry_after_seconds: null }, context)
        : awaitCallback(unsettled, context)
    })

  /** Makes no further attempt of a send that keeps causing defects. */
  const abandon = (claimed: ClaimedWork) =>
    settleSend(claimed, (row, context) => {
      const send = { ...row, may_be_sent: isInDoubt(row) }
      return stop({ claimed, send, timeout }, "provider_unavailable", context)
    })

  return { ...yield* makeUnsent, abandon, complete: yield* makeComplete, fail: failSend, handleUnknownOutcome }
})
