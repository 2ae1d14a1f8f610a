/**
 * Dispatch: how the worker carries out one send.
 *
 * The attempt is committed before the provider is asked, and the provider is
 * asked outside any unit of work. What follows from its answer:
 *
 * - taken: the message and the ended send commit together.
 * - refused for good: the send fails.
 * - certainly nothing sent: the send waits and is tried again, for two minutes.
 * - no answer: the send is never blindly repeated. A provider that deduplicates
 *   by reference is asked again; for any other the send is `unknown` until a
 *   callback tells, or fails after 15 minutes.
 */
import { Context, DateTime, Duration, Effect, Layer, Metric, Option } from "effect"
import { ChannelStore } from "./Channels.ts"
import { Events } from "./Events.ts"
import { Ids, type OrganizationId, SendId, WorkId } from "./Ids.ts"
import { MessageStore } from "./Messages.ts"
import {
  type Accepted,
  type Delivery,
  type FailureReason,
  MessagingProvider,
  ProviderSilent
} from "./MessagingProvider.ts"
import { send_attempts } from "./Metrics.ts"
import { begin, doubt, fail, isOpen, requeue, type Send, type SendRow, Sends, SendStore } from "./Sends.ts"
import type { Timestamp } from "./Timestamps.ts"
import { UnitOfWork } from "./UnitOfWork.ts"
import { type ClaimedWork, stillHeld, WorkQueue } from "./WorkQueue.ts"

// ---------------------------------------------------------- transitions

/** How long the provider may take to answer. Well below the lease of the work. */
export const attempt_time_max = Duration.seconds(20)
/** How long a send may hold up its conversation. */
export const retry_time_max = Duration.minutes(2)
/** How long a callback may still tell the outcome of a send without an answer: 15 minutes. */
export const DoubtTime = Context.Reference<Duration.Duration>("@messaging-crm/core/Dispatch/DoubtTime", {
  defaultValue: () => Duration.minutes(15)
})

const retry_delays_seconds = [1, 5, 15, 30, 60] as const

/** Returns when a send is tried again after this attempt, or none when its two minutes are over. */
export const nextAttempt = (
  attempt: number,
  first_attempt_at: Timestamp,
  now: Timestamp,
  retry_after_seconds: number | null
): Option.Option<Timestamp> => {
  const usual = retry_delays_seconds[Math.min(attempt, retry_delays_seconds.length) - 1] ?? 60
  const due_at = DateTime.add(now, { seconds: Math.max(usual, retry_after_seconds ?? 0) })
  const last = DateTime.addDuration(first_attempt_at, retry_time_max)
  return DateTime.isGreaterThan(due_at, last) ? Option.none() : Option.some(due_at)
}

/** What an attempt is counted as that the provider did not accept. */
const outcomes = { ProviderRejected: "rejected", ProviderBusy: "busy", ProviderSilent: "silent" } as const

const count = (outcome: string, reason = "none") =>
  Metric.update(Metric.withAttributes(send_attempts, { outcome, reason }), 1)

// ---------------------------------------------------------- operations

export class Dispatch extends Context.Service<Dispatch, {
  /** Carries out one attempt of a claimed `send`, and settles the claim. */
  readonly attempt: (claimed: ClaimedWork) => Effect.Effect<void>
  /** Gives up on a send whose outcome is still unknown, and settles the claimed `send_outcome`. */
  readonly giveUp: (claimed: ClaimedWork) => Effect.Effect<void>
}>()("@messaging-crm/core/Dispatch") {
  static readonly layer = Layer.effect(
    Dispatch,
    Effect.gen(function*() {
      const channels = yield* ChannelStore
      const doubt_time = yield* DoubtTime
      const events = yield* Events
      const ids = yield* Ids
      const messages = yield* MessageStore
      const provider = yield* MessagingProvider
      const sends = yield* Sends
      const store = yield* SendStore
      const unitOfWork = yield* UnitOfWork
      const work = yield* WorkQueue

      const tellFailure = (organization_id: OrganizationId, send: Send, failure_reason: FailureReason) =>
        events.raise(organization_id, {
          type: "send.failed",
          data: { conversation_id: send.conversation_id, send_id: send.id, failure_reason }
        })

      /**
       * Changes the locked send, if it is still open, and settles the claim with
       * it, all or nothing: a claim that was taken away may not undo what the
       * next one did.
       */
      const settle = (
        claimed: ClaimedWork,
        change: (send: Send) => Send,
        settlement: Effect.Effect<boolean>
      ) =>
        Effect.gen(function*() {
          const { organization_id } = claimed
          const row = yield* store.lock(organization_id, SendId.make(claimed.ref))
          if (Option.isSome(row) && isOpen(row.value.send)) {
            const send = change(row.value.send)
            yield* store.update(organization_id, { ...row.value, send })
            if (send.failure_reason !== null) yield* tellFailure(organization_id, send, send.failure_reason)
          }
          yield* Effect.flatMap(settlement, stillHeld)
        }).pipe(unitOfWork.transact, Effect.catchTag("Superseded", () => Effect.void))

      /** Commits the beginning of the attempt. Returns the send as it was before, or none when it has ended. */
      const beginAttempt = (claimed: ClaimedWork) =>
        Effect.gen(function*() {
          const found = yield* store.lock(claimed.organization_id, SendId.make(claimed.ref))
          if (Option.isNone(found) || !isOpen(found.value.send)) return Option.none<SendRow>()
          const first_attempt_at = found.value.first_attempt_at ?? (yield* DateTime.now)
          const row = { ...found.value, first_attempt_at }
          yield* store.update(claimed.organization_id, { ...row, send: begin(row.send) })
          return Option.some(row)
        }).pipe(unitOfWork.transact)

      const complete = (claimed: ClaimedWork, row: SendRow, accepted: Accepted) =>
        messages.hold(row.channel_id, accepted.provider_message_id).pipe(
          Effect.andThen(sends.complete(claimed.organization_id, row.send.id, accepted)),
          Effect.andThen(work.finish(claimed)),
          unitOfWork.transact
        )

      const failNow = (claimed: ClaimedWork, reason: FailureReason) =>
        settle(claimed, (send) => fail(send, reason), work.finish(claimed))

      const retry = Effect.fnUntraced(function*(
        claimed: ClaimedWork,
        row: SendRow,
        reason: FailureReason,
        retry_after_seconds: number | null,
        change: (send: Send) => Send
      ) {
        const now = yield* DateTime.now
        const due_at = nextAttempt(claimed.attempt, row.first_attempt_at ?? now, now, retry_after_seconds)
        if (Option.isNone(due_at)) return yield* failNow(claimed, reason)
        yield* settle(claimed, change, work.postpone(claimed, due_at.value))
      })

      const wait = Effect.fnUntraced(function*(claimed: ClaimedWork) {
        const id = WorkId.make(yield* ids.uuid)
        const due_at = DateTime.addDuration(yield* DateTime.now, doubt_time)
        const outcome = { id, kind: "send_outcome" as const, lane: claimed.ref, ref: claimed.ref }
        const settlement = Effect.tap(
          work.finish(claimed),
          (held) => held ? work.enqueue(claimed.organization_id, outcome, due_at) : Effect.void
        )
        yield* settle(claimed, doubt, settlement)
      })

      /** What to do when nobody knows whether the message was taken. */
      const silence = Effect.fnUntraced(function*(claimed: ClaimedWork, row: SendRow) {
        if (provider.dedup !== "client_ref") return yield* wait(claimed)
        const now = yield* DateTime.now
        const due_at = nextAttempt(claimed.attempt, row.first_attempt_at ?? now, now, null)
        if (Option.isNone(due_at)) return yield* wait(claimed)
        yield* settle(claimed, (send) => send, work.postpone(claimed, due_at.value))
      })

      const ask = (claimed: ClaimedWork, row: SendRow, delivery: Delivery) =>
        provider.deliver(delivery).pipe(
          Effect.timeoutOrElse({ duration: attempt_time_max, orElse: () => Effect.fail(new ProviderSilent()) }),
          Effect.withSpan("MessagingProvider.deliver", { kind: "client" }),
          Effect.tap(() => count("accepted")),
          Effect.tapError((error) => count(outcomes[error._tag], "reason" in error ? error.reason : "none")),
          Effect.matchEffect({
            onSuccess: (accepted) => complete(claimed, row, accepted),
            onFailure: (error) => {
              switch (error._tag) {
                case "ProviderRejected":
                  return failNow(claimed, error.reason)
                case "ProviderBusy":
                  return retry(claimed, row, error.reason, error.retry_after_seconds, requeue)
                case "ProviderSilent":
                  return silence(claimed, row)
              }
            }
          })
        )

      const attempt = Effect.fn("Dispatch.attempt")(function*(claimed: ClaimedWork) {
        const begun = yield* beginAttempt(claimed)
        if (Option.isNone(begun)) return void (yield* work.finish(claimed))
        const row = begun.value
        // A send found `sending` lost its worker in mid-attempt: the same as an answer that never came.
        if (row.send.status !== "queued" && provider.dedup !== "client_ref") return yield* wait(claimed)
        const channel = yield* channels.find(claimed.organization_id, row.channel_id)
        yield* ask(claimed, row, {
          channel: Option.getOrThrow(channel),
          reference: row.send.id,
          recipient: row.recipient,
          content: row.content
        })
      })

      const giveUp = Effect.fn("Dispatch.giveUp")((claimed: ClaimedWork) => failNow(claimed, "outcome_unknown"))

      return Dispatch.of({ attempt, giveUp })
    })
  )
}
