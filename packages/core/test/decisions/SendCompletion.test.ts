/** The records of a send that the provider has accepted or rejected (contract §12.4, §12.8). */
import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { ConversationId, MessageId } from "@messaging-crm/core/Ids"
import {
  type LookedUpMessage,
  type Message,
  type MessageRow,
  MessageRows,
  type MessageUpdate,
  type ProviderMessage,
  ProviderMessageRows,
  type StatusUpdate
} from "@messaging-crm/core/Messages"
import { type OutgoingSend, type SendRow, SendRows } from "@messaging-crm/core/Sends"
import { erased } from "@messaging-crm/core/Text"
import { Option } from "effect"
import { complete, fail } from "../../src/sends/SendCompletion.ts"
import { ada, after, channel, contact, context, id, identity, message, noon, row } from "./Fixtures.ts"

const outgoingOf = (send: Partial<SendRow> = {}): OutgoingSend => ({
  send: { ...row, ...send },
  channel,
  hold: null,
  contact_id: contact.id,
  identity_id: identity.id,
  member_name: ada.name
})

/** The message that is stored under the provider message id. */
const stored = (
  known: MessageRow | null,
  early_updates: ReadonlyArray<MessageUpdate> = []
): Option.Option<ProviderMessage> =>
  Option.some({
    channel_id: channel.id,
    provider_message_id: "p",
    early_updates,
    version: 1,
    message: Option.map(Option.fromNullishOr(known), (found) => ({ ...found, contact_id: contact.id }))
  })

const lookedUp = (found: Option.Option<ProviderMessage>): LookedUpMessage => ({
  channel_id: channel.id,
  provider_message_id: "p",
  found,
  erased_id: "erased-p"
})

const completed = (
  send: Partial<SendRow>,
  provider_message: Option.Option<ProviderMessage> = Option.none(),
  recipient_aliases: ReadonlyArray<string> = [],
  update: StatusUpdate | null = null
) =>
  complete(
    { outgoing: Option.some(outgoingOf(send)), provider_message: lookedUp(provider_message) },
    { provider_message_id: "p", recipient_aliases },
    update,
    context()
  )

const sentAs = (message_id: MessageId) => SendRows.update(row, { status: "sent", message_id })
const insertedMessage = ({ insert = [] }: Changes.Changes) =>
  insert.filter(({ table }) => table === MessageRows.table).flatMap(({ rows }) => rows) as ReadonlyArray<Message>
const eventsOf = ({ raise = [] }: Changes.Changes) => raise.map(({ type }) => type)
const aliases = Changes.aliases({ channel_type: channel.type, name: "wa-1", identity_id: identity.id })

describe("an accepted send", () => {
  it("is sent, with its message from the member who sent it", () => {
    const changes = completed({})
    const [inserted] = insertedMessage(changes)
    assert.deepInclude(inserted, {
      id: MessageId.make(id(100)),
      text: "Hello",
      status: "sent",
      sender: { type: "member", name: "Ada" },
      provider_message_id: "p",
      sent_at: after(9),
      delivered_at: null
    })
    assert.deepStrictEqual(changes.update, sentAs(MessageId.make(id(100))).update)
    assert.deepStrictEqual(eventsOf(changes), ["message.sent"])
    assert.isUndefined(changes.aliases)
  })

  it("is from the system, if no member sent it", () => {
    const [inserted] = insertedMessage(completed({ member_id: null }))
    assert.deepStrictEqual(inserted?.sender, { type: "system", name: null })
  })

  it("has the reports that arrived before it, and an event of them", () => {
    const read: StatusUpdate = { status: "read", at: after(3) }
    for (const changes of [completed({}, stored(null, [read])), completed({}, Option.none(), [], read)]) {
      assert.deepInclude(insertedMessage(changes)[0], { status: "read", read_at: after(3) })
      assert.deepStrictEqual(eventsOf(changes), ["message.sent", "message.updated"])
      assert.deepInclude(JSON.parse(changes.raise?.[1]?.body ?? "").data, { message_id: id(100), status: "read" })
    }
  })

  it("stores the recipient's other ids, also once it has ended, and not of a person who was erased", () => {
    assert.deepStrictEqual(completed({}, Option.none(), ["wa-1"]).aliases, aliases.aliases)
    const ended = { status: "sent", message_id: message.id } as const
    assert.deepStrictEqual(
      completed(ended, Option.none(), ["wa-1"]),
      Changes.all(aliases, SendRows.expect(row))
    )
    assert.deepStrictEqual(completed(ended), Changes.none)
    assert.isUndefined(completed({ recipient: erased }, Option.none(), ["wa-1"]).aliases)
  })

  it("of a person who was erased keeps only the erased ID of its message, and leaves a stored message alone", () => {
    const remembered = completed({ recipient: erased })
    assert.deepStrictEqual(
      remembered,
      Changes.all(
        ProviderMessageRows.remove({ channel_id: channel.id, provider_message_id: "p" }),
        ProviderMessageRows.insert({
          channel_id: channel.id,
          provider_message_id: "erased-p",
          conversation_id: null,
          message_id: null,
          early_updates: [],
          created_at: context().now
        })
      )
    )
    assert.deepStrictEqual(completed({ recipient: erased }, stored(null, [{ status: "read", at: noon }])), remembered)
    assert.deepStrictEqual(completed({ recipient: erased }, stored(message)), Changes.none)
    const isErased = Option.map(stored(null), (row) => ({ ...row, provider_message_id: "erased-p" }))
    assert.deepStrictEqual(completed({ recipient: erased }, isErased), Changes.none)
    // The provider has reused the ID of an erased message.
    assert.deepInclude(insertedMessage(completed({}, isErased))[0], { text: "Hello", provider_message_id: null })
  })

  it("that failed because its outcome was unknown is sent after all; one that failed otherwise is not", () => {
    const found = completed({ status: "failed", failure_reason: "outcome_unknown" })
    assert.deepInclude(found.update?.[0]?.set, { status: "sent", failure_reason: null })
    assert.deepStrictEqual(completed({ status: "failed", failure_reason: "recipient_opted_out" }), Changes.none)
  })

  it("that does not exist changes nothing", () => {
    const loaded = { outgoing: Option.none(), provider_message: lookedUp(Option.none()) }
    assert.deepStrictEqual(complete(loaded, { provider_message_id: "p" }, null, context()), Changes.none)
  })
})

describe("an accepted send whose provider message id is known", () => {
  it("has the message that is stored already, and inserts no other", () => {
    assert.deepStrictEqual(completed({}, stored(message), ["wa-1"]), Changes.all(aliases, sentAs(message.id)))
  })

  it("is the sender of the message that the network reported as written in its own app", () => {
    const reported: MessageRow = { ...message, text: "Other text", sender: { type: "business_app", name: null } }
    const changes = completed({}, stored(reported))
    assert.deepStrictEqual(changes.update?.filter(({ table }) => table === SendRows.table), sentAs(message.id).update)
    assert.deepInclude(changes.update?.find(({ table }) => table === MessageRows.table)?.set, {
      sender: { type: "member", name: "Ada" },
      text: "Other text"
    })
    assert.deepStrictEqual(eventsOf(changes), [])
    const withUpdates = completed({}, stored(reported), [], { status: "read", at: noon })
    const { set } = withUpdates.update?.find(({ table }) => table === MessageRows.table) ?? {}
    assert.deepInclude(set, { sender: { type: "member", name: "Ada" }, status: "read", read_at: noon })
    assert.deepStrictEqual(eventsOf(withUpdates), ["message.updated"])
  })

  it("has a message of its own without the id, if the provider has reused it", () => {
    const others: ReadonlyArray<Partial<MessageRow>> = [
      { direction: "inbound" },
      { conversation_id: ConversationId.make(id(99)) },
      { text: "Other text" }
    ]
    for (const fields of others) {
      const changes = completed({}, stored({ ...message, ...fields }))
      assert.deepInclude(insertedMessage(changes)[0], { id: MessageId.make(id(100)), provider_message_id: null })
      assert.deepStrictEqual(changes.update, sentAs(MessageId.make(id(100))).update)
      assert.deepStrictEqual(eventsOf(changes), ["message.sent"])
    }
  })
})

describe("a send that fails", () => {
  it("says why, in an event too, once", () => {
    const changes = fail(row, "recipient_opted_out", context())
    assert.deepStrictEqual(
      changes.update,
      SendRows.update(row, { status: "failed", failure_reason: "recipient_opted_out" }).update
    )
    assert.deepStrictEqual(eventsOf(changes), ["send.failed"])
    assert.deepInclude(JSON.parse(changes.raise?.[0]?.body ?? "").data, {
      send_id: row.id,
      failure_reason: "recipient_opted_out"
    })
    for (const status of ["sent", "failed"] as const) {
      assert.deepStrictEqual(fail({ ...row, status }, "recipient_opted_out", context()), Changes.none)
    }
  })
})
