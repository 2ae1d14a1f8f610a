import { CallbackRows, CallbackStore, type StoredCallback } from "@messaging-crm/core/CallbackInbox"
import type { ClaimedWork } from "@messaging-crm/core/WorkQueue"
import { Array, DateTime, HashMap, Layer, Option } from "effect"
import { nameOf } from "../work/Lanes.ts"
import * as Table from "../world/Table.ts"
import { World, type WorldState } from "../world/World.ts"

const callbackOf = ({ tables }: WorldState, { ref }: Pick<ClaimedWork, "ref">) =>
  Option.map(Table.locateByKey(tables, CallbackRows, ref), ({ row }) => Table.plain(row))

/** Returns the callbacks of a lane that another claim has or that are due later. */
const waitingOf = (state: WorldState, work: ClaimedWork, now: DateTime.Utc): ReadonlyArray<StoredCallback> =>
  Option.match(HashMap.get(state.queue.lanes, nameOf(work)), {
    onNone: () => [],
    onSome: ({ items }) =>
      items.filter(({ claim, due_at }) =>
        claim === null ? DateTime.isGreaterThan(due_at, now) : claim.token !== work.token
      ).flatMap((item) => Option.toArray(callbackOf(state, item)))
  })

const isBehind = ({ channel_id, id, people }: StoredCallback) => (earlier: StoredCallback): boolean =>
  channel_id !== null && earlier.channel_id === channel_id && earlier.id < id &&
  earlier.people.some((person) => people.includes(person))

/** Layer that reads bodies of callbacks in the in-memory world. */
export const layer = Layer.effect(
  CallbackStore,
  World.useSync(({ read }) =>
    CallbackStore.of({
      load: (claimed, { now, ordered_since }) =>
        read((state) =>
          claimed.map((work) => {
            const waiting = waitingOf(state, work, now)
              .filter(({ received_at }) => DateTime.isGreaterThan(received_at, ordered_since))
            return Option.map(callbackOf(state, work), (callback) => ({
              callback,
              is_behind: waiting.some(isBehind(callback))
            }))
          })
        ),
      backlog: read(({ tables }) => {
        const received = Table.allOfEveryOwner(tables, CallbackRows).map(({ row }) => row.received_at)
        const [oldest = null] = Array.sort(received, DateTime.Order)
        return { count: received.length, oldest_received_at: oldest }
      })
    })
  )
)
