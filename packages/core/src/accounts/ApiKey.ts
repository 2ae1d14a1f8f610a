/**
 * The data of an API key, and where keys are stored (contract §4).
 */
import { Context, type Effect, type Option, Schema } from "effect"
import { Scope } from "../kernel/Actor.ts"
import type { Country } from "../kernel/Countries.ts"
import { ApiKeyId, MemberId, type OrganizationId } from "../kernel/Ids.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import { declareRows, pickFields, type Row } from "../work/Rows.ts"

export { Scope } from "../kernel/Actor.ts"

/** The lifetime of a key, chosen at its creation: 90 days or 1 year. */
export const Expiry = Schema.Literals(["90d", "1y"])
export type Expiry = typeof Expiry.Type

/** A key as it is listed, without any part of the key itself. */
export const ApiKey = Schema.Struct({
  id: ApiKeyId,
  name: Schema.String,
  scopes: Schema.Array(Scope),
  created_by: MemberId,
  created_at: Timestamp,
  expires_at: Timestamp,
  revoked_at: Schema.NullOr(Timestamp),
  /** When the key was last used, at most a minute too early; null before its first use. */
  last_used_at: Schema.NullOr(Timestamp)
}).annotate({ identifier: "ApiKey" })
export interface ApiKey extends Schema.Schema.Type<typeof ApiKey> {}

/** The columns of a key. The key itself is not stored, only its digest. */
export const ApiKeyColumns = Schema.Struct({ ...ApiKey.fields, digest: Schema.String })
export interface ApiKeyColumns extends Schema.Schema.Type<typeof ApiKeyColumns> {}

export type ApiKeyRow = Row<ApiKeyColumns>

export const ApiKeyRows = declareRows(ApiKeyColumns)({
  name: "api_keys",
  key: { id: "uuid" },
  unique: { columns: ["digest"], within: "service" },
  list: { order: ["created_at", "id"] }
})

/** Returns the key as callers see it. */
export const toApiKey = pickFields(ApiKey)

/** The result of `ApiKeyStore.authenticate` for a valid key. Its times are those of the clock that measures the window. */
export interface Metered {
  readonly key_id: ApiKeyId
  readonly organization_id: OrganizationId
  readonly created_by: MemberId
  readonly scopes: ReadonlyArray<Scope>
  /** That of the key's organization. */
  readonly default_country: Country | null
  /** The requests of this window, including this one. It may stop growing above the limit. */
  readonly count: number
  readonly window_ends_at: Timestamp
  readonly now: Timestamp
}

/** How long a window of a key's requests lasts. */
export const window_seconds = 60

/**
 * Port: authenticates requests by their API keys, and counts them.
 *
 * **Contract** (checked by `conformance/Ports/ApiKeys.ts`)
 *
 * - `authenticate` returns none unless the digest belongs to a key that is neither
 *   revoked nor expired, and the member for whom it was created is currently an owner or admin.
 *   Otherwise it counts the request atomically: concurrent calls in one window each
 *   get a different count, up to `limit` + 1.
 * - It returns the default country of the key's organization.
 * - A window begins with the key's first request and lasts 60 s. Requests above
 *   the limit do not extend it. Each key has its own window.
 * - The request that begins a window sets `last_used_at`, which changes no version.
 * - A store that several processes share uses its own clock. `now` is for a store without one.
 */
export class ApiKeyStore extends Context.Service<ApiKeyStore, {
  readonly authenticate: (digest: string, limit: number, now: Timestamp) => Effect.Effect<Option.Option<Metered>>
}>()("@messaging-crm/core/ApiKeys/ApiKeyStore") {}
