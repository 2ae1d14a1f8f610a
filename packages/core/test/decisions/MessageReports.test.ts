/** The reports of a message's status: its message, its send, and its channel (contract §12.8). */
import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { type ChannelHoldRow, ChannelHoldRows } from "@messaging-crm/core/ChannelHolds"
import { MessageId, SendId } from "@messaging-crm/core/Ids"
import { type MessageRow, MessageRows, ProviderMessageRows } from "@messaging-crm/core/Messages"
import { type SendRow, SendRows } from "@messaging-crm/core/Sends"
import { erased } from "@messaging-crm/core/Text"
import { Option } from "effect"
import { applyStatusReport, isMessageOfSend } from "../../src/inbound/MessageReports.ts"
import { ada, after, channel, contact, context, id, identity, message, noon, row } from "./Fixtures.ts"

const report = {
  event: "message_status_reported",
  channel_id: channel.id,
  provider_message_id: "p",
  reference: row.id,
  status: "read",
  at: after(3)
} as const

type Event = Parameters<typeof applyStatusReport>[1]
type Loaded = Parameters<typeof applyStatusReport>[0]

/** The rows that are loaded for a report: the message under its ID, and the send that it names; undefined if it can complete none. */
const loadedOf = (
  known: MessageRow | null,
  send?: Partial<SendRow> | null,
  hold: Option.Option<ChannelHoldRow> = Option.none()
): Loaded => {
  const found = Option.map(Option.fromNullishOr(known), (each) => ({
    channel_id: channel.id,
    provider_message_id: "p",
    early_updates: [],
    version: 1,
    message: Option.some({ ...each, contact_id: contact.id })
  }))
  const lookedUp = { channel_id: channel.id, provider_message_id: "p", found, erased_id: "erased-p" }
  const outgoing = Option.map(Option.fromNullishOr(send), (fields) => ({
    send: { ...row, ...fields },
    channel,
    hold: null,
    contact_id: contact.id,
    identity_id: identity.id,
    member_name: ada.name
  }))
  return { lookedUp, hold, completion: send === undefined ? null : { outgoing, provider_message: lookedUp } }
}

const apply = (loaded: Loaded, event: Event = report) => applyStatusReport(loaded, event, context())

const setOf = ({ update = [] }: Changes.Changes) => update.find(({ table }) => table === MessageRows.table)?.set
const inserts = ({ insert = [] }: Changes.Changes) => insert.map(({ table }) => table.name)

const written: MessageRow = { ...message, sender: { type: "business_app", name: null } }
const sent = { status: "sent", message_id: message.id } as const

describe("a report with a reference", () => {
  it("completes the send that awaits it, with the status, and updates no other message", () => {
    const changes = apply(loadedOf(null, {}))
    assert.deepStrictEqual(
      changes.update,
      SendRows.update(row, { status: "sent", message_id: MessageId.make(id(100)) }).update
    )
    assert.include(inserts(changes), MessageRows.table.name)
    const { rows } = changes.insert?.find(({ table }) => table === ProviderMessageRows.table) ?? {}
    assert.deepInclude(rows?.[0], { message_id: id(100), early_updates: [] })
  })

  it("is kept for a message that arrives later, if the send does not exist or has ended", () => {
    for (const send of [null, { ...sent, message_id: MessageId.make(id(99)) }]) {
      const changes = apply(loadedOf(null, send))
      assert.deepStrictEqual(inserts(changes), [ProviderMessageRows.table.name])
      assert.deepInclude(changes.insert?.[0]?.rows[0], { early_updates: [{ status: "read", at: after(3) }] })
      assert.isUndefined(changes.update)
    }
  })

  it("updates the message of a send that another report has completed meanwhile", () => {
    assert.deepInclude(setOf(apply(loadedOf(written, sent))), { status: "read", read_at: after(3) })
  })

  it("to a person who was erased updates a stored message, and is not kept for another", () => {
    assert.deepInclude(setOf(apply(loadedOf(written, { recipient: erased }))), { status: "read" })
    const changes = apply(loadedOf(null, { recipient: erased }))
    const { rows } = changes.insert?.[0] ?? {}
    assert.deepInclude(rows?.[0], { provider_message_id: "erased-p", early_updates: [] })
  })

  it("is of a message of the send, if that can have it or has it", () => {
    const other = { ...sent, message_id: MessageId.make(id(99)) }
    const cases: ReadonlyArray<readonly [Loaded, boolean]> = [
      [loadedOf(message), true],
      [loadedOf(null), false],
      [loadedOf(null, {}), true],
      [loadedOf(null, null), false],
      [loadedOf(null, sent), false],
      [loadedOf(written, sent), true],
      [loadedOf(written, other), false],
      [loadedOf(null, { ...other, recipient: erased }), true]
    ]
    for (const [index, [loaded, expected]] of cases.entries()) {
      assert.strictEqual(isMessageOfSend(loaded), expected, `case ${index}`)
    }
  })
})

describe("a report that pauses the channel", () => {
  const pausing: Event = { ...report, status: "failed", reference: null, pauses_channel: "provider_rejected" }
  const hold = {
    channel_id: channel.id,
    reason: "provider_rejected",
    held_at: after(9),
    until: null,
    level: 0
  } as const

  it("pauses it with the change of the message", () => {
    const changes = apply(loadedOf(message), pausing)
    assert.deepInclude(setOf(changes), { status: "failed" })
    assert.deepStrictEqual(changes.insert, ChannelHoldRows.insert(hold).insert)
  })

  it("does not pause it if it changes nothing, or has no reason to", () => {
    const failed: MessageRow = { ...message, status: "failed", failed_at: noon }
    assert.deepStrictEqual(apply(loadedOf(failed), pausing), Changes.none)
    const { pauses_channel: _, ...harmless } = pausing
    assert.isUndefined(apply(loadedOf(message), harmless).insert)
  })

  it("leaves a paused channel as it is", () => {
    const paused = Option.some({ ...hold, held_at: noon, version: 1 })
    const changes = apply(loadedOf(message, undefined, paused), pausing)
    assert.deepInclude(setOf(changes), { status: "failed" })
    assert.isUndefined(changes.insert)
  })
})

describe("a report without a reference", () => {
  it("has no time more than a day after the present", () => {
    const late: Event = { ...report, reference: null, at: after(2 * 86_400_000) }
    assert.deepInclude(setOf(apply(loadedOf(message), late)), { read_at: after(9) })
    assert.deepInclude(setOf(apply(loadedOf(written, { ...sent, id: SendId.make(id(12)) }), late)), {
      read_at: after(9)
    })
  })
})
