/**
 * Idempotency: a retried write gets the response of the first one (contract §5).
 *
 * The idempotency record is one of the changes of the operation: it commits
 * together with the effect, its events and its queued work. One never exists
 * without the other, so no recovery is needed. No lock is needed either: of two
 * equal requests, the second violates the unique key of the record.
 */
import { Cause, Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { type OrganizationId, uuidOf } from "../kernel/Ids.ts"
import { purgeOlderThan } from "../kernel/Loops.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import { traced } from "../kernel/Traces.ts"
import type { RecordedResponse } from "./Changes.ts"
import { KeyUsed, Unconfirmed } from "./Commit.ts"
import * as RecordedResponses from "./RecordedResponses.ts"
import {
  type EncodedResponse,
  IdempotencyKey,
  type KeyedRequest,
  part_prefix,
  record_age_max
} from "./RecordedResponses.ts"
import { type StorageExhausted, StorageUse, storedBy } from "./StorageUse.ts"
import * as WriteTime from "./WriteTime.ts"

export {
  type EncodedResponse,
  IdempotencyKey,
  key_pattern,
  type KeyedRequest,
  part_prefix,
  type Respond
} from "./RecordedResponses.ts"

// ---------------------------------------------------------------- data

/** The stored response of a key's first use. */
export type IdempotencyRecord = Omit<RecordedResponse, "created_at" | "key">

/** A response, and whether it was replayed from the record. */
export interface KeyedResponse extends EncodedResponse {
  readonly replayed: boolean
  /** The ID of the request that ran the operation. */
  readonly request_id: string
}

/** A request with a key, and the operation that it runs. */
interface KeyUse<E, R> {
  readonly organization_id: OrganizationId
  readonly request: KeyedRequest
  readonly work: (request: KeyedRequest) => Effect.Effect<EncodedResponse, E, R>
}

// -------------------------------------------------------------- errors

/** The key was already used for a different request. */
export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()("IdempotencyConflict", {}) {}

/**
 * It is not known yet whether a request with this key took effect: another one is
 * running, or the commit's outcome is unknown.
 */
export class RequestProcessing extends Schema.TaggedError<RequestProcessing>()("RequestProcessing", {}) {}

/** Why a request with a key gets no response of its own. */
export type KeyError = IdempotencyConflict | RequestProcessing | StorageExhausted

// ----------------------------------------------------------- decisions

/** Parses a header value as an idempotency key; none if it is malformed. HTTP removes white space around the value. */
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

/** Returns the response of the request that ran the operation. */
const firstResponse = ({ request_id }: KeyedRequest, response: EncodedResponse): KeyedResponse => ({
  ...response,
  request_id,
  replayed: false
})

/** Returns the request of a part (`IdempotentParts.ts`). */
export const partOf = (organization_id: OrganizationId, request: KeyedRequest, part: string): KeyedRequest => ({
  ...request,
  // Made here, and not given by a client.
  key: `${part_prefix}${uuidOf(organization_id, canonicalJson([request.key, part]))}` as IdempotencyKey
})

/** The part whose record has the response of the whole request. */
export const response_part = "end"

/** Returns whether an operation may have taken effect, in this call or in another one with its key. */
const isUnresolved = <E>(cause: Cause.Cause<E>): boolean => {
  const error = Cause.squash(cause)
  return error instanceof Unconfirmed || error instanceof KeyUsed
}

// ---------------------------------------------------------------- port

/**
 * Port: reads and purges idempotency records. Commits write them.
 *
 * **Contract** (checked by `conformance/Ports/Idempotency.ts`)
 *
 * - `find` returns the exact text that was committed, and none for another organization's key.
 * - `purge` deletes at most `limit` records older than `before`, the oldest first, and returns their number.
 */
export class IdempotencyStore extends Context.Service<IdempotencyStore, {
  readonly find: (
    organization_id: OrganizationId,
    key: IdempotencyKey
  ) => Effect.Effect<Option.Option<IdempotencyRecord>>
  readonly purge: (before: Timestamp, limit: number) => Effect.Effect<number>
}>()("@messaging-crm/core/Idempotency/IdempotencyStore") {}

// ---------------------------------------------------------- operations

/** Makes the functions that replay the record of a key, and commit one. */
const makeReplays = Effect.gen(function*() {
  const commit = yield* WriteTime.makeCommit
  const responses = yield* RecordedResponses.make
  const storage = yield* StorageUse
  const store = yield* IdempotencyStore

  /** Returns the record of the key, if there is one. */
  const find = Effect.fnUntraced(function*(organization_id: OrganizationId, { fingerprint, key }: KeyedRequest) {
    const found = yield* store.find(organization_id, key)
    return Option.isSome(found) && found.value.fingerprint !== fingerprint ? yield* new IdempotencyConflict() : found
  })

  /** Replays the record of the key, if there is one. A request of several commits has none until it has ended. */
  const replay: (
    organization_id: OrganizationId,
    request: KeyedRequest
  ) => Effect.Effect<Option.Option<KeyedResponse>, IdempotencyConflict> = Effect.fnUntraced(
    function*(organization_id: OrganizationId, request: KeyedRequest) {
      const found = yield* find(organization_id, request)
      if (Option.isNone(found)) return Option.none<KeyedResponse>()
      const { body, request_id, sealed, status } = found.value
      if (body === null || status === null) {
        const ended = yield* replay(organization_id, partOf(organization_id, request, response_part))
        return Option.map(ended, (response) => ({ ...response, request_id }))
      }
      const opened = yield* responses.open(organization_id, request.key, { body, sealed })
      return Option.some<KeyedResponse>({ status, body: opened, request_id, replayed: true })
    }
  )

  /** Replays the record of the key, or fails if there is none. */
  const replayOrFail = <E>(organization_id: OrganizationId, request: KeyedRequest, error: () => E) =>
    Effect.flatMap(replay(organization_id, request), (replayed) => Effect.fromOption(replayed, error))

  /** Commits a record alone, without a secret. */
  const commitRecord = Effect.fnUntraced(
    function*(organization_id: OrganizationId, request: KeyedRequest, response: EncodedResponse | null) {
      const record = yield* responses.toRecord(organization_id, request, response, {
        is_secret: false,
        created_at: yield* DateTime.now
      })
      yield* commit(organization_id, { response: record })
      yield* storage.count(organization_id, storedBy({ response: record }))
    }
  )

  /** Commits the record of a response alone, or replays the record if the key has one by now. */
  const commitResponse = (organization_id: OrganizationId, request: KeyedRequest, response: EncodedResponse) =>
    Effect.matchEffect(commitRecord(organization_id, request, response), {
      onFailure: () => replayOrFail(organization_id, request, () => new RequestProcessing()),
      onSuccess: () => Effect.succeed(firstResponse(request, response))
    })

  return { commitRecord, commitResponse, find, replay }
})

/** Makes the functions that run an operation at most once for a key, and those of the key's record. */
export const makeRecords = Effect.gen(function*() {
  const { commitRecord, commitResponse, find, replay } = yield* makeReplays
  const storage = yield* StorageUse

  /** Replays the record of the key, or commits that of a rejection, which contains no secret. */
  const reject = Effect.fnUntraced(
    function*(organization_id: OrganizationId, request: KeyedRequest, response: EncodedResponse) {
      const replayed = yield* replay(organization_id, request)
      if (Option.isSome(replayed)) return replayed.value
      yield* storage.require(organization_id)
      return yield* commitResponse(organization_id, request, response)
    }
  )

  /** After a failure: replays the record of this request's commit if its outcome was unknown, or of another request's. */
  const recover = Effect.fnUntraced(function*<E>(
    organization_id: OrganizationId,
    request: KeyedRequest,
    cause: Cause.Cause<E | KeyError>
  ) {
    const replayed = yield* replay(organization_id, request)
    if (Option.isSome(replayed)) return replayed.value
    return yield* isUnresolved(cause) ? new RequestProcessing() : Effect.failCause(cause)
  })

  /** Runs the operation, which commits the record of its success. */
  const run = <E, R>({ organization_id, request, work }: KeyUse<E, R>) =>
    Effect.flatMap(
      work(request),
      (response): Effect.Effect<KeyedResponse, E | KeyError, R> =>
        response.status >= 400
          ? reject(organization_id, request, response)
          : Effect.succeed(firstResponse(request, response))
    )

  /** Runs the operation at most once for the key. */
  const runOnce = <E, R>(use: KeyUse<E, R>) =>
    Effect.catchCause(run(use), (cause) => recover(use.organization_id, use.request, cause))

  return { commitRecord, commitResponse, find, runOnce }
})

/** Runs keyed requests at most once, and replays their responses. */
export class Idempotency extends Context.Service<Idempotency, {
  /**
   * Runs `work` at most once for a key, and replays its record to later calls.
   *
   * **Details**
   *
   * `work` runs one operation, to which it passes the request: the record
   * commits together with the operation's changes, or alone if there are none. The key
   * is not looked up first. If `work` fails or responds with 400 or above, the key is looked up, and its
   * record is replayed if there is one. Otherwise a response of 400 or above
   * commits its record alone. A typed failure or a defect leaves no record, so a
   * retry with the key runs `work` again, for example if the organization has used up its storage budget. `work` is not
   * interrupted when the client disconnects: the retry gets the recorded response.
   */
  readonly once: <E, R>(
    request: KeyedRequest,
    work: (request: KeyedRequest) => Effect.Effect<EncodedResponse, E, R>
  ) => Effect.Effect<KeyedResponse, E | KeyError, R | CurrentActor>
  /** Deletes one batch of records older than 72 hours, and returns their number. */
  readonly purge: Effect.Effect<number>
}>()("@messaging-crm/core/Idempotency") {
  static readonly layer = Layer.effect(
    Idempotency,
    Effect.gen(function*() {
      const { runOnce } = yield* makeRecords
      const store = yield* IdempotencyStore

      const once = traced("Idempotency.once")(function*<E, R>(
        request: KeyedRequest,
        work: (request: KeyedRequest) => Effect.Effect<EncodedResponse, E, R>
      ) {
        const { organization_id } = yield* CurrentActor
        return yield* runOnce({ organization_id, request, work })
      }, Effect.uninterruptible)

      return Idempotency.of({ once, purge: purgeOlderThan(record_age_max, store.purge) })
    })
  )
}
