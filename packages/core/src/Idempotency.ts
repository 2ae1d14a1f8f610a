/**
 * Idempotency: a retried write answers as the first one did (spec §8).
 *
 * The record of a key commits in the same unit of work as the effect, its
 * events and its queued work. There is no instruction at which one exists
 * without the other, so nothing ever needs recovery.
 */
import { Context, Data, DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { CurrentActor } from "./Actor.ts"
import type { OrganizationId } from "./Ids.ts"
import { limits } from "./Limits.ts"
import { Secrets } from "./Secrets.ts"
import type { Timestamp } from "./Timestamps.ts"
import { UnitOfWork } from "./UnitOfWork.ts"
import { WorkSignal } from "./WorkQueue.ts"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

// ---------------------------------------------------------------- data

/** Schema for an idempotency key: 8 to 200 printable ASCII characters without spaces. */
export const IdempotencyKey = Schema.String.check(
  Schema.isBetweenLength(limits.idempotency_key_chars_min, limits.idempotency_key_chars_max),
  Schema.isPattern(/^[!-~]*$/)
).pipe(Schema.brand("IdempotencyKey"))
export type IdempotencyKey = typeof IdempotencyKey.Type

/** What a write answered: a status and the exact bytes. */
export interface Answer {
  readonly status: number
  readonly body: Uint8Array
}

/** A remembered use of a key. */
export interface IdempotencyRecord extends Answer {
  /** Whether the bytes are encrypted. */
  readonly sealed: boolean
  readonly fingerprint: string
  readonly request_id: string
}

/** How an answer came about: by running the work now, or from the record. */
export interface Outcome extends Answer {
  readonly replayed: boolean
  /** The id of the request that ran the work. */
  readonly request_id: string
}

// -------------------------------------------------------------- errors

/** The key was used before for a different request. */
export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()("IdempotencyConflict", {}) {}

/** A request with this key is running now. */
export class RequestProcessing extends Schema.TaggedError<RequestProcessing>()("RequestProcessing", {}) {}

/** Carries a refusal out of the unit of work that it undoes. */
class Refused extends Data.Error<{ readonly answer: Answer }> {}

// ---------------------------------------------------------- transitions

const parse = Schema.decodeUnknownOption(IdempotencyKey)

/** Returns the key of a header, trimmed, and without the quotes of a structured-field string; none when it is malformed. */
export const parseKey = (header: string): Option.Option<IdempotencyKey> => {
  const value = header.replace(/^[ \t]+|[ \t]+$/g, "")
  return parse(/^"[^"\\]*"$/.test(value) ? value.slice(1, -1) : value)
}

/**
 * Returns JSON as the one text that stands for it: keys sorted, no white space
 * (RFC 8785 in spirit). Absent and null differ.
 */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? ""
  const entries = Object.entries(value).toSorted(([a], [b]) => a < b ? -1 : 1)
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(",")}}`
}

/** How long a record is kept at least. Clients are promised 24 hours. */
export const record_age_max = Duration.hours(72)

// ---------------------------------------------------------------- port

/**
 * Port: where used keys are remembered.
 *
 * **Contract** (checked by `conformance/Idempotency.ts`)
 *
 * - `exclusively` runs `effect` as one unit of work while no other, in any
 *   process, runs for the same organization and key. When one does, it fails
 *   with `RequestProcessing` at once and runs nothing. A process that dies
 *   leaves the key free.
 * - `find` and `insert` join that unit of work. `find` returns the exact bytes.
 * - `purge` removes at most `limit` records older than `before` and answers how many.
 */
export class IdempotencyStore extends Context.Service<IdempotencyStore, {
  readonly exclusively: <A, E, R>(
    organization_id: OrganizationId,
    key: IdempotencyKey,
    effect: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | RequestProcessing, R>
  readonly find: (
    organization_id: OrganizationId,
    key: IdempotencyKey
  ) => Effect.Effect<Option.Option<IdempotencyRecord>>
  readonly insert: (
    organization_id: OrganizationId,
    key: IdempotencyKey,
    record: IdempotencyRecord,
    created_at: Timestamp
  ) => Effect.Effect<void>
  readonly purge: (before: Timestamp, limit: number) => Effect.Effect<number>
}>()("@messaging-crm/core/Idempotency/IdempotencyStore") {}

// ---------------------------------------------------------- operations

export class Idempotency extends Context.Service<Idempotency, {
  /**
   * Runs `work` at most once for a key, and answers later calls from its record.
   *
   * **Details**
   *
   * Everything `work` writes commits with its answer. An answer of 400 and above
   * undoes what `work` wrote and is remembered all the same; a typed failure or
   * a defect undoes it and is forgotten, so the key runs again. A caller who
   * hangs up changes nothing: the work goes on, and the retry finds its answer.
   */
  readonly once: <E, R>(options: {
    readonly key: IdempotencyKey
    readonly fingerprint: string
    readonly request_id: string
    /** Whether the answer is kept encrypted, because it holds a secret. */
    readonly is_secret: boolean
    readonly work: Effect.Effect<Answer, E, R>
  }) => Effect.Effect<Outcome, E | IdempotencyConflict | RequestProcessing, R | CurrentActor>
  /** Forgets the records that have been kept long enough, a batch at a time, and answers how many. */
  readonly purge: Effect.Effect<number>
}>()("@messaging-crm/core/Idempotency") {
  static readonly layer = Layer.effect(
    Idempotency,
    Effect.gen(function*() {
      const secrets = yield* Secrets
      const signal = yield* WorkSignal
      const store = yield* IdempotencyStore
      const unitOfWork = yield* UnitOfWork

      /** The inner unit of work, so that a refusal undoes the work but not its record. */
      const attempt = <E, R>(work: Effect.Effect<Answer, E, R>) =>
        work.pipe(
          Effect.flatMap((answer) =>
            answer.status >= 400 ? Effect.fail(new Refused({ answer })) : Effect.succeed(answer)
          ),
          unitOfWork.transact,
          Effect.catch((error) => error instanceof Refused ? Effect.succeed(error.answer) : Effect.fail(error))
        )

      const contextOf = (organization_id: OrganizationId, key: IdempotencyKey) => `answer|${organization_id}|${key}`

      const seal = Effect.fnUntraced(function*(organization_id: OrganizationId, key: IdempotencyKey, body: Uint8Array) {
        const sealed = yield* secrets.seal(contextOf(organization_id, key), decoder.decode(body))
        return { body: encoder.encode(sealed), sealed: true }
      })

      const open = Effect.fnUntraced(function*(
        organization_id: OrganizationId,
        key: IdempotencyKey,
        { body, sealed }: IdempotencyRecord
      ) {
        if (!sealed) return body
        const text = yield* secrets.open(contextOf(organization_id, key), decoder.decode(body))
        if (Option.isSome(text)) return encoder.encode(text.value)
        return yield* Effect.die(new Error("No key of SECRET_KEY opens the remembered answer."))
      })

      const once = Effect.fn("Idempotency.once")(function*<E, R>(options: {
        readonly key: IdempotencyKey
        readonly fingerprint: string
        readonly request_id: string
        readonly is_secret: boolean
        readonly work: Effect.Effect<Answer, E, R>
      }) {
        const { fingerprint, is_secret, key, request_id, work } = options
        const { organization_id } = yield* CurrentActor
        const run = Effect.gen(function*() {
          const found = yield* store.find(organization_id, key)
          if (Option.isSome(found)) {
            if (found.value.fingerprint !== fingerprint) return yield* new IdempotencyConflict()
            const { request_id, status } = found.value
            return { status, body: yield* open(organization_id, key, found.value), request_id, replayed: true }
          }
          const { body, status } = yield* attempt(work)
          const kept = is_secret ? yield* seal(organization_id, key, body) : { body, sealed: false }
          yield* store.insert(organization_id, key, { fingerprint, status, ...kept, request_id }, yield* DateTime.now)
          return { status, body, request_id, replayed: false }
        })
        const outcome = yield* store.exclusively(organization_id, key, run)
        yield* signal.notify
        return outcome
      }, Effect.uninterruptible)

      const purge = Effect.flatMap(
        DateTime.now,
        (now) => store.purge(DateTime.subtractDuration(now, record_age_max), 5000)
      )

      return Idempotency.of({ once, purge })
    })
  )
}
