/**
 * Housekeeping: the tasks that every worker repeats alongside its work.
 *
 * It sweeps the queue, deletes expired data, and encrypts stored secrets with the newest key.
 */
import { DateTime, Duration, Effect } from "effect"
import { ChannelAccounts } from "./catalog/ChannelAccounts.ts"
import { Events } from "./events/Events.ts"
import { logAndPause, pollPause } from "./kernel/Loops.ts"
import { Media } from "./messages/Media.ts"
import { MessageRetention } from "./messages/MessageRetention.ts"
import { Messages } from "./messages/Messages.ts"
import { Webhooks } from "./webhooks/Webhooks.ts"
import { Audit } from "./work/Audit.ts"
import { Idempotency } from "./work/Idempotency.ts"
import { SecretCanary } from "./work/SecretCanary.ts"
import { StorageUse } from "./work/StorageUse.ts"
import { WorkQueue } from "./work/WorkQueue.ts"

const sweep_interval = Duration.seconds(15)
const hourly_interval = Duration.hours(1)

/** Repeats a purge of one batch until it deletes nothing. */
const untilNone = (purge: Effect.Effect<number>) => Effect.repeat(purge, { until: (removed) => removed === 0 })

/** Repeats a task, with a pause after each run. */
const repeat = (task: Effect.Effect<unknown>, interval: Duration.Duration) =>
  Effect.forever(Effect.andThen(task, pollPause(Effect.sleep(interval))))

type Purging = Audit | Events | Idempotency | Media | MessageRetention | Messages | StorageUse

/** The purges of expired data of every organization, each of one batch. */
export const purges: Readonly<Record<string, Effect.Effect<number, never, Purging>>> = {
  "idempotency records": Idempotency.use(({ purge }) => purge),
  "events and deliveries": Events.use(({ purge }) => purge),
  "early updates": Messages.use(({ purgeEarlyUpdates }) => purgeEarlyUpdates),
  "old messages and sends": MessageRetention.use(({ purge }) => purge),
  "unfinished files": Media.use(({ purgeUnfinished }) => purgeUnfinished),
  "audit records": Audit.use(({ purge }) => purge),
  "storage sums": StorageUse.use(({ purge }) => purge)
}

/** Makes the loop of all tasks, which ends only if it is interrupted. */
export const make = Effect.gen(function*() {
  const accounts = yield* ChannelAccounts
  const canary = yield* SecretCanary
  const queue = yield* WorkQueue
  const webhooks = yield* Webhooks
  const services = yield* Effect.context<Purging>()

  const sweep = Effect.flatMap(DateTime.now, queue.sweep)
  const reseal = Effect.andThen(Effect.all([webhooks.reseal, accounts.reseal], { discard: true }), canary.reseal)
  const hourly = [
    ...Object.entries(purges).map(([what, purge]) =>
      logAndPause(`The purge of ${what}`)(untilNone(Effect.provideContext(purge, services)))
    ),
    logAndPause("The resealing of secrets")(reseal)
  ]

  return Effect.all([
    repeat(logAndPause("The sweep")(sweep), sweep_interval),
    // A task that fails does not prevent the others.
    repeat(Effect.all(hourly, { discard: true }), hourly_interval)
  ], { concurrency: "unbounded", discard: true }).pipe(Effect.withTracerEnabled(false))
})
