import { assert, describe, it } from "@effect/vitest"
import { ChannelId, ConversationId, MessageId } from "@messaging-crm/core/Ids"
import {
  applyUpdate,
  clamped,
  type Message,
  type MessageUpdate,
  type StatusUpdate,
  storeEarlyUpdate
} from "@messaging-crm/core/Messages"
import { Arbitrary, DateTime, Option, Schema } from "effect"

const at = (millis: number) => DateTime.makeUnsafe(millis)

const message: Message = {
  id: MessageId.make("01990000-0000-7000-8000-000000000001"),
  conversation_id: ConversationId.make("01990000-0000-7000-8000-000000000002"),
  direction: "outbound",
  type: "text",
  text: "Hello",
  sender: { type: "member", name: "Ada" },
  status: "sent",
  media: null,
  details: null,
  provider_message_id: "p",
  created_at: at(0),
  sent_at: null,
  delivered_at: null,
  read_at: null,
  failed_at: null,
  edited_at: null,
  deleted_at: null
}

const updates: ReadonlyArray<StatusUpdate> = [
  { status: "sent", at: at(1) },
  { status: "delivered", at: at(2) },
  { status: "read", at: at(3) },
  { status: "failed", at: at(4) }
]

const orders = <A>(values: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  values.length === 0
    ? [[]]
    : values.flatMap((value, index) => orders(values.toSpliced(index, 1)).map((rest) => [value, ...rest]))

const after = (...given: ReadonlyArray<MessageUpdate>): Message => given.reduce(applyUpdate, message)

const failed = (millis: number, code?: number): StatusUpdate => ({
  status: "failed",
  at: at(millis),
  ...(code === undefined ? {} : { failure: { code, title: "Rejected", description: null } })
})

const millis = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))

/** A copy whose fields are in another order, as PostgreSQL returns them. */
const reordered = (update: MessageUpdate): MessageUpdate =>
  // The entries are those of the update.
  Object.fromEntries(Object.entries(update).toReversed()) as unknown as MessageUpdate

const anyUpdate = Arbitrary.all({
  status: Arbitrary.schema(Schema.Literals(["sent", "delivered", "read", "failed"])),
  at: Arbitrary.schema(millis).pipe(Arbitrary.map(at))
})

describe("a status update", () => {
  it("leads to the same message in all 24 orders, with any repetition", () => {
    const all = orders(updates)
    assert.lengthOf(all, 24)
    const end: Message = {
      ...message,
      status: "read",
      sent_at: at(1),
      delivered_at: at(2),
      read_at: at(3),
      failed_at: at(4)
    }
    for (const order of all) {
      for (const again of updates) {
        for (let position = 0; position <= order.length; position++) {
          assert.deepStrictEqual(after(...order.toSpliced(position, 0, again)), end)
        }
      }
    }
  })

  it.prop("leads to the same message in both orders, and when it is repeated", {
    given: Arbitrary.array(anyUpdate, { maxLength: 6 })
  }, ({ given }) => {
    assert.deepStrictEqual(after(...given.toReversed()), after(...given))
    assert.deepStrictEqual(after(...given, ...given), after(...given))
  })

  it("of delivered or read overrides failed, keeps failed_at, and has the provider's time", () => {
    const [sent, delivered, read, failed] = updates as readonly [StatusUpdate, StatusUpdate, StatusUpdate, StatusUpdate]
    assert.deepStrictEqual(after(sent).status, "sent")
    assert.deepStrictEqual(after(sent, failed).status, "failed")
    assert.deepStrictEqual(after(failed, delivered).status, "delivered")
    assert.deepStrictEqual(after(delivered, failed).failed_at, failed.at)
    assert.deepStrictEqual([after(read).status, after(read).delivered_at], ["read", null])
    assert.deepStrictEqual(after(read, delivered).delivered_at, delivered.at)
  })

  it.prop("stores the failure of the earliest report, in any order, and also after a deletion", {
    given: Arbitrary.array(
      Arbitrary.all({
        millis: Arbitrary.schema(millis),
        code: Arbitrary.schema(Schema.Literals(["none", "131026", "131042", "deleted"]))
      }),
      { maxLength: 6 }
    )
  }, ({ given }) => {
    const reports = given.map(({ code, millis }): MessageUpdate =>
      code === "deleted"
        ? { status: "deleted", at: at(millis) }
        : failed(millis, code === "none" ? undefined : Number(code))
    )
    const quoting: Message = { ...message, details: { quoted: { provider_message_id: "q", from: null } } }
    const end = reports.reduce(applyUpdate, quoting)
    assert.deepStrictEqual(reports.toReversed().reduce(applyUpdate, quoting), end)
    assert.deepStrictEqual([...reports, ...reports].reduce(applyUpdate, quoting), end)
    const first = given.filter(({ code }) => code !== "deleted").toSorted((a, b) => a.millis - b.millis)
    const codes = first.filter(({ millis }) => millis === first[0]?.millis).flatMap(({ code }) =>
      code === "none" ? [] : Number(code)
    )
    const isDeleted = given.some(({ code }) => code === "deleted")
    assert.deepStrictEqual(end.details?.failure?.code, codes.toSorted()[0])
    assert.strictEqual(end.details?.quoted === undefined, isDeleted)
  })

  it("of delivered leaves why the message had failed", () => {
    const { details, status } = after(failed(1, 131026), { status: "delivered", at: at(2) })
    assert.deepStrictEqual([status, details?.failure?.code], ["delivered", 131026])
  })

  it("does not change an inbound message", () => {
    const inbound: Message = { ...message, direction: "inbound", status: "received" }
    assert.deepStrictEqual(updates.reduce(applyUpdate, inbound), inbound)
  })

  it("without effect returns the same object", () => {
    const all = after(...updates)
    for (const update of updates) assert.strictEqual(applyUpdate(all, update), all)
  })

  it("of a status that only a newer version knows returns the same object", () => {
    // Stored by that version, for a message that was not yet known.
    const update = { status: "pinned", at: at(5) } as unknown as MessageUpdate
    assert.strictEqual(applyUpdate(message, update), message)
  })

  it("stays up to a day in the future, because clocks differ, and counts as now after that", () => {
    const day = 86_400_000
    for (const millis of [2, 3, 5, 3 + day]) assert.deepStrictEqual(clamped(at(millis), at(3)), at(millis))
    assert.deepStrictEqual(clamped(at(4 + day), at(3)), at(3))
  })

  it("of a time before the message was sent, as the service knows it, shows that it was sent then", () => {
    // The service's clock is ahead of the provider's.
    const sent: Message = { ...message, sent_at: at(9) }
    for (const status of ["delivered", "read", "failed"] as const) {
      assert.deepInclude(applyUpdate(sent, { status, at: at(4) }), { status, sent_at: at(4) })
    }
  })

  it("before the year 1 counts as its beginning", () => {
    const first = DateTime.makeUnsafe("0001-01-01T00:00:00.000Z")
    const before = DateTime.subtract(first, { milliseconds: 1 })
    assert.deepStrictEqual(clamped(before, at(3)), first)
    assert.deepStrictEqual(clamped(first, at(3)), first)
  })
})

describe("an edit or a deletion", () => {
  const edited = (millis: number): MessageUpdate => ({ status: "edited", text: `Text of ${millis}`, at: at(millis) })

  it.prop("leads to the latest text in both orders, or to none, and without effect to the same object", {
    direction: Schema.Literals(["inbound", "outbound"]),
    given: Arbitrary.array(
      Arbitrary.all({ millis: Arbitrary.schema(millis), is_deletion: Arbitrary.schema(Schema.Boolean) }),
      {
        maxLength: 6
      }
    )
  }, ({ direction, given }) => {
    const news = given.map(({ is_deletion, millis }): MessageUpdate =>
      is_deletion ? { status: "deleted", at: at(millis) } : edited(millis)
    )
    const of = (is_deletion: boolean) =>
      given.filter((each) => each.is_deletion === is_deletion).map(({ millis }) => millis).toSorted()
    const latest = of(false).at(-1)
    const first = of(true)[0]
    const start: Message = {
      ...message,
      direction,
      media: { id: null, kind: "image", mime_type: null, filename: "a.png", byte_size: 1, transcript: null }
    }
    const end: Message = {
      ...start,
      text: first === undefined ? latest === undefined ? "Hello" : `Text of ${latest}` : null,
      media: first === undefined ? start.media : null,
      edited_at: latest === undefined ? null : at(latest),
      deleted_at: first === undefined ? null : at(first)
    }
    assert.deepStrictEqual(news.reduce(applyUpdate, start), end)
    assert.deepStrictEqual(news.toReversed().reduce(applyUpdate, start), end)
    for (const again of news) assert.strictEqual(applyUpdate(end, again), end)
  })

  it("of two edits with one time leaves the first", () => {
    const [first, second] = [edited(1), { ...edited(1), text: "Another" }] as const
    assert.strictEqual(after(first, second).text, "Text of 1")
  })
})

describe("updates that arrive before their message", () => {
  const key = { channel_id: ChannelId.make("01990000-0000-7000-8000-000000000003"), provider_message_id: "p" }
  const kinds: ReadonlyArray<MessageUpdate> = [
    ...updates,
    failed(4, 131026),
    failed(4, 131042),
    { status: "failed", at: at(4), failure: { code: 131026, title: "Rejected", description: "Blocked" } },
    { status: "failed", at: at(3) },
    { status: "sent", at: at(2) },
    { status: "edited", text: "Hello", at: at(4) },
    { status: "edited", text: "Hello again", at: at(4) },
    { status: "edited", text: null, at: at(5) },
    { status: "deleted", at: at(4) },
    { status: "deleted", at: at(3) }
  ]
  const one = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: kinds.length - 1 })))

  const store = (known: ReadonlyArray<MessageUpdate>, update: MessageUpdate): ReadonlyArray<MessageUpdate> => {
    const early = { ...key, early_updates: known.map(reordered), version: 1, message: Option.none() }
    const found = known.length === 0 ? Option.none() : Option.some(early)
    const { insert: [inserted] = [], update: [updated] = [] } = storeEarlyUpdate(key, found, update, at(9))
    const written = (inserted?.rows[0] ?? updated?.set) as
      | { readonly early_updates: ReadonlyArray<MessageUpdate> }
      | undefined
    return written?.early_updates ?? known
  }

  it.prop("are stored once for each status, and lead to the same message", {
    given: Arbitrary.array(Arbitrary.map(one, (index) => kinds[index] as MessageUpdate), {
      minLength: 1,
      maxLength: 12
    })
  }, ({ given }) => {
    const stored = given.reduce(store, [])
    assert.lengthOf(stored, new Set(given.map(({ status }) => status)).size)
    for (const first of [message, { ...message, direction: "inbound" as const }]) {
      assert.deepStrictEqual(stored.reduce(applyUpdate, first), given.reduce(applyUpdate, first))
    }
  })
})
