import { CallbackStore } from "@messaging-crm/core/CallbackInbox"
import { ChannelRows } from "@messaging-crm/core/Channels"
import { Array, DateTime, HashMap, Layer, Option, Order, Struct } from "effect"
import * as Table from "../world/Table.ts"
import { type CallbackRow, World, type WorldState } from "../world/World.ts"

const longestDue = Order.combine(
  Order.mapInput(DateTime.Order, ({ due_at }: CallbackRow) => due_at),
  Order.mapInput(Order.String, ({ id }: CallbackRow) => id)
)

const keep = (state: WorldState, ...changed: ReadonlyArray<CallbackRow>): WorldState => ({
  ...state,
  callbacks: HashMap.setMany(state.callbacks, changed.map((row) => [row.id, row] as const))
})

/** Sorts bodies by turns of their organizations: the longest due of each comes first. */
const inTurns = ({ tables }: WorldState, due: ReadonlyArray<CallbackRow>): ReadonlyArray<CallbackRow> => {
  const ownerOf = ({ channel_id }: CallbackRow) =>
    channel_id === null
      ? null
      : Option.getOrNull(Option.map(Table.locate(tables, ChannelRows, channel_id), (found) => found.organization_id))
  const turns = Array.fromIterable(Map.groupBy(Array.sort(due, longestDue), ownerOf).values()).flatMap((rows) =>
    rows.map((row, turn) => ({ row, turn }))
  )
  return Array.sortWith(turns, ({ turn }) => turn, Order.Number).map(({ row }) => row)
}

/** Layer that keeps bodies of callbacks in the in-memory world. */
export const layer = Layer.effect(
  CallbackStore,
  World.useSync(({ modify, read }) =>
    CallbackStore.of({
      insert: (callbacks) =>
        modify((state) => [
          undefined,
          keep(state, ...callbacks.map((each) => ({ ...each, attempt: 0, token: "", due_at: each.received_at })))
        ]),
      claim: ({ lease_until, limit, now, token }) =>
        modify((state) => {
          const due = Array.fromIterable(HashMap.values(state.callbacks)).filter(({ due_at }) =>
            DateTime.isLessThanOrEqualTo(due_at, now)
          )
          const claimed = Array.take(inTurns(state, due), limit).map((row) => ({
            ...row,
            attempt: row.attempt + 1,
            token,
            due_at: lease_until
          }))
          return [claimed.map(Struct.omit(["due_at", "people"])), keep(state, ...claimed)]
        }),
      finish: (id) => modify((state) => [undefined, { ...state, callbacks: HashMap.remove(state.callbacks, id) }]),
      postpone: ({ id, token }, due_at) =>
        modify((state) => {
          const held = Option.filter(HashMap.get(state.callbacks, id), (row) => row.token === token)
          return [undefined, Option.isNone(held) ? state : keep(state, { ...held.value, due_at })]
        }),
      backlog: read(({ callbacks }) => {
        const received = Array.fromIterable(HashMap.values(callbacks)).map(({ received_at }) => received_at)
        const [oldest = null] = Array.sort(received, DateTime.Order)
        return { count: received.length, oldest_received_at: oldest }
      })
    })
  )
)
