/**
 * API keys: authentication, scopes and rate limits of callers (contract §4).
 */
import { type Brand, Context, DateTime, Effect, Layer, Option, Redacted, Result, Schema } from "effect"
import { type Actor, CurrentActor } from "../kernel/Actor.ts"
import type { Country } from "../kernel/Countries.ts"
import { ApiKeyId, MemberId, OrganizationId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { operation } from "../kernel/Operations.ts"
import { Secrets } from "../kernel/Secrets.ts"
import { trimmedText } from "../kernel/Text.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import { traced } from "../kernel/Traces.ts"
import * as Changes from "../work/Changes.ts"
import { type ConcurrentChanges, Decide, type DecisionContext } from "../work/Decide.ts"
import { Rows } from "../work/Rows.ts"
import {
  type ApiKey,
  type ApiKeyRow,
  ApiKeyRows,
  ApiKeyStore,
  Expiry,
  type Metered,
  Scope,
  toApiKey,
  window_seconds
} from "./ApiKey.ts"
import { checksum } from "./KeyChecksum.ts"
import { mayHoldKeys, MemberNotFound, type MemberRow, MemberRows, unlessLeft } from "./Members.ts"

// ---------------------------------------------------------------- data

export * from "./ApiKey.ts"

export const CreateApiKey = Schema.Struct({
  created_by: MemberId,
  name: trimmedText({ min: 1, max: limits.name_chars_max }),
  scopes: Schema.Array(Scope).check(Schema.isMinLength(1), Schema.isUnique()),
  expires: Expiry
}).pipe(Schema.brand("CreateApiKey"))
export interface CreateApiKey extends Schema.Schema.Type<typeof CreateApiKey> {}

/** The state of a key's rate limit. */
export const Quota = Schema.Struct({
  limit: Schema.Int,
  remaining: Schema.Int,
  /** When the window ends, in Unix seconds, rounded up. */
  reset_seconds: Schema.Int,
  /** How many seconds are left until then, by the store's clock: 1 to 60, rounded up. */
  seconds_left: Schema.Int
})
export interface Quota extends Schema.Schema.Type<typeof Quota> {}

/** The result of authentication: the key, the member it acts for, the setting of its organization, and its remaining quota. */
export interface Authentication {
  readonly key_id: ApiKeyId
  readonly actor: Actor
  readonly default_country: Country | null
  readonly quota: Quota
}

/** How many requests a key may make in one window. A reference, so that an operator can raise it. */
export const RequestsPerMinute = Context.Reference<number>("@messaging-crm/core/ApiKeys/RequestsPerMinute", {
  defaultValue: () => limits.requests_per_minute
})

/** The digest by which a key is stored. */
export type KeyDigest = string & Brand.Brand<"KeyDigest">

/** The format of a key: `svc_live_` and 43 characters. Any other text is rejected without a query. */
const key_pattern = /^svc_live_[A-Za-z0-9_-]{43}$/

// -------------------------------------------------------------- errors

/** No valid key was presented. It has no fields, so that a caller cannot learn which check failed. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {}) {}

/** The key's window is used up. */
export class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", {
  /** The key's organization, for the log. */
  organization_id: OrganizationId,
  key_id: ApiKeyId,
  quota: Quota
}) {}

/** The member is neither owner nor admin, and only those may hold keys. */
export class MemberMayNotHoldKeys extends Schema.TaggedError<MemberMayNotHoldKeys>()("MemberMayNotHoldKeys", {}) {}

export class ApiKeyNotFound extends Schema.TaggedError<ApiKeyNotFound>()("ApiKeyNotFound", {}) {}

// ----------------------------------------------------------- decisions

/** Returns when a key that is created now expires. */
const expiresAt = (expires: Expiry, now: Timestamp): Timestamp =>
  expires === "90d" ? DateTime.add(now, { days: 90 }) : DateTime.add(now, { years: 1 })

const seconds = (at: Timestamp) => DateTime.toEpochMillis(at) / 1000

const quotaOf = ({ count, now, window_ends_at }: Metered, limit: number): Quota => ({
  limit,
  remaining: Math.max(0, limit - count),
  reset_seconds: Math.ceil(seconds(window_ends_at)),
  seconds_left: Math.min(window_seconds, Math.max(1, Math.ceil(seconds(window_ends_at) - seconds(now))))
})

const create = (
  found: Option.Option<MemberRow>,
  { expires, ...input }: CreateApiKey,
  digest: KeyDigest,
  { now, uuid }: DecisionContext
): Result.Result<Changes.Decision<ApiKey>, MemberNotFound | MemberMayNotHoldKeys> => {
  const member = Option.getOrNull(unlessLeft(found))
  if (member === null) return Result.fail(new MemberNotFound())
  if (!mayHoldKeys(member.role)) return Result.fail(new MemberMayNotHoldKeys())
  const api_key: ApiKey = {
    id: ApiKeyId.make(uuid()),
    ...input,
    created_at: now,
    expires_at: expiresAt(expires, now),
    revoked_at: null,
    last_used_at: null
  }
  return Result.succeed({
    result: api_key,
    // Updates the member's row, so that this commit conflicts with a concurrent change of role, which revokes the member's
    // keys.
    changes: Changes.all(ApiKeyRows.insert({ ...api_key, digest }), MemberRows.update(member, {}))
  })
}

const revoke = (
  found: Option.Option<ApiKeyRow>,
  { now }: DecisionContext
): Result.Result<Changes.Decision<ApiKeyRow>, ApiKeyNotFound> =>
  Result.map(Result.fromOption(found, () => new ApiKeyNotFound()), (key) => ({
    result: key,
    changes: key.revoked_at === null ? ApiKeyRows.update(key, { revoked_at: now }) : Changes.none
  }))

// ---------------------------------------------------------- operations

export class ApiKeys extends Context.Service<ApiKeys, {
  /** Returns the digest of a presented key, as it is stored. Fails if the text does not have the form of a key. */
  readonly digest: (presented: Redacted.Redacted) => Effect.Effect<KeyDigest, Unauthorized>
  /** Authenticates a caller by its key's digest, and counts the request. `authorize` checks its scopes. */
  readonly authenticate: (digest: KeyDigest) => Effect.Effect<Authentication, Unauthorized | RateLimited>
  /** Returns whether the current actor's key is still valid, without counting a request. For requests that last. */
  readonly isValid: Effect.Effect<boolean, never, CurrentActor>
  /** Creates a key. Only this result contains the key itself. */
  readonly create: (
    input: CreateApiKey
  ) => Effect.Effect<
    { readonly api_key: ApiKey; readonly key: Redacted.Redacted },
    MemberNotFound | MemberMayNotHoldKeys | ConcurrentChanges,
    CurrentActor
  >
  readonly list: Effect.Effect<ReadonlyArray<ApiKey>, never, CurrentActor>
  /** Revokes a key, with immediate effect. Revoking it again changes nothing. */
  readonly revoke: (id: ApiKeyId) => Effect.Effect<void, ApiKeyNotFound | ConcurrentChanges, CurrentActor>
}>()("@messaging-crm/core/ApiKeys") {
  static readonly layer = Layer.effect(
    ApiKeys,
    Effect.gen(function*() {
      const { write } = yield* Decide
      const limit = yield* RequestsPerMinute
      const rows = yield* Rows
      const secrets = yield* Secrets
      const store = yield* ApiKeyStore

      // The only place that makes a digest, so a cast brands it.
      const digestOf = (key: string) => secrets.sha256(key) as Effect.Effect<KeyDigest>

      const digest = (presented: Redacted.Redacted): Effect.Effect<KeyDigest, Unauthorized> => {
        const key = Redacted.value(presented)
        return key_pattern.test(key) ? digestOf(key) : Effect.fail(new Unauthorized())
      }

      const authenticate = traced("ApiKeys.authenticate")(function*(digest: KeyDigest) {
        const found = yield* store.authenticate(digest, limit, yield* DateTime.now)
        if (Option.isNone(found)) return yield* new Unauthorized()
        const metered = found.value
        const { created_by: member_id, default_country, key_id, organization_id, scopes } = metered
        const quota = quotaOf(metered, limit)
        if (metered.count > limit) return yield* new RateLimited({ organization_id, key_id, quota })
        return { key_id, actor: { organization_id, member_id, key_id, scopes }, default_country, quota }
      })

      const isValid = traced("ApiKeys.isValid")(function*() {
        const { key_id, organization_id } = yield* CurrentActor
        if (key_id === undefined) return true
        const found = yield* rows.find(ApiKeyRows, organization_id, key_id)
        const now = yield* DateTime.now
        // If the member may no longer hold keys, the key is revoked.
        return Option.exists(found, (key) => key.revoked_at === null && DateTime.isGreaterThan(key.expires_at, now))
      })()

      const createApiKey = write("api_keys.create", function*(input: CreateApiKey) {
        const { organization_id } = yield* CurrentActor
        const random = yield* secrets.randomBase62(37)
        const key = `svc_live_${random}${checksum(random)}`
        const digest = yield* digestOf(key)
        return {
          load: rows.find(MemberRows, organization_id, input.created_by),
          decide: (member, context) =>
            Result.map(create(member, input, digest, context), ({ changes, result }) => ({
              result: { id: result.id, api_key: result, key: Redacted.make(key) },
              changes
            }))
        }
      })

      const list = operation("api_keys.list")(function*() {
        const { organization_id } = yield* CurrentActor
        return (yield* rows.list(ApiKeyRows, organization_id)).map(toApiKey).toReversed()
      })()

      const revokeApiKey = write("api_keys.revoke", function*(id: ApiKeyId) {
        const { organization_id } = yield* CurrentActor
        return {
          load: rows.find(ApiKeyRows, organization_id, id),
          decide: (found, context) => revoke(found, context)
        }
      })

      return ApiKeys.of({
        authenticate,
        create: createApiKey,
        digest,
        isValid,
        list,
        revoke: (id) => Effect.asVoid(revokeApiKey(id))
      })
    })
  )
}
