/** The services that receive a provider's callbacks, for the channels of all cells. */
import { CallbackInbox, type CallbackPart } from "@messaging-crm/core/CallbackInbox"
import { ChannelAccounts, type OpenedAccount } from "@messaging-crm/core/ChannelAccounts"
import { OrganizationClosed } from "@messaging-crm/core/Commit"
import type { ChannelId } from "@messaging-crm/core/Ids"
import { ChannelUnknown, Inbound } from "@messaging-crm/core/Inbound"
import { type Context, Effect, Layer, Option } from "effect"
import type { Cell } from "./Cell.ts"
import { Cells, startedOf } from "./Cells.ts"
import { Directory, type Located } from "./Directory.ts"

/** An operation that no callback needs. */
const unneeded = Effect.die(new Error("A callback does not use this operation"))

const valueOf = Option.map(<A>({ found }: Located<Cell, A>) => found)

type Channels = Directory<ChannelId, Cell>

const makeAccounts = (cells: ReadonlyArray<Cell>, channels: Channels) => {
  const accounts = new Directory<string, Cell>(cells)

  const lookUp = <A, E>(
    key: string,
    ask: (stored: Context.Service.Shape<typeof ChannelAccounts>) => Effect.Effect<Option.Option<A>, E>
  ) => accounts.find(key, (cell) => cell.use(ChannelAccounts, ask))

  const open = (
    key: string,
    ask: (
      stored: Context.Service.Shape<typeof ChannelAccounts>
    ) => Effect.Effect<Option.Option<OpenedAccount>, Effect.Error<ReturnType<typeof stored.open>>>
  ) => Effect.map(lookUp(key, ask), valueOf)

  return ChannelAccounts.of({
    connect: () => unneeded,
    setToken: () => unneeded,
    reseal: unneeded,
    find: (id) => Effect.map(lookUp(id, ({ find }) => find(id)), valueOf),
    open: (id) => open(id, (stored) => stored.open(id)),
    openByAccount: (type, id) => open(`${type} ${id}`, (stored) => stored.openByAccount(type, id)),
    openByBusinessAccount: (id) => open(`business ${id}`, (stored) => stored.openByBusinessAccount(id)),
    channelOf: (type, ids) =>
      Effect.map(
        lookUp(`${type} ${ids.account_id}`, ({ channelOf }) => channelOf(type, ids)),
        Option.map(({ cell, found }) => {
          channels.remember(found, cell)
          return found
        })
      )
  })
}

/** Returns the organization of a channel that a cell has. */
const organizationIn = (channel_id: ChannelId) => (cell: Cell) =>
  cell.use(Inbound, ({ organizationOf }) => Effect.map(organizationOf(channel_id), Option.fromNullOr))

/** Returns the organization of a channel, and its cell. */
const locate = (channels: Channels, channel_id: ChannelId) => channels.find(channel_id, organizationIn(channel_id))

/**
 * Uses the cell of a channel. While its organization is moved, two cells have the channel: one that is closed for it, and one that
 * can be open. If both are closed, the network repeats the callback.
 */
const useOpen = <A, E, R>(
  channels: Channels,
  channel_id: ChannelId,
  cell: Cell,
  use: (cell: Cell) => Effect.Effect<A, E, R>
) =>
  Effect.catchDefect(use(cell), (defect) =>
    defect instanceof OrganizationClosed
      ? Effect.flatMap(
        channels.findElsewhere(channel_id, cell, organizationIn(channel_id)),
        Option.match({ onNone: () => Effect.die(defect), onSome: (located) => use(located.cell) })
      )
      : Effect.die(defect))

const makeInbox = (cells: ReadonlyArray<Cell>, channels: Channels) => {
  /** Returns the cell that stores a part. One of an unknown channel is only counted, in any cell. */
  const cellOf = ({ channel_id }: CallbackPart) =>
    channel_id === null
      ? Effect.sync(() => startedOf(cells))
      : Effect.map(
        locate(channels, channel_id),
        Option.match({ onNone: () => startedOf(cells), onSome: ({ cell }) => cell })
      )

  /** Stores parts in a cell. If it is closed for one of them, each is stored on its own. */
  const storeIn = (cell: Cell, source: string, parts: ReadonlyArray<CallbackPart>) => {
    const store = (parts: ReadonlyArray<CallbackPart>) => (cell: Cell) =>
      cell.use(CallbackInbox, ({ store }) => store(source, parts))
    return Effect.catchDefect(store(parts)(cell), (defect) =>
      defect instanceof OrganizationClosed
        ? Effect.forEach(
          parts,
          (part) =>
            part.channel_id === null ? store([part])(cell) : useOpen(channels, part.channel_id, cell, store([part])),
          { discard: true }
        )
        : Effect.die(defect))
  }

  return CallbackInbox.of({
    measure: unneeded,
    run: () => unneeded,
    runOnce: () => unneeded,
    // If a part cannot be stored, the network repeats the body. Processing the other parts again changes nothing.
    store: Effect.fnUntraced(function*(source, parts) {
      const located = yield* Effect.forEach(parts, (part) => Effect.map(cellOf(part), (cell) => ({ cell, part })), {
        concurrency: 8
      })
      yield* Effect.forEach(
        Map.groupBy(located, ({ cell }) => cell),
        ([cell, own]) => storeIn(cell, source, own.map(({ part }) => part)),
        { concurrency: "unbounded", discard: true }
      )
    })
  })
}

const makeInbound = (channels: Channels) =>
  Inbound.of({
    organizationOf: (channel_id) =>
      Effect.map(locate(channels, channel_id), (located) => Option.getOrNull(valueOf(located))),
    receive: (event, callback_id) => {
      const receiveIn = (cell: Cell) => cell.use(Inbound, ({ receive }) => receive(event, callback_id))
      return Effect.flatMap(
        locate(channels, event.channel_id),
        Option.match({
          onNone: () => new ChannelUnknown({ channel_id: event.channel_id }),
          onSome: ({ cell }) => useOpen(channels, event.channel_id, cell, receiveIn)
        })
      )
    }
  })

/** Layer for the services of `Provider.ingress`. Each looks for the cell of a channel, and uses the cell's own service. */
export const layer = Layer.unwrap(Cells.useSync(({ all }) => {
  const channels: Channels = new Directory<ChannelId, Cell>(all)
  return Layer.mergeAll(
    Layer.succeed(ChannelAccounts, makeAccounts(all, channels)),
    Layer.succeed(CallbackInbox, makeInbox(all, channels)),
    Layer.succeed(Inbound, makeInbound(channels))
  )
}))
