/** Callbacks for the channels of several cells. */
import { assert, it } from "@effect/vitest"
import { messageReceived } from "@messaging-crm/conformance/Fixtures"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { CallbackInbox } from "@messaging-crm/core/CallbackInbox"
import { ChannelAccounts, ChannelToken } from "@messaging-crm/core/ChannelAccounts"
import { ConnectChannel } from "@messaging-crm/core/Channels"
import { Inbound } from "@messaging-crm/core/Inbound"
import { DateTime, Effect, Exit, Layer, Option, Redacted } from "effect"
import * as Callbacks from "../../src/cells/Callbacks.ts"
import { Cell } from "../../src/cells/Cell.ts"
import { Cells } from "../../src/cells/Cells.ts"
import { startCell } from "./CellsScene.ts"

type Started = Effect.Success<ReturnType<typeof startCell>>

/** Connects a channel with an account in a cell. */
const connect = ({ cell, organization: { organization, owner } }: Started, account_id: string) =>
  cell.use(ChannelAccounts, (accounts) =>
    accounts.connect(
      ConnectChannel.make({
        type: "page_messaging",
        name: "Page",
        address: account_id,
        phone_messaging_business_account_id: null
      }),
      { account_id, app_id: "app", page_id: null },
      ChannelToken.make(Redacted.make("token"))
    )).pipe(Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: owner.id }))

const started = Effect.gen(function*() {
  const cells = [yield* startCell("one"), yield* startCell("two")] as const
  return { cells, all: cells.map(({ cell }) => cell) }
})

const over = (all: ReadonlyArray<Cell>) => Callbacks.layer.pipe(Layer.provide(Layer.succeed(Cells, { all })))

const accountOf = (account_id: string) =>
  ChannelAccounts.use(({ channelOf }) => channelOf("page_messaging", { account_id, app_id: "app" }))

/** The bodies that a cell has stored. */
const storedIn = Effect.fnUntraced(function*({ cell }: Started) {
  const bodies: Array<string> = []
  yield* cell.use(
    CallbackInbox,
    ({ runOnce }) => runOnce(({ body }) => Effect.sync(() => void bodies.push(new TextDecoder().decode(body))))
  )
  return bodies
})

const part = (channel_id: Effect.Success<ReturnType<typeof connect>>["id"] | null, body: string) => ({
  channel_id,
  people: [],
  body: new TextEncoder().encode(body)
})

it.effect("an account is found in its cell, and the parts of a body are stored in the cells of their channels", () =>
  Effect.gen(function*() {
    const { all, cells: [one, two] } = yield* started
    const [first, second] = [yield* connect(one, "page-1"), yield* connect(two, "page-2")]
    yield* Effect.gen(function*() {
      for (let time = 0; time < 2; time++) {
        assert.deepStrictEqual(yield* accountOf("page-1"), Option.some(first.id))
        assert.deepStrictEqual(yield* accountOf("page-2"), Option.some(second.id))
        assert.deepStrictEqual(yield* accountOf("page-3"), Option.none())
      }
      const opened = yield* ChannelAccounts.use(({ openByAccount }) => openByAccount("page_messaging", "page-2"))
      assert.strictEqual(Option.getOrThrow(opened).channel_id, second.id)
      yield* CallbackInbox.use(({ store }) =>
        store("app", [part(first.id, "for one"), part(second.id, "for two"), part(null, "for nobody")])
      )
    }).pipe(Effect.provide(over(all)))
    assert.sameMembers(yield* storedIn(one), ["for one", "for nobody"])
    assert.deepStrictEqual(yield* storedIn(two), ["for two"])
  }).pipe(Effect.scoped))

it.effect("an event is applied in the cell of its channel", () =>
  Effect.gen(function*() {
    const { all, cells: [one, two] } = yield* started
    const { channel } = two.organization
    const count = ({ organization: { key }, service }: Started) =>
      Effect.promise(async () => (await service.request("GET", "/v1/contacts", { key })).body.data.length)
    const receive = (channel_id: typeof channel.id) =>
      Inbound.use((inbound) =>
        inbound.receive(messageReceived({
          channel_id,
          provider_message_id: "message-1",
          sent_at: DateTime.makeUnsafe("2026-11-20T12:00:00.000Z"),
          from: { external_id: "4915112345678", display_name: null, username: null }
        }))
      ).pipe(Effect.provide(over(all)))
    yield* receive(channel.id)
    assert.deepStrictEqual([yield* count(one), yield* count(two)], [0, 1])
    const unknown = "01990000-0000-7000-8000-000000000000" as typeof channel.id // of no channel
    assert.strictEqual((yield* Effect.flip(receive(unknown)))._tag, "ChannelUnknown")
  }).pipe(Effect.scoped))

it.effect("while a cell is down, the callbacks of the others are stored, and those that can be its own are not accepted", () =>
  Effect.gen(function*() {
    const { all, cells: [one] } = yield* started
    const { id } = yield* connect(one, "page-1")
    yield* Effect.gen(function*() {
      assert.deepStrictEqual(yield* accountOf("page-1"), Option.some(id))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(accountOf("page-3"))))
      yield* CallbackInbox.use(({ store }) => store("app", [part(id, "for one")]))
    }).pipe(Effect.provide(over([...all, new Cell("down")])))
    assert.deepStrictEqual(yield* storedIn(one), ["for one"])
  }).pipe(Effect.scoped))
