import { assert, describe, it } from "@effect/vitest"
import { ConversationId, MessageId } from "@messaging-crm/core/Ids"
import { type Message, report, type StatusReport } from "@messaging-crm/core/Messages"
import { Arbitrary, DateTime, Schema } from "effect"

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
  provider_message_id: "p",
  created_at: at(0),
  sent_at: null,
  delivered_at: null,
  read_at: null,
  failed_at: null,
  edited_at: null,
  deleted_at: null
}

const reports: ReadonlyArray<StatusReport> = [
  { status: "sent", at: at(1) },
  { status: "delivered", at: at(2) },
  { status: "read", at: at(3) },
  { status: "failed", at: at(4) }
]

const orders = <A>(values: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  values.length === 0
    ? [[]]
    : values.flatMap((value, index) => orders(values.toSpliced(index, 1)).map((rest) => [value, ...rest]))

const after = (...told: ReadonlyArray<StatusReport>): Message => told.reduce(report, message)

const millis = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))

const anyReport = Arbitrary.all({
  status: Arbitrary.schema(Schema.Literals(["sent", "delivered", "read", "failed"])),
  at: Arbitrary.schema(millis).pipe(Arbitrary.map(at))
})

describe("a report", () => {
  it("ends in the same message in all 24 orders, whatever is repeated", () => {
    const all = orders(reports)
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
      for (const again of reports) {
        for (let position = 0; position <= order.length; position++) {
          assert.deepStrictEqual(after(...order.toSpliced(position, 0, again)), end)
        }
      }
    }
  })

  it.prop("ends in the same message whichever way round, and told twice as told once", {
    told: Arbitrary.array(anyReport, { maxLength: 6 })
  }, ({ told }) => {
    assert.deepStrictEqual(after(...told.toReversed()), after(...told))
    assert.deepStrictEqual(after(...told, ...told), after(...told))
  })

  it("of read implies delivered, and either overrules failed, whose time stays", () => {
    const [sent, delivered, read, failed] = reports as readonly [StatusReport, StatusReport, StatusReport, StatusReport]
    assert.deepStrictEqual(after(sent).status, "sent")
    assert.deepStrictEqual(after(sent, failed).status, "failed")
    assert.deepStrictEqual(after(failed, delivered).status, "delivered")
    assert.deepStrictEqual(after(delivered, failed).failed_at, failed.at)
    assert.deepStrictEqual(after(read).delivered_at, read.at)
    assert.deepStrictEqual(after(read, delivered).delivered_at, delivered.at)
  })

  it("changes nothing of a message from the contact", () => {
    const inbound: Message = { ...message, direction: "inbound", status: "received" }
    assert.deepStrictEqual(reports.reduce(report, inbound), inbound)
  })
})
