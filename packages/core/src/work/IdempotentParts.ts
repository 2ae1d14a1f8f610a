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
import { Context, Effect, Layer, Option, Result } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { traced } from "../kernel/Traces.ts"
import { KeyUsed, OrganizationClosed } from "./Commit.ts"
import {
  type KeyedResponse,
  type KeyError,
  makeRecords,
  partOf,
  RequestProcessing,
  response_part
} from "./Idempotency.ts"
import type { EncodedResponse, KeyedRequest } from "./RecordedResponses.ts"
import { StorageExhausted, StorageUse } from "./StorageUse.ts"

/** Runs the parts of a request. Only its begin requires storage, so that a request that has begun is completed. */
export class IdempotentParts extends Context.Service<IdempotentParts, {
  /** Runs a part at most once, like `Idempotency.once`. */
  readonly once: <E, R>(
    request: KeyedRequest,
    part: string,
    work: (request: KeyedRequest) => Effect.Effect<EncodedResponse, E, R>
  ) => Effect.Effect<KeyedResponse, E | KeyError, R | CurrentActor>
  /**
   * Commits the record of the request's key, runs `respond`, which runs the parts, and then commits its response. The
   * response contains no secret.
   *
   * If an earlier or concurrent call has committed the record of the key, this call runs what is left of the parts and ends
   * with a defect, so that `Idempotency.once` replays the response.
   */
  readonly respond: <E, R>(
    request: KeyedRequest,
    respond: Effect.Effect<EncodedResponse, E, R>
  ) => Effect.Effect<EncodedResponse, E | KeyError, R | CurrentActor>
}>()("@messaging-crm/core/IdempotentParts") {
  static readonly layer = Layer.effect(
    IdempotentParts,
    Effect.gen(function*() {
      const { commitRecord, commitResponse, find, runOnce } = yield* makeRecords
      const storage = yield* StorageUse

      const once = traced("IdempotentParts.once")(function*<E, R>(
        request: KeyedRequest,
        part: string,
        work: (request: KeyedRequest) => Effect.Effect<EncodedResponse, E, R>
      ) {
        const { organization_id } = yield* CurrentActor
        return yield* runOnce({ organization_id, request: partOf(organization_id, request, part), work })
      }, Effect.uninterruptible)

      const respond = traced("IdempotentParts.respond")(function*<E, R>(
        request: KeyedRequest,
        respond: Effect.Effect<EncodedResponse, E, R>
      ) {
        const { organization_id } = yield* CurrentActor
        const end = partOf(organization_id, request, response_part)
        // Some parts can be committed, so the request has not been without effect.
        const run = Effect.flatMap(respond, (response) => commitResponse(organization_id, end, response)).pipe(
          Effect.catchDefect((defect) =>
            defect instanceof OrganizationClosed ? new RequestProcessing() : Effect.die(defect)
          )
        )
        const begun = yield* Effect.result(
          Effect.andThen(storage.require(organization_id), commitRecord(organization_id, request, null))
        )
        if (Result.isSuccess(begun)) return yield* run
        if (Option.isNone(yield* find(organization_id, request))) {
          return yield* begun.failure instanceof StorageExhausted ? begun.failure : new RequestProcessing()
        }
        if (Option.isNone(yield* find(organization_id, end))) yield* run
        return yield* Effect.die(new KeyUsed())
      })

      return IdempotentParts.of({ once, respond })
    })
  )
}
