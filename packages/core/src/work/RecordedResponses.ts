/** Recorded responses: what a request with an idempotency key commits together with its changes (contract §5). */
import { Duration, Effect, Option, Schema } from "effect"
import type { EventId, OrganizationId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { Secrets } from "../kernel/Secrets.ts"
import { utf8Bytes } from "../kernel/Text.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import { type Changes, event_age_max, fullBodyOf } from "./Changes.ts"
import { StorageUse } from "./StorageUse.ts"

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

/** A request with an idempotency key. */
export interface KeyedRequest {
  readonly key: IdempotencyKey
  /** The digest of the request. The key can be used again for the same request only. */
  readonly fingerprint: string
  readonly request_id: string
}

/** How an operation runs under an idempotency key. */
export interface Recording extends KeyedRequest {
  /** True if the key has a record without a response: the retry returns the current resource, or finishes the upsert. */
  readonly is_retry: boolean
}

/** How the result of an operation becomes the response to a request. */
export interface Respond<in Result, out Out> {
  /** Encodes the result, once for each attempt to commit. */
  readonly encode: (result: Result) => Effect.Effect<EncodedResponse & Out>
  /** Null for a request without an idempotency key. */
  readonly record: Recording | null
}

/** The age after which a record may be deleted. The contract promises 24 hours. */
export const record_age_max = Duration.hours(72)

/** The size of a record and its keys in indexes, without the response, in bytes. */
const record_bytes = 500

/** The size of an event and its keys in indexes, without its body, in bytes. */
const event_bytes = 300

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const contextOf = (organization_id: OrganizationId, key: string) => `answer|${organization_id}|${key}`

/** Makes the functions that make, open and count records. */
export const make = Effect.gen(function*() {
  const secrets = yield* Secrets
  const use = yield* StorageUse

  return {
    /** Makes the record of a response; null for a request that changed nothing. The record of a secret is encrypted. */
    make: Effect.fnUntraced(function*(
      organization_id: OrganizationId,
      { fingerprint, key, request_id }: KeyedRequest,
      response: EncodedResponse | null,
      { created_at, is_secret }: { readonly created_at: Timestamp; readonly is_secret: boolean }
    ) {
      const sealed = response !== null && is_secret
      const body = sealed
        ? encoder.encode(yield* secrets.seal(contextOf(organization_id, key), decoder.decode(response.body)))
        : response?.body ?? null
      return { key, fingerprint, status: response?.status ?? null, body, sealed, request_id, created_at }
    }),
    /** Returns the bytes of a recorded response. */
    open: Effect.fnUntraced(function*(
      organization_id: OrganizationId,
      key: IdempotencyKey,
      { body, sealed }: { readonly body: Uint8Array; readonly sealed: boolean }
    ) {
      if (!sealed) return body
      const text = yield* secrets.open(contextOf(organization_id, key), decoder.decode(body))
      if (Option.isSome(text)) return encoder.encode(text.value)
      return yield* Effect.die(
        new Error("No key in SECRET_KEY (RootKeys if the core is embedded) decrypts the recorded response.")
      )
    }),
    /** Returns the changes, without the resources of their events if the organization's budget is used up. */
    withinBudget: (organization_id: OrganizationId, changes: Changes): Effect.Effect<Changes> => {
      const { raise = [] } = changes
      return raise.every(({ resource }) => resource === null)
        ? Effect.succeed(changes)
        : Effect.match(use.require(organization_id), {
          onSuccess: () => changes,
          onFailure: () => ({ ...changes, raise: raise.map((event) => ({ ...event, resource: null })) })
        })
    },
    /** Counts the bytes of the record and the events that were committed. `full` are the events stored with their resources. */
    count: (organization_id: OrganizationId, { raise = [], response }: Changes, full: ReadonlyArray<EventId> = []) =>
      use.count(organization_id, [
        ...(response === undefined
          ? []
          : [{ bytes: record_bytes + (response.body?.byteLength ?? 0), age_max: record_age_max }]),
        ...raise.map((event) => {
          const full_bytes = full.includes(event.id) ? utf8Bytes(fullBodyOf(event) ?? "") : 0
          return { bytes: event_bytes + utf8Bytes(event.body) + full_bytes, age_max: event_age_max }
        })
      ])
  }
})

/** The functions that `make` returns. */
export type RecordedResponses = Effect.Success<typeof make>
