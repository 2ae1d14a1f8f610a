/** Recorded responses: what a request with an idempotency key commits together with its changes (contract §5). */
import { Duration, Effect, Option, Schema } from "effect"
import type { OrganizationId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { Secrets } from "../kernel/Secrets.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"

/** Printable ASCII, with spaces inside but not at the ends. The OpenAPI document repeats it. */
export const key_pattern = /^[!-~][ -~]*[!-~]$/

/** Schema for an idempotency key: 8 to 200 printable ASCII characters, spaces inside included. */
export const IdempotencyKey = Schema.String.check(
  Schema.isBetweenLength(limits.idempotency_key_chars_min, limits.idempotency_key_chars_max),
  Schema.isPattern(key_pattern)
).pipe(Schema.brand("IdempotencyKey"))
export type IdempotencyKey = typeof IdempotencyKey.Type

/** The beginning of the key of a part (`IdempotentParts.ts`). No client can send such a key. */
export const part_prefix = " "

/** The response of a write: a status and the exact text, which is JSON, or empty. */
export interface EncodedResponse {
  readonly status: number
  readonly body: string
}

/** A request with an idempotency key. */
export interface KeyedRequest {
  readonly key: IdempotencyKey
  /** The digest of the request. The key can be used again for the same request only. */
  readonly fingerprint: string
  readonly request_id: string
}

/** Returns whether a request is a part of another one, which has begun. */
export const isPart = (request: KeyedRequest | null): boolean => request?.key.startsWith(part_prefix) ?? false

/** How the result of an operation becomes the response to a request. */
export interface Respond<in Result, out Out> {
  /** Encodes the result, once for each attempt to commit. */
  readonly encode: (result: Result) => Effect.Effect<EncodedResponse & Out>
  /** Null for a request without an idempotency key. */
  readonly record: KeyedRequest | null
}

/** The age after which a record may be deleted. The contract promises 24 hours. */
export const record_age_max = Duration.hours(72)

/** Returns the encryption context of a record. Stored records are sealed with it, so its text never changes. */
const contextOf = (organization_id: OrganizationId, key: string) => `answer|${organization_id}|${key}`

/** Makes the functions that make and open records. */
export const make = Effect.gen(function*() {
  const secrets = yield* Secrets

  return {
    /** Makes the record of a response; null for a request of several commits that has begun. The record of a secret is encrypted. */
    toRecord: Effect.fnUntraced(function*(
      organization_id: OrganizationId,
      { fingerprint, key, request_id }: KeyedRequest,
      response: EncodedResponse | null,
      { created_at, is_secret }: { readonly created_at: Timestamp; readonly is_secret: boolean }
    ) {
      const sealed = response !== null && is_secret
      const body = sealed
        ? yield* secrets.seal(contextOf(organization_id, key), response.body)
        : response?.body ?? null
      return { key, fingerprint, status: response?.status ?? null, body, sealed, request_id, created_at }
    }),
    /** Returns the body of a recorded response. */
    open: Effect.fnUntraced(function*(
      organization_id: OrganizationId,
      key: IdempotencyKey,
      { body, sealed }: { readonly body: string; readonly sealed: boolean }
    ) {
      if (!sealed) return body
      const text = yield* secrets.open(contextOf(organization_id, key), body)
      if (Option.isSome(text)) return text.value
      return yield* Effect.die(
        new Error("No key in SECRET_KEY (RootKeys if the core is embedded) decrypts the recorded response.")
      )
    })
  }
})
