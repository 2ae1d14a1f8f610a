/**
 * Message retention: the removal of old messages and sends, if an operator sets an age (contract §16).
 */
import { Context, Duration, Effect, Layer } from "effect"
import { purgeOlderThan } from "../kernel/Loops.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"

/**
 * The age after which a message and a send are removed; infinite by default. A reference, so that an operator can
 * change it.
 *
 * Below 30 days, a network that repeats an old report or callback could store a removed message again.
 */
export const MessageAgeMax = Context.Reference<Duration.Duration>(
  "@messaging-crm/core/MessageRetention/MessageAgeMax",
  { defaultValue: () => Duration.infinity }
)

// ---------------------------------------------------------------- port

/**
 * Port: removes old messages and sends of every organization.
 *
 * **Contract** (checked by `conformance/Ports/MessageRetention.ts`)
 *
 * - `purge` removes sends that have ended and were accepted before a time. Once none is left, it removes messages that were
 *   stored before the time, so that no send names a removed message.
 * - A message, its file, the row of its provider ID, and the resources of its events are removed together.
 * - `last_activity_preview` becomes null where it is of a removed message. Nothing else of conversations and
 *   contacts changes.
 * - One call removes at most `limit` rows, the oldest first, and returns their number.
 */
export class MessageRetentionStore extends Context.Service<MessageRetentionStore, {
  readonly purge: (before: Timestamp, limit: number) => Effect.Effect<number>
}>()("@messaging-crm/core/MessageRetention/MessageRetentionStore") {}

// ---------------------------------------------------------- operations

export class MessageRetention extends Context.Service<MessageRetention, {
  /** Removes one batch of sends or messages older than `MessageAgeMax`, and returns its size. */
  readonly purge: Effect.Effect<number>
}>()("@messaging-crm/core/MessageRetention") {
  static readonly layer = Layer.effect(
    MessageRetention,
    Effect.gen(function*() {
      const age_max = yield* MessageAgeMax
      const store = yield* MessageRetentionStore
      // Small batches, because one message can have a file of 16 MB.
      const purge = purgeOlderThan(age_max, store.purge, 500)
      return MessageRetention.of({ purge: Duration.isFinite(age_max) ? purge : Effect.succeed(0) })
    })
  )
}
