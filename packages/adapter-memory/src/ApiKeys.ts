import { type ApiKey, ApiKeyStore, mayHoldKeys, type Metered } from "@messaging-crm/core/ApiKeys"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { DateTime, Effect, HashMap, Layer, Option } from "effect"
import { byAge } from "./Order.ts"
import * as Table from "./Table.ts"
import { type Rows, World } from "./World.ts"

const isUsable = (rows: Rows, organization_id: OrganizationId, key: ApiKey, now: Timestamp): boolean => {
  if (key.revoked_at !== null || DateTime.isLessThanOrEqualTo(key.expires_at, now)) return false
  const creator = Table.get(rows.members, organization_id, key.created_by)
  return Option.isSome(creator) && creator.value.left_at === null && mayHoldKeys(creator.value.member.role)
}

const windowEnd = (opened_at: Timestamp): Timestamp => DateTime.add(opened_at, { seconds: 60 })

/** Returns the key's window once this request is counted in it. */
const count = (rows: Rows, key: ApiKey, limit: number, now: Timestamp) => {
  const open = Option.filter(
    HashMap.get(rows.api_key_windows, key.id),
    ({ opened_at }) => DateTime.isGreaterThan(windowEnd(opened_at), now)
  )
  return Option.match(open, {
    onNone: () => ({ opened_at: now, count: 1 }),
    onSome: (window) => ({ ...window, count: Math.min(window.count + 1, limit + 1) })
  })
}

/** Layer that keeps API keys and their request counts in the in-memory world. */
export const layer = Layer.effect(
  ApiKeyStore,
  Effect.gen(function*() {
    const world = yield* World

    return ApiKeyStore.of({
      insert: (organization_id, key, digest) =>
        world.modify((rows) => [undefined, {
          ...rows,
          api_keys: Table.set(rows.api_keys, organization_id, key.id, key),
          api_key_digests: HashMap.set(rows.api_key_digests, digest, { organization_id, id: key.id })
        }]),
      list: (organization_id) =>
        world.read((rows) => Table.all(rows.api_keys, organization_id).toSorted((a, b) => byAge(b, a))),
      revoke: (organization_id, id, revoked_at) =>
        world.modify((rows) => {
          const found = Table.get(rows.api_keys, organization_id, id)
          if (Option.isNone(found)) return [false, rows]
          const revoked = { ...found.value, revoked_at: found.value.revoked_at ?? revoked_at }
          return [true, { ...rows, api_keys: Table.set(rows.api_keys, organization_id, id, revoked) }]
        }),
      admit: (digest, limit, now) =>
        world.modify((rows) => {
          const owner = HashMap.get(rows.api_key_digests, digest)
          if (Option.isNone(owner)) return [Option.none<Metered>(), rows]
          const { id, organization_id } = owner.value
          const key = Option.getOrThrow(Table.get(rows.api_keys, organization_id, id))
          if (!isUsable(rows, organization_id, key, now)) return [Option.none<Metered>(), rows]
          const window = count(rows, key, limit, now)
          const metered: Metered = {
            key_id: id,
            organization_id,
            created_by: key.created_by,
            scopes: key.scopes,
            count: window.count,
            window_ends_at: windowEnd(window.opened_at),
            now
          }
          return [Option.some(metered), { ...rows, api_key_windows: HashMap.set(rows.api_key_windows, id, window) }]
        })
    })
  })
)
