import { CallbackStore } from "@messaging-crm/core/CallbackInbox"
import { ChannelRows } from "@messaging-crm/core/Channels"
import { Array, DateTime, HashMap, Layer, Option, Order, Struct } from "effect"
import * as Table from "../world/Table.ts"
import { type CallbackRow, World, type WorldState } from "../world/World.ts"

const longestDue = Order.combine(
  Order.mapInput(DateTime.Order, ({ due_at }: CallbackRow) => due_at),
  Order.mapInput(Order.String, ({ id }: CallbackRow) => id)
)

const putRows = (state: WorldState, ...rows: ReadonlyArray<CallbackRow>): WorldState => ({
  ...state,
  callbacks: HashMap.setMany(state.callbacks, rows.map((row) => [row.id, row] as const))
})

/** The organization of bodies without a connected channel. All of them take turns as one organization. */
const no_organization = "0"

const ownerOf = ({ tables }: WorldState, { channel_id }: CallbackRow): string =>
  Option.fromNullOr(channel_id).pipe(
    Option.flatMap((id) => Table.locateByKey(tables, ChannelRows, id)),
    Option.match({ onNone: () => no_organization, onSome: ({ organization_id }) => organization_id })
  )

/**
 * Returns at most `limit` bodies and the last organization that gets a turn. The organizations follow the one served
 * last, in the order of their IDs; each gets another turn only after the others.
 */
const takeInTurns = (
  state: WorldState,
  due: ReadonlyArray<CallbackRow>,
  limit: number
): readonly [ReadonlyArray<CallbackRow>, string] => {
  const groups = Array.fromIterable(Map.groupBy(Array.sort(due, longestDue), (row) => ownerOf(state, row)))
  const ring = Array.sortWith(groups, ([owner]) => owner, Order.String)
  const next = Math.max(0, ring.findIndex(([owner]) => owner > state.callbacks_served))
  const served = Array.take([...ring.slice(next), ...ring.slice(0, next)], limit)
  const rows = served.flatMap(([, group]) => group.map((row, turn) => ({ row, turn })))
  const inOrder = Order.combine(
    Order.mapInput(Order.Number, ({ turn }: typeof rows[number]) => turn),
    Order.mapInput(longestDue, ({ row }: typeof rows[number]) => row)
  )
  return [
    Array.take(Array.sort(rows, inOrder), limit).map(({ row }) => row),
    served.at(-1)?.[0] ?? state.callbacks_served
  ]
}

/** Returns whether an earlier body of the same channel and person is claimed or postponed, and was received after a time. */
const isBlocked = (waiting: ReadonlyArray<CallbackRow>, { channel_id, id, people }: CallbackRow): boolean =>
  waiting.some((earlier) =>
    earlier.channel_id === channel_id && earlier.id < id && earlier.people.some((person) => people.includes(person))
  )

/** Layer that keeps bodies of callbacks in the in-memory world. */
export const layer = Layer.effect(
  CallbackStore,
  World.useSync(({ modify, read }) =>
    CallbackStore.of({
      insert: (callbacks) =>
        modify((state) => [
          undefined,
          putRows(
            state,
            ...callbacks.map((callback) => ({ ...callback, attempt: 0, token: "", due_at: callback.received_at }))
          )
        ]),
      claim: ({ lease_until, limit, now, ordered_since, token }) =>
        modify((state) => {
          const all = Array.fromIterable(HashMap.values(state.callbacks))
          const isDue = ({ due_at }: CallbackRow) => DateTime.isLessThanOrEqualTo(due_at, now)
          const waiting = all.filter((row) =>
            ordered_since !== undefined && !isDue(row) && DateTime.isGreaterThan(row.received_at, ordered_since)
          )
          const due = all.filter((row) => isDue(row) && !isBlocked(waiting, row))
          const [rows, callbacks_served] = takeInTurns(state, due, limit)
          const claimed = rows.map((row) => ({ ...row, attempt: row.attempt + 1, token, due_at: lease_until }))
          return [claimed.map(Struct.omit(["due_at", "people"])), { ...putRows(state, ...claimed), callbacks_served }]
        }),
      finish: (id) => modify((state) => [undefined, { ...state, callbacks: HashMap.remove(state.callbacks, id) }]),
      postpone: ({ id, token }, due_at) =>
        modify((state) => {
          const callback = Option.filter(HashMap.get(state.callbacks, id), (row) => row.token === token)
          return [undefined, Option.isNone(callback) ? state : putRows(state, { ...callback.value, due_at })]
        }),
      backlog: read(({ callbacks }) => {
        const received = Array.fromIterable(HashMap.values(callbacks)).map(({ received_at }) => received_at)
        const [oldest = null] = Array.sort(received, DateTime.Order)
        return { count: received.length, oldest_received_at: oldest }
      })
    })
  )
)
