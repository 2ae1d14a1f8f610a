/** Resealing: re-encrypts stored secrets after a new root key was added, so that the old key can be removed. */
import { Effect, Option } from "effect"
import type { OrganizationId } from "./Ids.ts"
import type { Secrets } from "./Secrets.ts"

/** A stored secret that an older key encrypted. */
export interface SealedSecret<Id> {
  readonly organization_id: OrganizationId
  readonly id: Id
  readonly sealed_secret: string
}

/** Where secrets of one kind are stored. */
export interface SealedSecrets<Id> {
  /** Returns at most `limit` secrets that do not begin with `prefix`, ordered by ID, beginning after `after`. */
  readonly sealedOtherwise: (
    prefix: string,
    after: Id | null,
    limit: number
  ) => Effect.Effect<ReadonlyArray<SealedSecret<Id>>>
  /** Replaces a secret if it is still `before`. */
  readonly reseal: (organization_id: OrganizationId, id: Id, before: string, after: string) => Effect.Effect<void>
}

const page_size = 100

/**
 * Re-encrypts every secret of one kind that an older root key encrypted, and returns their number.
 *
 * A secret that no key decrypts does not change.
 */
export const resealAll = Effect.fnUntraced(function*<Id extends string>(
  secrets: Secrets["Service"],
  store: SealedSecrets<Id>,
  contextOf: (organization_id: OrganizationId, id: Id) => string
) {
  const resealOne = Effect.fnUntraced(function*({ id, organization_id, sealed_secret }: SealedSecret<Id>) {
    const context = contextOf(organization_id, id)
    const secret = yield* secrets.open(context, sealed_secret)
    if (Option.isNone(secret)) return false
    yield* store.reseal(organization_id, id, sealed_secret, yield* secrets.seal(context, secret.value))
    return true
  })
  let resealed = 0
  for (let after: Id | null = null;;) {
    const rows: ReadonlyArray<SealedSecret<Id>> = yield* store.sealedOtherwise(secrets.sealPrefix, after, page_size)
    const done = yield* Effect.forEach(rows, resealOne)
    resealed += done.filter(Boolean).length
    const last = rows.at(-1)
    if (last === undefined) return resealed
    after = last.id
  }
})
