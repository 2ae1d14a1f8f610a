/**
 * Dispatch: how the worker processes one send.
 *
 * The attempt is committed before the provider is called, together with the other
 * network IDs from which the recipient can reply. The next step depends on the outcome:
 *
 * - Accepted: the message and the completed send commit together.
 * - Rejected: the send fails. If the channel itself is rejected, its other sends wait
 *   until it is resumed (`ChannelHolds`), for a day at most.
 * - Busy, and certainly not sent: the send is retried with a backoff, for two minutes.
 *   If the channel is throttled, its other sends wait as long as the network asks for.
 * - Unknown: a retry could send the message twice. If the provider deduplicates by
 *   reference, the send is retried for two minutes. After that, and immediately for
 *   any other provider, the send is `unknown` until a callback reports its outcome.
 *   Without one it fails after 15 minutes. A later rejection does not fail it sooner,
 *   because it does not prove that the earlier attempt sent nothing.
 */
import { Context, DateTime, Duration, Effect, Layer, Metric, Option, Result, Schedule } from "effect"
import * as Holds from "../catalog/ChannelHolds.ts"
import { addAliases } from "../contacts/ContactIdentities.ts"
import { SendId } from "../kernel/Ids.ts"
import { send_attempts } from "../kernel/Metrics.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import { traced } from "../kernel/Traces.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext } from "../work/Decide.ts"
import type { ClaimedWork } from "../work/WorkQueue.ts"
import { isKnownContent } from "./Content.ts"
import {
  type Accepted,
  type FailureReason,
  MessagingProvider,
  type ProviderBusy,
  type ProviderHeld,
  ProviderOutcomeUnknown,
  type ProviderRejected
} from "./MessagingProvider.ts"
import { complete, fail, loader } from "./SendCompletion.ts"
import { isOpen, type OutgoingSend, type SendRow, SendRows, type SendStatus, SendStore, State } from "./Sends.ts"
import { attemptsOf, isInTime, nextAttempt } from "./SendSchedule.ts"

export { attemptsOf, nextAttempt, retry_time_max } from "./SendSchedule.ts"

// ----------------------------------------------------------- decisions

/** The timeout of one attempt, well below the lease of the work. */
export const attempt_time_max = Duration.seconds(20)

/** How long an `unknown` send waits for a callback before it fails: 15 minutes. */
export const UnknownOutcomeTimeout = Context.Reference<Duration.Duration>(
  "@messaging-crm/core/Dispatch/UnknownOutcomeTimeout",
  { defaultValue: () => Duration.minutes(15) }
)

/** How often recording an accepted message is retried, at intervals of a second: almost until the lease ends. */
const record_tries_max = 35

/** The longest time that a send waits for a paused or throttled channel before its first attempt: as long as a reply window. */
export const hold_time_max = Duration.hours(24)

/** The metric's `outcome` of an attempt that was not accepted. */
const outcomes = {
  ProviderRejected: "rejected",
  ProviderBusy: "busy",
  ProviderHeld: "held",
  ProviderOutcomeUnknown: "unknown"
} as const

const count = (outcome: string, reason = "none") =>
  Metric.update(Metric.withAttributes(send_attempts, { outcome, reason }), 1)

const finish = (claimed: ClaimedWork) => Changes.settle({ claimed, outcome: "finish" })

const postpone = (claimed: ClaimedWork, due_at: Timestamp) => Changes.settle({ claimed, outcome: "postpone", due_at })

/** A send as it is once its attempt has begun, and the status that it had before. */
interface Begun {
  readonly outgoing: OutgoingSend
  readonly before: SendStatus
}

/** A pause of a send, and the reason for which it fails if the pause is too long. */
interface Wait {
  readonly due_at: Timestamp
  readonly reason: FailureReason
}

/** A claimed send without an outcome. */
interface Unsettled {
  readonly claimed: ClaimedWork
  readonly send: SendRow
  /** How long the send waits for a callback once it is `unknown`. */
  readonly timeout: Duration.Duration
}

/** Marks a send as `unknown`, and enqueues the `send_outcome` work that fails it if no callback comes. */
const awaitCallback = ({ claimed, send, timeout }: Unsettled, { now }: DecisionContext): Changes.Changes =>
  Changes.all(
    SendRows.update(send, State.markUnknown(send)),
    Changes.enqueue({
      kind: "send_outcome",
      lane: send.id,
      ref: send.id,
      due_at: DateTime.addDuration(now, timeout)
    }),
    finish(claimed)
  )

/** Makes no further attempt: the send fails, or becomes `unknown` if an attempt may have sent it. */
const stop = (unsettled: Unsettled, reason: FailureReason, context: DecisionContext): Changes.Changes => {
  const { claimed, send } = unsettled
  return send.may_be_sent
    ? awaitCallback(unsettled, context)
    : Changes.all(fail(send, reason, context), finish(claimed))
}

/** Postpones the attempt until a time, or makes none if the send would wait too long. */
const wait = (unsettled: Unsettled, { due_at, reason }: Wait, context: DecisionContext): Changes.Changes => {
  const { claimed, send } = unsettled
  const { created_at, first_attempt_at } = send
  const mayWait = first_attempt_at === null
    ? DateTime.isLessThanOrEqualTo(due_at, DateTime.addDuration(created_at, hold_time_max))
    : isInTime({ first_attempt_at }, due_at)
  if (mayWait) return postpone(claimed, due_at)
  // A send that is still `sending` lost its worker during an attempt, which may have sent it.
  const { may_be_sent } = State.begin(send, context.now)
  return stop({ ...unsettled, send: { ...send, may_be_sent } }, reason, context)
}

/**
 * Returns when a waiting send is due again, or null if it does not wait. It waits for a worker of a newer version if this one
 * does not support its content, or for its channel.
 */
const waitOf = ({ hold, send }: OutgoingSend, now: Timestamp): Wait | null => {
  if (!isKnownContent(send.content)) {
    return { due_at: DateTime.add(now, { seconds: 30 }), reason: "provider_unavailable" }
  }
  // A send that is `sending` lost its worker during an attempt. It must not wait, so that its unknown outcome is reported.
  const held = Option.filter(Holds.active(Option.fromNullOr(hold), now), () => send.status === "queued")
  const waitFor = (found: Holds.ChannelHold) => ({ due_at: Holds.nextCheck(found, send.id, now), reason: found.reason })
  return Option.getOrNull(Option.map(held, waitFor))
}

/** Begins an attempt. Returns null, and settles the work, if the send has already ended or its channel is held. */
const begin = (
  claimed: ClaimedWork,
  outgoing: Option.Option<OutgoingSend>,
  { expectedAliases, timeout }: {
    readonly expectedAliases: MessagingProvider["Service"]["expectedAliases"]
    readonly timeout: Duration.Duration
  },
  context: DecisionContext
): Changes.Decision<Begun | null> => {
  const { now } = context
  if (Option.isNone(outgoing) || !isOpen(outgoing.value.send)) return { result: null, changes: finish(claimed) }
  const { channel, identity_id, send } = outgoing.value
  const waiting = waitOf(outgoing.value, now)
  if (waiting !== null) return { result: null, changes: wait({ claimed, send, timeout }, waiting, context) }
  const set = State.begin(send, now)
  const aliases = expectedAliases?.(channel, send.recipient) ?? []
  return {
    result: {
      outgoing: { ...outgoing.value, send: { ...send, ...set, version: send.version + 1 } },
      before: send.status
    },
    changes: Changes.all(
      SendRows.update(send, set),
      addAliases(channel.type, identity_id, aliases),
      Changes.settle({ claimed, outcome: "hold" })
    )
  }
}

// ---------------------------------------------------------- operations

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
      const { run, settle } = yield* Decide
      const holds = yield* Holds.ChannelHoldStore
      const loadCompletion = yield* loader
      const provider = yield* MessagingProvider
      const store = yield* SendStore
      const timeout = yield* UnknownOutcomeTimeout

      const find = ({ organization_id, ref }: ClaimedWork) => store.find(organization_id, SendId.make(ref))

      /** Settles the claim with the changes that follow for the send, or with none if it has already ended. */
      const settleSend = (
        claimed: ClaimedWork,
        changesOf: (send: SendRow, context: DecisionContext) => Changes.Changes
      ) =>
        settle(claimed, {
          load: find(claimed),
          decide: (send, context) => ({
            result: undefined,
            changes: Option.match(Option.filter(send, isOpen), {
              onNone: () => finish(claimed),
              onSome: (row) => changesOf(row, context)
            })
          })
        })

      const failNow = (claimed: ClaimedWork, reason: FailureReason) =>
        settleSend(claimed, (send, context) => Changes.all(fail(send, reason, context), finish(claimed)))

      const stopNow = (claimed: ClaimedWork, reason: FailureReason) =>
        settleSend(claimed, (send, context) => stop({ claimed, send, timeout }, reason, context))

      /** Changes the hold of a send's channel, and returns whether that changed anything. */
      const changeHold = (
        { organization_id }: ClaimedWork,
        { channel_id }: SendRow,
        change: (found: Option.Option<Holds.ChannelHoldRow>, now: Timestamp) => Changes.Changes
      ) =>
        run(organization_id, {
          load: holds.find(organization_id, channel_id),
          decide: (found, { now }) => {
            const changes = change(found, now)
            return Result.succeed({ result: !Changes.isNone(changes), changes })
          }
        })

      const pauseChannel = Effect.fnUntraced(function*(claimed: ClaimedWork, send: SendRow, reason: FailureReason) {
        const { channel_id } = send
        const isNew = yield* changeHold(claimed, send, (found, now) => Holds.pause(found, channel_id, reason, now))
        const log = Effect.logError("Channel paused; its sends wait")
        if (isNew) yield* Effect.annotateLogs(log, { channel_id, reason })
      })

      /** Lets a send wait with its channel, as if the attempt had not begun. */
      const holdSend = Effect.fnUntraced(function*(claimed: ClaimedWork, send: SendRow, { reason }: ProviderHeld) {
        yield* pauseChannel(claimed, send, reason)
        yield* settleSend(claimed, (send, { now }) => {
          const hold = { held_at: now, until: null, level: 0 }
          return Changes.all(
            send.may_be_sent ? Changes.none : SendRows.update(send, { ...State.requeue(send), first_attempt_at: null }),
            postpone(claimed, Holds.nextCheck(hold, send.id, now))
          )
        })
      })

      /** Fails a send. If its channel itself was rejected, the other sends of the channel wait from now on. */
      const reject = Effect.fnUntraced(function*(
        claimed: ClaimedWork,
        send: SendRow,
        { pauses_channel = false, reason }: ProviderRejected
      ) {
        if (pauses_channel) yield* pauseChannel(claimed, send, reason)
        yield* stopNow(claimed, reason)
      })

      /**
       * Records that the provider accepted the send.
       *
       * Only this process knows that the message was accepted, so it retries for almost the whole lease.
       */
      const completeNow = (claimed: ClaimedWork, outgoing: OutgoingSend, accepted: Accepted) => {
        const { channel_id, id: send_id } = outgoing.send
        const { provider_message_id } = accepted
        const load = (begun?: OutgoingSend) =>
          loadCompletion(claimed.organization_id, { channel_id, provider_message_id, send_id }, begun)
        return settle(claimed, {
          initial: load(outgoing),
          load: load(),
          decide: (loaded, context) => ({
            result: undefined,
            changes: Changes.all(
              complete(loaded, accepted, [], context),
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

      const retry = Effect.fnUntraced(function*(
        claimed: ClaimedWork,
        send: SendRow,
        { reason, retry_after_seconds, throttles }: ProviderBusy
      ) {
        const { channel_id, first_attempt_at } = send
        if (throttles === "channel") {
          yield* changeHold(
            claimed,
            send,
            (found, now) => Holds.throttle(found, channel_id, retry_after_seconds, now)
          )
        }
        const now = yield* DateTime.now
        const [first, pauses] = [first_attempt_at ?? now, throttles === "recipient" ? throttles : "usual"] as const
        const attempt = attemptsOf(claimed.attempt, first, now, pauses)
        const due_at = nextAttempt(attempt, first, now, retry_after_seconds, pauses)
        if (Option.isNone(due_at)) return yield* stopNow(claimed, reason)
        yield* settleSend(claimed, (send) =>
          Changes.all(
            send.may_be_sent ? Changes.none : SendRows.update(send, State.requeue(send)),
            postpone(claimed, due_at.value)
          ))
      })

      /** Handles an attempt whose outcome is not known: the provider accepted it, or did not. */
      const handleUnknownOutcome = Effect.fnUntraced(function*(
        claimed: ClaimedWork,
        { first_attempt_at }: SendRow
      ) {
        const now = yield* DateTime.now
        const due_at = provider.dedup === "client_ref"
          ? nextAttempt(claimed.attempt, first_attempt_at ?? now, now, null)
          : Option.none()
        yield* settleSend(claimed, (send, context) =>
          Option.isNone(due_at)
            ? awaitCallback({ claimed, send, timeout }, context)
            : Changes.all(SendRows.update(send, { may_be_sent: true }), postpone(claimed, due_at.value)))
      })

      const deliver = (claimed: ClaimedWork, outgoing: OutgoingSend) => {
        const { channel, send } = outgoing
        const { content, id: reference, recipient } = send
        return provider.deliver({ channel, reference, recipient, content }).pipe(
          Effect.timeoutOrElse({ duration: attempt_time_max, orElse: () => Effect.fail(new ProviderOutcomeUnknown()) }),
          Effect.withSpan("MessagingProvider.deliver", { kind: "client" }),
          Effect.tap(() => count("accepted")),
          Effect.tapError((error) => count(outcomes[error._tag], "reason" in error ? error.reason : "none")),
          Effect.matchEffect({
            onSuccess: (accepted) => completeNow(claimed, outgoing, accepted),
            onFailure: (error) => {
              switch (error._tag) {
                case "ProviderRejected":
                  return reject(claimed, send, error)
                case "ProviderBusy":
                  return retry(claimed, send, error)
                case "ProviderHeld":
                  return holdSend(claimed, send, error)
                case "ProviderOutcomeUnknown":
                  return handleUnknownOutcome(claimed, send)
              }
            }
          })
        )
      }

      const attempt = traced("Dispatch.attempt")(function*(claimed: ClaimedWork) {
        const begun = yield* settle(claimed, {
          load: store.load(claimed.organization_id, SendId.make(claimed.ref)),
          decide: (outgoing, context) =>
            begin(claimed, outgoing, { expectedAliases: provider.expectedAliases, timeout }, context)
        })
        if (begun === null) return
        // A send that is already `sending` lost its worker during an attempt, whose outcome is therefore unknown.
        yield* begun.before !== "queued" && provider.dedup !== "client_ref"
          ? handleUnknownOutcome(claimed, begun.outgoing.send)
          : deliver(claimed, begun.outgoing)
      })

      const expireOutcome = traced("Dispatch.expireOutcome")(function*(claimed: ClaimedWork) {
        yield* failNow(claimed, "outcome_unknown")
      })

      const abandon = traced("Dispatch.abandon")(function*(claimed: ClaimedWork) {
        yield* claimed.kind === "send"
          ? stopNow(claimed, "provider_unavailable")
          : failNow(claimed, "outcome_unknown")
      })

      return Dispatch.of({ attempt, expireOutcome, abandon })
    })
  )
}
