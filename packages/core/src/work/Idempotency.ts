/**
 * Idempotency: a retried write gets the response of the first one (contract §5).
 *
 * The idempotency record is one of the changes of the operation: it commits
 * together with the effect, its events and its queued work. One never exists
 * without the other, so no recovery is needed. No lock is needed either: of two
 * equal requests, the second violates the unique key of the record.
 */
import { Cause, Context, DateTime, Duration, Effect, Layer, Option, Result, Schema } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import type { OrganizationId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { Secrets } from "../kernel/Secrets.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import { traced } from "../kernel/Traces.ts"
import type { RecordedResponse } from "./Changes.ts"
import { Commit, Unconfirmed } from "./Commit.ts"
import { OnlyCurrent, type RecordableResult, RecordResponse } from "./Decide.ts"
import { type StorageExhausted, StorageUse } from "./StorageUse.ts"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

// ---------------------------------------------------------------- data

/** Printable ASCII, with spaces inside but not at the ends. The OpenAPI document repeats it. */
export const key_pattern = /^[!-~][ -~]*[!-~]$/

/** Schema for an idempotency key: 8 to 200 printable ASCII characters, spaces inside included. */
export const IdempotencyKey = Schema.String.check(
  Schema.isBetweenLength(limits.idempotency_key_chars_min, limits.idempotency_key_chars_max),
  Schema.isPattern(key_pattern)
).pipe(Schema.brand("IdempotencyKey"))
export type IdempotencyKey = typeof IdempotencyKey.Type

/** The response of a write: a status and the exact bytes. */
export interface EncodedResponse {
  readonly status: number
  readonly body: Uint8Array
}

/** The stored response of a key's first use. */
export type IdempotencyRecord = Omit<RecordedResponse, "created_at" | "key">

/** A response, and whether it was replayed from the record. */
export interface Outcome extends EncodedResponse {
  readonly replayed: boolean
  /** The id of the request that carried out the operation. */
  readonly request_id: string
}

// -------------------------------------------------------------- errors

/** The key was already used for a different request. */
export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()("IdempotencyConflict", {}) {}

/**
 * It is not known yet whether a request with this key took effect: another one is
 * running, or the commit's outcome is unknown.
 */
export class RequestProcessing extends Schema.TaggedError<RequestProcessing>()("RequestProcessing", {}) {}

// ----------------------------------------------------------- decisions

/** Returns the key that a header's value is, or none for a malformed one. HTTP removes white space around the value. */
export const parseKey: (header: string) => Option.Option<IdempotencyKey> = Schema.decodeUnknownOption(IdempotencyKey)

/**
 * Returns the canonical text of JSON: keys sorted, no white space, similar to
 * RFC 8785. An absent member and null differ.
 */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? ""
  const entries = Object.entries(value).toSorted(([a], [b]) => a < b ? -1 : 1)
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(",")}}`
}

/** The age after which a record may be deleted. The contract promises 24 hours. */
export const record_age_max = Duration.hours(72)

/** What a record and its keys in indexes take, without the answer, in bytes. */
const record_bytes = 500

/** Returns whether it is not known if an operation took effect. */
const isUnconfirmed = <E>(cause: Cause.Cause<E>): boolean => Cause.squash(cause) instanceof Unconfirmed

// ---------------------------------------------------------------- port

/**
 * Port: reads and purges idempotency records. Commits write them.
 *
 * **Contract** (checked by `conformance/Idempotency.ts`)
 *
 * - `find` returns the exact bytes that were committed, and none for another organization's key.
 * - `purge` deletes at most `limit` records older than `before` and returns their number.
 */
export class IdempotencyStore extends Context.Service<IdempotencyStore, {
  readonly find: (
    organization_id: OrganizationId,
    key: IdempotencyKey
  ) => Effect.Effect<Option.Option<IdempotencyRecord>>
  readonly purge: (before: Timestamp, limit: number) => Effect.Effect<number>
}>()("@messaging-crm/core/Idempotency/IdempotencyStore") {}

// ---------------------------------------------------------- operations

export class Idempotency extends Context.Service<Idempotency, {
  /**
   * Runs `work` at most once for a key, and replays its record to later calls.
   *
   * **Details**
   *
   * `work` carries out one operation. `encode` encodes its answer once, and the
   * record commits together with its changes. The key is not looked up first. If
   * `work` fails or responds with 400 or above, the key is looked up, and its
   * record is replayed if there is one. Otherwise a response of 400 or above
   * commits its record alone. A typed failure or a defect leaves no record, so a
   * retry with the key runs `work` again. The record of a request that changed
   * nothing has no response: its replay is `work` with `OnlyCurrent`. Where the
   * organization has used up its storage budget, only records are replayed. `work` is not interrupted when the
   * client disconnects: the retry gets the recorded response.
   */
  readonly once: <E, R>(options: {
    readonly key: IdempotencyKey
    readonly fingerprint: string
    readonly request_id: string
    /** Whether the response is stored encrypted, because it contains a secret. */
    readonly is_secret: boolean
    /** Encodes the operation's answer as a response. */
    readonly encode: (answer: unknown) => Effect.Effect<EncodedResponse>
    readonly work: Effect.Effect<EncodedResponse, E, R>
  }) => Effect.Effect<Outcome, E | IdempotencyConflict | RequestProcessing | StorageExhausted, R | CurrentActor>
  /** Deletes one batch of records older than 72 hours, and returns their number. */
  readonly purge: Effect.Effect<number>
}>()("@messaging-crm/core/Idempotency") {
  static readonly layer = Layer.effect(
    Idempotency,
    Effect.gen(function*() {
      const { commit } = yield* Commit
      const secrets = yield* Secrets
      const store = yield* IdempotencyStore
      const use = yield* StorageUse

      const contextOf = (organization_id: OrganizationId, key: IdempotencyKey) => `answer|${organization_id}|${key}`

      const seal = Effect.fnUntraced(function*(organization_id: OrganizationId, key: IdempotencyKey, body: Uint8Array) {
        const sealed = yield* secrets.seal(contextOf(organization_id, key), decoder.decode(body))
        return { body: encoder.encode(sealed), sealed: true }
      })

      const open = Effect.fnUntraced(function*(
        organization_id: OrganizationId,
        key: IdempotencyKey,
        { body, sealed }: { readonly body: Uint8Array; readonly sealed: boolean }
      ) {
        if (!sealed) return body
        const text = yield* secrets.open(contextOf(organization_id, key), decoder.decode(body))
        if (Option.isSome(text)) return encoder.encode(text.value)
        return yield* Effect.die(new Error("No key of SECRET_KEY decrypts the recorded response."))
      })

      const once = traced("Idempotency.once")(function*<E, R>(options: {
        readonly key: IdempotencyKey
        readonly fingerprint: string
        readonly request_id: string
        readonly is_secret: boolean
        readonly encode: (answer: unknown) => Effect.Effect<EncodedResponse>
        readonly work: Effect.Effect<EncodedResponse, E, R>
      }) {
        const { encode, fingerprint, is_secret, key, request_id, work } = options
        const { organization_id } = yield* CurrentActor

        /** The bytes of the answer in the last record that was made. */
        let answer_bytes = 0

        const toRecord = ({ body, status }: EncodedResponse, created_at: Timestamp): Effect.Effect<RecordedResponse> =>
          Effect.map(
            is_secret ? seal(organization_id, key, body) : Effect.succeed({ body, sealed: false }),
            (stored) => {
              answer_bytes = stored.body.byteLength
              return { key, fingerprint, status, ...stored, request_id, created_at }
            }
          )

        const recordResponse = (
          answered: RecordableResult | null,
          created_at: Timestamp
        ): Effect.Effect<RecordedResponse> => {
          if (answered !== null) {
            return Effect.flatMap(encode(answered.answer), (encoded) => toRecord(encoded, created_at))
          }
          answer_bytes = 0
          return Effect.succeed({ key, fingerprint, status: null, body: null, sealed: false, request_id, created_at })
        }

        /** Returns the recorded response of the key, if there is one. */
        const replay = Effect.gen(function*() {
          const found = yield* store.find(organization_id, key)
          if (Option.isNone(found)) return Option.none<Outcome>()
          if (found.value.fingerprint !== fingerprint) return yield* new IdempotencyConflict()
          const { body, request_id, sealed, status } = found.value
          const answer: EncodedResponse = body === null || status === null
            ? yield* Effect.provideService(work, OnlyCurrent, true)
            : { status, body: yield* open(organization_id, key, { body, sealed }) }
          return Option.some<Outcome>({ ...answer, request_id, replayed: true })
        })

        /** Records a refusal, or replays the record if the key has one by now. */
        const refuse = (answer: EncodedResponse) =>
          Effect.gen(function*() {
            const replayed = yield* replay
            if (Option.isSome(replayed)) return replayed.value
            const record = yield* toRecord(answer, yield* DateTime.now)
            const committed = yield* Effect.result(commit(organization_id, { response: record }))
            if (Result.isSuccess(committed)) return { ...answer, request_id, replayed: false }
            return yield* Effect.flatMap(replay, (outcome) => Effect.fromOption(outcome, () => new RequestProcessing()))
          })

        /** After a failure: replays the record of this request's commit if its outcome was unknown, or of another request's. */
        const recover = (cause: Cause.Cause<E | IdempotencyConflict | RequestProcessing>) =>
          Effect.gen(function*() {
            const replayed = yield* replay
            if (Option.isSome(replayed)) return replayed.value
            return yield* isUnconfirmed(cause) ? new RequestProcessing() : Effect.failCause(cause)
          })

        const run = Effect.flatMap(
          Effect.provideService(work, RecordResponse, recordResponse),
          (answer): Effect.Effect<Outcome, E | IdempotencyConflict | RequestProcessing, R> =>
            answer.status >= 400 ? refuse(answer) : Effect.succeed({ ...answer, request_id, replayed: false })
        )
        /** Without storage for another record, a retry still gets its response. */
        const replayOnly = (exhausted: StorageExhausted) =>
          Effect.flatMap(replay, (outcome) => Effect.fromOption(outcome, () => exhausted))

        const outcome = yield* Effect.matchEffect(use.require(organization_id), {
          onFailure: replayOnly,
          onSuccess: () => Effect.catchCause(run, recover)
        })
        if (!outcome.replayed) yield* use.count(organization_id, record_bytes + answer_bytes, record_age_max)
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
