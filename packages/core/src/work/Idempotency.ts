/**
 * Idempotency: a retried write answers as the first one did (spec §8).
 *
 * The idempotency record of a key is one of the changes of the operation: it
 * commits with the effect, its events and its queued work. There is no
 * instruction at which one exists without the other, so nothing ever needs
 * recovery, and no lock is needed: the record's key lets one of two win.
 */
import { Cause, Context, DateTime, Duration, Effect, Layer, Option, Result, Schema } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import type { OrganizationId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { Secrets } from "../kernel/Secrets.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import type { Remembered } from "./Changes.ts"
import { Commit, Conflict } from "./Commit.ts"
import { Remember } from "./Decide.ts"

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

/** What a write answered: a status and the exact bytes. */
export interface Answer {
  readonly status: number
  readonly body: Uint8Array
}

/** A remembered use of a key. */
export type IdempotencyRecord = Omit<Remembered, "created_at" | "key">

/** How an answer came about: by running the work now, or from the record. */
export interface Outcome extends Answer {
  readonly replayed: boolean
  /** The id of the request that ran the work. */
  readonly request_id: string
}

// -------------------------------------------------------------- errors

/** The key was used before for a different request. */
export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()("IdempotencyConflict", {}) {}

/** Whether a request with this key took effect cannot be known yet: another one is running, or the database did not say. */
export class RequestProcessing extends Schema.TaggedError<RequestProcessing>()("RequestProcessing", {}) {}

// ----------------------------------------------------------- decisions

const parse = Schema.decodeUnknownOption(IdempotencyKey)

/** The longest key as a structured-field string: in quotes, each of its characters escaped. */
const header_chars_max = 2 * limits.idempotency_key_chars_max + 2

const trim = (value: string): string => value.replace(/^[ \t]+|[ \t]+$/g, "")

/** Returns the key of a header, trimmed, and read as a structured-field string where it is one; none when it is malformed. */
export const parseKey = (header: string): Option.Option<IdempotencyKey> => {
  if (header.length > header_chars_max) return Option.none()
  const value = trim(header)
  const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(value)?.[1]
  return parse(quoted === undefined ? value : trim(quoted.replace(/\\(["\\])/g, "$1")))
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

/** Returns whether the failure is that others kept changing what was decided on. */
const isConflict = <E>(cause: Cause.Cause<E>): boolean => Cause.squash(cause) instanceof Conflict

// ---------------------------------------------------------------- port

/**
 * Port: where idempotency records are read. They are written by commits.
 *
 * **Contract** (checked by `conformance/Idempotency.ts`)
 *
 * - `find` returns the exact bytes that were committed, and none for another organization's key.
 * - `purge` removes at most `limit` records older than `before` and answers how many.
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
   * Runs `work` at most once for a key, and answers later calls from its record.
   *
   * **Details**
   *
   * `work` carries out one operation. Its answer is encoded once, by `encode`,
   * and its record commits with what it changes. Nothing is looked up before:
   * whatever keeps the work from committing, the key is looked up then, and the
   * call is answered from the record if there is one. Else an answer of 400 and
   * above commits its record alone; a typed failure or a defect leaves none, so
   * the key runs again. A caller who hangs up changes nothing: the work goes on,
   * and the retry finds its answer.
   */
  readonly once: <E, R>(options: {
    readonly key: IdempotencyKey
    readonly fingerprint: string
    readonly request_id: string
    /** Whether the answer is kept encrypted, because it holds a secret. */
    readonly is_secret: boolean
    /** Returns the bytes of what the operation answers. */
    readonly encode: (answer: unknown) => Effect.Effect<Answer>
    readonly work: Effect.Effect<Answer, E, R>
  }) => Effect.Effect<Outcome, E | IdempotencyConflict | RequestProcessing, R | CurrentActor>
  /** Forgets the records that have been kept long enough, a batch at a time, and answers how many. */
  readonly purge: Effect.Effect<number>
}>()("@messaging-crm/core/Idempotency") {
  static readonly layer = Layer.effect(
    Idempotency,
    Effect.gen(function*() {
      const { commit } = yield* Commit
      const secrets = yield* Secrets
      const store = yield* IdempotencyStore

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
        readonly encode: (answer: unknown) => Effect.Effect<Answer>
        readonly work: Effect.Effect<Answer, E, R>
      }) {
        const { encode, fingerprint, is_secret, key, request_id, work } = options
        const { organization_id } = yield* CurrentActor

        const toRecord = Effect.fnUntraced(function*({ body, status }: Answer, created_at: Timestamp) {
          const stored = is_secret ? yield* seal(organization_id, key, body) : { body, sealed: false }
          const record: Remembered = { key, fingerprint, status, ...stored, request_id, created_at }
          return record
        })

        const remember = (answer: unknown, now: Timestamp) =>
          Effect.flatMap(encode(answer), (encoded) => toRecord(encoded, now))

        /** Answers from the record of the key, if there is one. */
        const replay = Effect.gen(function*() {
          const found = yield* store.find(organization_id, key)
          if (Option.isNone(found)) return Option.none<Outcome>()
          if (found.value.fingerprint !== fingerprint) return yield* new IdempotencyConflict()
          const { request_id, status } = found.value
          const body = yield* open(organization_id, key, found.value)
          return Option.some<Outcome>({ status, body, request_id, replayed: true })
        })

        /** Remembers a refusal, unless the key has a record by now. */
        const refuse = Effect.fnUntraced(function*(answer: Answer) {
          const replayed = yield* replay
          if (Option.isSome(replayed)) return replayed.value
          const record = yield* toRecord(answer, yield* DateTime.now)
          const committed = yield* Effect.result(commit(organization_id, { remember: record }))
          if (Result.isSuccess(committed)) return { ...answer, request_id, replayed: false }
          return yield* Effect.flatMap(replay, (outcome) => Effect.fromOption(outcome, () => new RequestProcessing()))
        })

        /** Answers from the record of a commit whose answer was lost, or that was another request's. */
        const recover = Effect.fnUntraced(function*(cause: Cause.Cause<E | IdempotencyConflict | RequestProcessing>) {
          const replayed = yield* replay
          if (Option.isSome(replayed)) return replayed.value
          return yield* isConflict(cause) ? new RequestProcessing() : Effect.failCause(cause)
        })

        const run = Effect.flatMap(
          Effect.provideService(work, Remember, remember),
          (answer): Effect.Effect<Outcome, IdempotencyConflict | RequestProcessing> =>
            answer.status >= 400 ? refuse(answer) : Effect.succeed({ ...answer, request_id, replayed: false })
        )
        return yield* Effect.catchCause(run, recover)
      }, Effect.uninterruptible)

      const purge = Effect.flatMap(
        DateTime.now,
        (now) => store.purge(DateTime.subtractDuration(now, record_age_max), 5000)
      )

      return Idempotency.of({ once, purge })
    })
  )
}
