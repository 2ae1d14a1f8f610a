/**
 * Idempotent parts: a request of several commits under one idempotency key, such as an upsert of many contacts.
 *
 * | Record | Is committed | A retry |
 * | --- | --- | --- |
 * | of the request's key, without a response | before the first part: from then on, no other request with the key takes effect | continues the request |
 * | of a part | with the part's changes | replays the part |
 * | of the whole response | after the last part | replays the response |
 *
 * The keys of parts are derived from the request's key.
 */
import { Context, Effect, Layer, Option } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { uuidOf } from "../kernel/Ids.ts"
import { traced } from "../kernel/Traces.ts"
import {
  canonicalJson,
  type IdempotencyConflict,
  type KeyedResponse,
  makeRecords,
  RequestProcessing
} from "./Idempotency.ts"
import { type EncodedResponse, type IdempotencyKey, part_prefix, type Recording } from "./RecordedResponses.ts"

/** Returns the request of a part. */
const partOf = (request: Recording, part: string): Effect.Effect<Recording, never, CurrentActor> =>
  Effect.map(CurrentActor, ({ organization_id }) => ({
    ...request,
    // Made here, and not given by a client.
    key: (part_prefix +
      uuidOf(organization_id, canonicalJson([request.key, part]))) as IdempotencyKey
  }))

/** The part whose record has the response of the whole request. */
const response_part = "end"

/** Runs the parts of a request that `Idempotency.once` has begun. None requires storage, so that the request is completed. */
export class IdempotentParts extends Context.Service<IdempotentParts, {
  /** Runs a part at most once, like `Idempotency.once`. */
  readonly once: <E, R>(
    request: Recording,
    part: string,
    work: (recording: Recording) => Effect.Effect<EncodedResponse, E, R>
  ) => Effect.Effect<KeyedResponse, E | IdempotencyConflict | RequestProcessing, R | CurrentActor>
  /** Returns the recorded response of a part, if there is one. */
  readonly find: (
    request: Recording,
    part: string
  ) => Effect.Effect<Option.Option<KeyedResponse>, IdempotencyConflict, CurrentActor>
  /**
   * Commits the record of the request's key, runs `respond`, which runs the parts, and then commits its response. The
   * response contains no secret.
   *
   * If a concurrent call has committed a record under the key, this call ends with a defect, and `Idempotency.once` replays
   * that record. If `respond` or the last commit fails, the response of a concurrent call is replayed if there is one.
   */
  readonly respond: <E, R>(
    request: Recording,
    respond: Effect.Effect<EncodedResponse, E, R>
  ) => Effect.Effect<KeyedResponse, E | IdempotencyConflict | RequestProcessing, R | CurrentActor>
}>()("@messaging-crm/core/IdempotentParts") {
  static readonly layer = Layer.effect(
    IdempotentParts,
    Effect.gen(function*() {
      const records = yield* makeRecords

      const once = traced("IdempotentParts.once")(function*<E, R>(
        request: Recording,
        part: string,
        work: (recording: Recording) => Effect.Effect<EncodedResponse, E, R>
      ) {
        const { organization_id } = yield* CurrentActor
        return yield* records.runOnce({ organization_id, request: yield* partOf(request, part), work })
      }, Effect.uninterruptible)

      const find = traced("IdempotentParts.find")(function*(request: Recording, part: string) {
        const { organization_id } = yield* CurrentActor
        const found = yield* records.find(organization_id, yield* partOf(request, part))
        return Option.flatMap(found, ({ request_id, response }) =>
          response === null
            ? Option.none<KeyedResponse>()
            : Option.some<KeyedResponse>({ ...response, request_id, replayed: true }))
      })

      /** Commits the record of the request's key. A retry has it already. */
      const begin = Effect.fnUntraced(function*(request: Recording) {
        if (request.is_retry) return
        const { organization_id } = yield* CurrentActor
        yield* records.commitRecord(organization_id, request, null).pipe(
          // Another request holds the key, and has not ended.
          Effect.catch((error) => error._tag === "Conflict" ? Effect.fail(new RequestProcessing()) : Effect.die(error))
        )
      })

      const respond = traced("IdempotentParts.respond")(function*<E, R>(
        request: Recording,
        respond: Effect.Effect<EncodedResponse, E, R>
      ) {
        const ended = request.is_retry ? yield* find(request, response_part) : Option.none()
        if (Option.isSome(ended)) return ended.value
        yield* begin(request)
        const { organization_id } = yield* CurrentActor
        const use = { organization_id, request: yield* partOf(request, response_part), work: () => respond }
        return yield* respond.pipe(
          Effect.flatMap((response) => records.commitResponse(use, response)),
          Effect.catchCause((cause) => records.recover(use, cause))
        )
      })

      return IdempotentParts.of({ once, find, respond })
    })
  )
}
