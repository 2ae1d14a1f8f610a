/**
 * The state of the adapter: all rows, as one immutable value in one cell.
 *
 * A port reads or replaces it in a single step, so a commit is never visible in
 * part, and a commit that fails leaves nothing to undo.
 */
import type { ApiKeyId, EventId, OrganizationId } from "@messaging-crm/core/Ids"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { Context, Effect, HashMap, Layer, MutableRef } from "effect"
import type * as Log from "./Log.ts"
import * as Queue from "./Queue.ts"
import * as Table from "./Table.ts"

/** An event, with the number of the commit that stored it. */
export interface CommittedId {
  readonly committed_in: number
  readonly id: EventId
}

export interface WorldState {
  /** The number of commits so far. */
  readonly commits: number
  /** The stored events of each organization in the order of their commits, so that a follower's position is found at once. */
  readonly event_order: HashMap.HashMap<OrganizationId, Log.Log<CommittedId>>
  readonly storage_use: ReadonlyArray<StorageUseRow>
  readonly tables: Table.Tables
  readonly queue: Queue.Queue
  readonly secret_canary: string | null
  /** Requests of each key, counted in its current window. */
  readonly api_key_windows: HashMap.HashMap<ApiKeyId, { readonly opened_at: Timestamp; readonly count: number }>
}

/** Bytes of an organization that expire at a time. */
export interface StorageUseRow {
  readonly organization_id: OrganizationId
  readonly expires_at: Timestamp
  readonly bytes: number
}

const emptyState: WorldState = {
  commits: 0,
  event_order: HashMap.empty(),
  storage_use: [],
  tables: Table.empty,
  queue: Queue.empty,
  secret_canary: null,
  api_key_windows: HashMap.empty()
}

export class World extends Context.Service<World, {
  readonly read: <A>(query: (state: WorldState) => A) => Effect.Effect<A>
  /** Changes the state in one step. A change that throws changes nothing. */
  readonly modify: <A>(change: (state: WorldState) => readonly [A, WorldState]) => Effect.Effect<A>
}>()("@messaging-crm/adapter-memory/World") {
  static readonly layer = Layer.sync(World, () => {
    const cell = MutableRef.make(emptyState)
    return World.of({
      read: (query) => Effect.sync(() => query(MutableRef.get(cell))),
      modify: (change) =>
        Effect.sync(() => {
          const [result, state] = change(MutableRef.get(cell))
          MutableRef.set(cell, state)
          return result
        })
    })
  })
}
