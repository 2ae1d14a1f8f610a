/**
 * Storage use: the bytes that an organization stores for a time, within a budget (contract §16).
 *
 * A row is counted when it is stored. `Decide.ts` counts the rows of a commit, and rejects a request that would store more.
 *
 * Each process counts what it stores, and adds it to the database's sum one megabyte at a time. So no request waits for
 * the count, and the sum is exact to a megabyte for each process. Bytes are counted under the hour in which they expire.
 */
import { Context, DateTime, Duration, Effect, Layer, Schema } from "effect"
import type { OrganizationId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { purgeOlderThan } from "../kernel/Loops.ts"
import { utf8Bytes } from "../kernel/Text.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import { type Changes, event_age_max, fullBodyOf, type RaisedEvent, type RecordedResponse } from "./Changes.ts"
import type { SubscribedEvent } from "./Commit.ts"
import { record_age_max } from "./RecordedResponses.ts"
import { kind_rules } from "./WorkQueue.ts"

// ---------------------------------------------------------------- data

/** How many bytes an organization may have stored for a time. A reference, so that an operator can change it. */
export const StorageBudget = Context.Reference<number>("@messaging-crm/core/StorageUse/StorageBudget", {
  defaultValue: () => limits.stored_bytes_max
})

/** Bytes that are stored for a time. */
export interface Stored {
  readonly bytes: number
  readonly age_max: Duration.Duration
}

/**
 * The size of a row without its texts in PostgreSQL with its indexes, and how long it is kept. `adapter-postgres/test/StorageUse.test.ts`
 * compares these numbers with the sizes of the tables.
 */
const rows = {
  record: { bytes: 220, age_max: record_age_max },
  event: { bytes: 240, age_max: event_age_max },
  delivery: { bytes: 520, age_max: event_age_max },
  // An item can wait as long as its delivery has attempts left.
  work: { bytes: 600, age_max: Duration.hours(76) }
}

/** The bytes that a byte of text takes, because PostgreSQL cannot fill each page. */
const bytes_per_text_byte = 1.2

// -------------------------------------------------------------- errors

/** The organization's budget is used up. Nothing was written; bytes are free again as they expire. */
export class StorageExhausted extends Schema.TaggedError<StorageExhausted>()("StorageExhausted", {
  limit: Schema.Int
}) {}

// ----------------------------------------------------------- decisions

/** Returns what rows of a kind store, with their texts. */
const stored = (kind: keyof typeof rows, count: number, text_bytes = 0): ReadonlyArray<Stored> => {
  const { age_max, bytes } = rows[kind]
  return count === 0 ? [] : [{ bytes: Math.ceil(count * bytes + text_bytes * bytes_per_text_byte), age_max }]
}

const storedRecord = ({ body, key, request_id }: RecordedResponse): ReadonlyArray<Stored> =>
  // An index repeats the key.
  stored("record", 1, 2 * key.length + request_id.length + utf8Bytes(body ?? ""))

const storedEvent = (event: RaisedEvent, isFull: boolean): ReadonlyArray<Stored> =>
  stored("event", 1, utf8Bytes(event.body) + (isFull ? utf8Bytes(fullBodyOf(event) ?? "") : 0))

/** Returns what deliveries and their work store before their first attempt. */
const storedDeliveries = (count: number): ReadonlyArray<Stored> => [
  ...stored("delivery", count),
  ...stored("work", count)
]

/** Returns what an endpoint's response adds to a delivery that has another one. */
export const storedResponseBody = (response_body: string | null, before: string | null): Stored => ({
  bytes: Math.ceil(
    Math.max(0, utf8Bytes(response_body ?? "") - utf8Bytes(before ?? "")) * bytes_per_text_byte
  ),
  age_max: rows.delivery.age_max
})

/** Returns what a commit stores for a time: its record, its events with their deliveries, and its work. */
export const storedBy = (
  { enqueue = [], insert = [], raise = [], response }: Changes,
  subscribed: ReadonlyArray<SubscribedEvent> = []
): ReadonlyArray<Stored> => {
  const inserted = insert.flatMap(({ rows, table }) => table.name === "webhook_deliveries" ? rows : [])
  return [
    ...(response === undefined ? [] : storedRecord(response)),
    ...raise.flatMap((event) => storedEvent(event, subscribed.some(({ id, is_full }) => is_full && id === event.id))),
    ...storedDeliveries(subscribed.reduce((sum, { deliveries }) => sum + deliveries, 0)),
    ...stored("delivery", inserted.length),
    ...stored("work", enqueue.filter(({ kind }) => kind_rules[kind].is_counted).length)
  ]
}

/** How many bytes of an organization a process counts before it adds them to the sum. */
const flush_bytes = 1_000_000

const hour_millis = Duration.toMillis("1 hour")

/** Returns the end of the hour in which bytes that are stored now expire, in milliseconds. */
const expiryOf = (now: Timestamp, age_max: Duration.Duration): number =>
  hour_millis * (Math.floor((DateTime.toEpochMillis(now) + Duration.toMillis(age_max)) / hour_millis) + 1)

/** The bytes of an organization that a process knows of. */
interface Tally {
  /** The database's sum when it was last added to. */
  sum: number
  /** Bytes that are not in the sum yet, by the time of expiry in milliseconds. */
  pending: Map<number, number>
  pending_bytes: number
  /** The number of pending bytes at which they are added to the sum. */
  flush_at_bytes: number
}

/** Returns a tally whose first bytes are added immediately, because the result of that is the sum. */
const newTally = (): Tally => ({ sum: 0, pending: new Map(), pending_bytes: 0, flush_at_bytes: 1 })

const addPending = (tally: Tally, expires_at: number, bytes: number): void => {
  tally.pending.set(expires_at, (tally.pending.get(expires_at) ?? 0) + bytes)
  tally.pending_bytes += bytes
}

/** Takes the pending bytes, to add them to the sum. */
const takePending = (tally: Tally): Map<number, number> => {
  const { pending } = tally
  tally.pending = new Map()
  tally.pending_bytes = 0
  tally.flush_at_bytes = flush_bytes
  return pending
}

/** Makes bytes pending again that could not be added. They are added with the next megabyte. */
const restorePending = (tally: Tally, expires_at: number, bytes: number): void => {
  addPending(tally, expires_at, bytes)
  tally.flush_at_bytes = tally.pending_bytes + flush_bytes
}

// ---------------------------------------------------------------- port

/**
 * Port: the sums of bytes by organization and time of expiry.
 *
 * **Contract** (checked by `conformance/Ports/StorageUse.ts`)
 *
 * - `add` adds bytes that expire at a time, and returns all bytes of the organization that expire after `now`.
 *   Concurrent calls all count. Without bytes it writes nothing.
 * - `purge` deletes at most `limit` sums that have expired before a time, the oldest first, and returns their number.
 */
export class StorageUseStore extends Context.Service<StorageUseStore, {
  readonly add: (
    organization_id: OrganizationId,
    use: { readonly bytes: number; readonly expires_at: Timestamp },
    now: Timestamp
  ) => Effect.Effect<number>
  readonly purge: (before: Timestamp, limit: number) => Effect.Effect<number>
}>()("@messaging-crm/core/StorageUse/StorageUseStore") {}

// ---------------------------------------------------------- operations

/** The maximum number of organizations whose tallies a process keeps. */
const tallies_max = 10_000

/** Counts the stored bytes of each organization, and checks its budget. */
export class StorageUse extends Context.Service<StorageUse, {
  /** Counts bytes that an organization has stored, each for a time. It returns without a statement. */
  readonly count: (organization_id: OrganizationId, stored: ReadonlyArray<Stored>) => Effect.Effect<void>
  /** Fails if the organization's budget is used up. Reads the database only in that case. */
  readonly require: (organization_id: OrganizationId) => Effect.Effect<void, StorageExhausted>
  /** Deletes one batch of expired sums, and returns their number. */
  readonly purge: Effect.Effect<number>
}>()("@messaging-crm/core/StorageUse") {
  static readonly layer = Layer.effect(
    StorageUse,
    Effect.gen(function*() {
      const budget = yield* StorageBudget
      const store = yield* StorageUseStore
      const tallies = new Map<OrganizationId, Tally>()

      const tallyOf = (organization_id: OrganizationId): Tally => {
        const found = tallies.get(organization_id)
        if (found !== undefined) return found
        const made = newTally()
        tallies.set(organization_id, made)
        return made
      }

      /** Adds the pending bytes to the sum. If that fails, they stay pending. It is not interrupted, so that none are lost. */
      const add = Effect.fnUntraced(function*(organization_id: OrganizationId, tally: Tally) {
        const pending = takePending(tally)
        const now = yield* DateTime.now
        // Adding no bytes returns the sum.
        if (pending.size === 0) pending.set(DateTime.toEpochMillis(now), 0)
        for (const [expires_at, bytes] of pending) {
          const use = { bytes, expires_at: DateTime.makeUnsafe(expires_at) }
          tally.sum = yield* store.add(organization_id, use, now).pipe(
            Effect.catchCause(() => {
              restorePending(tally, expires_at, bytes)
              return Effect.succeed(tally.sum)
            })
          )
        }
      }, Effect.uninterruptible)

      // Starts immediately, because otherwise each further request of this event-loop turn would start another.
      const addSoon = (organization_id: OrganizationId, tally: Tally) =>
        Effect.asVoid(Effect.forkDetach(add(organization_id, tally), { startImmediately: true }))

      /** Forgets the organizations above the maximum, the first ones first. */
      const evict = Effect.suspend(() => {
        const [oldest] = tallies
        if (oldest === undefined || tallies.size <= tallies_max) return Effect.void
        const [organization_id, tally] = oldest
        tallies.delete(organization_id)
        return tally.pending_bytes === 0 ? Effect.void : addSoon(organization_id, tally)
      })

      const isExhausted = (tally: Tally): boolean => tally.sum + tally.pending_bytes >= budget

      return StorageUse.of({
        count: (organization_id, stored) =>
          stored.length === 0 ? Effect.void : Effect.flatMap(DateTime.now, (now) => {
            const tally = tallyOf(organization_id)
            for (const { age_max, bytes } of stored) addPending(tally, expiryOf(now, age_max), bytes)
            return Effect.andThen(
              tally.pending_bytes < tally.flush_at_bytes ? Effect.void : addSoon(organization_id, tally),
              evict
            )
          }),
        require: (organization_id) =>
          Effect.suspend(() => {
            const tally = tallies.get(organization_id)
            if (tally === undefined || !isExhausted(tally)) return Effect.void
            return Effect.flatMap(
              add(organization_id, tally),
              () => isExhausted(tally) ? Effect.fail(new StorageExhausted({ limit: budget })) : Effect.void
            )
          }),
        purge: purgeOlderThan(Duration.zero, store.purge)
      })
    })
  )
}
