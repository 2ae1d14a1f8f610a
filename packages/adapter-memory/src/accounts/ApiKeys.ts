import { type ApiKey, ApiKeyRows, ApiKeyStore, window_seconds } from "@messaging-crm/core/ApiKeys"
import { hasLeft, mayHoldKeys, MemberRows } from "@messaging-crm/core/Members"
import { OrganizationRows } from "@messaging-crm/core/Organizations"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { DateTime, HashMap, Layer, Option } from "effect"
import * as Table from "../world/Table.ts"
import { World, type WorldState } from "../world/World.ts"

const isUsable = ({ tables }: WorldState, { organization_id, row }: Table.Owned<ApiKey>, now: Timestamp): boolean =>
  row.revoked_at === null && DateTime.isGreaterThan(row.expires_at, now) && Option.exists(
    Table.get(tables, MemberRows, organization_id, row.created_by),
    (member) => !hasLeft(member) && mayHoldKeys(member.role)
  )

const windowEnd = (opened_at: Timestamp): Timestamp => DateTime.add(opened_at, { seconds: window_seconds })

/** Returns the key's window with this request counted. */
const countRequest = ({ api_key_windows }: WorldState, { id }: ApiKey, limit: number, now: Timestamp) =>
  Option.match(
    Option.filter(
      HashMap.get(api_key_windows, id),
      ({ opened_at }) => DateTime.isGreaterThan(windowEnd(opened_at), now)
    ),
    {
      onNone: () => ({ opened_at: now, count: 1 }),
      onSome: (window) => ({ ...window, count: Math.min(window.count + 1, limit + 1) })
    }
  )

/** Layer that counts the requests of API keys in the in-memory world. */
export const layer = Layer.effect(
  ApiKeyStore,
  World.useSync(({ modify }) =>
    ApiKeyStore.of({
      authenticate: (digest, limit, now) =>
        modify((state) => {
          const owned = Option.filter(
            Table.findByUnique(state.tables, ApiKeyRows, digest),
            (key) => isUsable(state, key, now)
          )
          if (Option.isNone(owned)) return [Option.none(), state]
          const { organization_id, row } = owned.value
          const { created_by, id, scopes } = row
          const window = countRequest(state, row, limit, now)
          const organization = Table.get(state.tables, OrganizationRows, organization_id, organization_id)
          const metered = {
            key_id: id,
            organization_id,
            created_by,
            scopes,
            default_country: Option.isSome(organization) ? organization.value.default_country : null,
            count: window.count,
            window_ends_at: windowEnd(window.opened_at),
            now
          }
          const tables = window.count > 1
            ? state.tables
            : Table.change(state.tables, ApiKeyRows, organization_id, id, (key) => ({ ...key, last_used_at: now }))
          return [
            Option.some(metered),
            { ...state, tables, api_key_windows: HashMap.set(state.api_key_windows, id, window) }
          ]
        })
    })
  )
)
