import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import * as Conversations from "@messaging-crm/core/Conversations"
import * as Events from "@messaging-crm/core/Events"
import { MediaId, MessageId } from "@messaging-crm/core/Ids"
import * as Inbound from "@messaging-crm/core/Inbound"
import type { MessageMedia } from "@messaging-crm/core/Media"
import * as Messages from "@messaging-crm/core/Messages"
import { Option } from "effect"
import * as SendCompletion from "../../src/messaging/SendCompletion.ts"
import {
  after,
  channel,
  contact,
  context,
  conversation,
  early,
  id,
  identity,
  message,
  noon,
  outgoing,
  phone,
  providerMessage,
  row
} from "./Fixtures.ts"

describe("an inbound event", () => {
  const of = { channel_id: channel.id, provider_message_id: "p" }
  const found = Option.some(providerMessage())
  const data = { conversation_id: conversation.id, message_id: message.id }

  it("updates its message, once, with an event", () => {
    const read = { status: "read", at: after(3) } as const
    const set = { status: "read", read_at: after(3) } as const
    const { version: _version, ...before } = message
    assert.deepStrictEqual(
      Inbound.update(found, of, read, context()),
      Changes.all(
        Messages.revise(contact.id, message, { ...before, ...set }),
        Changes.raise(Events.make("message.updated", { ...data, status: "read" }, context(after(9), 100)))
      )
    )
    const again = providerMessage({ message: Option.some({ ...message, ...set, contact_id: contact.id }) })
    assert.deepStrictEqual(Inbound.update(Option.some(again), of, read, context()), Changes.none)
    // The status is unchanged, so no event is raised.
    const late = Inbound.update(Option.some(again), of, { status: "delivered", at: after(2) }, context())
    assert.isUndefined(late.raise)
    assert.deepInclude(late.update?.[0]?.set, { delivered_at: after(2), status: "read" })
  })

  it("in the future counts as now", () => {
    const { update: [written] = [] } = Inbound.update(found, of, { status: "read", at: after(99) }, context())
    assert.deepInclude(written?.set, { read_at: after(9) })
    assert.deepStrictEqual(
      Inbound.update(Option.none(), of, { status: "deleted", at: after(99) }, context()),
      Messages.ProviderMessageRows.insert({
        ...of,
        conversation_id: null,
        message_id: null,
        early_updates: [{ status: "deleted", at: after(9) }],
        created_at: after(9)
      })
    )
  })

  it("that arrives before its message is stored once", () => {
    const [read, edited] = [
      { status: "read", at: after(3) } as const,
      { status: "edited", text: "Hi", at: after(4) } as const
    ]
    assert.deepStrictEqual(
      Inbound.update(early(read), of, edited, context()),
      Messages.ProviderMessageRows.update({ ...of, version: 6 }, { early_updates: [read, edited] })
    )
    assert.deepStrictEqual(Inbound.update(early(read, edited), of, read, context()), Changes.none)
  })

  it("that deletes a message erases its text, file and preview", () => {
    const media = {
      id: MediaId.make(id(20)),
      kind: "image",
      mime_type: "image/png",
      filename: null,
      byte_size: 1,
      transcript: null
    } as const
    const with_file = { ...message, text: "Look", media, contact_id: contact.id }
    const changes = Inbound.update(
      Option.some(providerMessage({ message: Option.some(with_file) })),
      of,
      { status: "deleted", at: after(3) },
      context()
    )
    const set = { text: null, media: null, deleted_at: after(3) }
    assert.deepInclude(changes.update?.[0]?.set, set)
    assert.deepStrictEqual(changes.remove?.map(({ key, table }) => [table.name, key]), [["media", { id: media.id }]])
    assert.deepStrictEqual(
      changes.touch,
      {
        conversation_id: conversation.id,
        contact_id: contact.id,
        at: noon,
        preview: "[deleted]",
        last_inbound_at: null
      }
    )
  })

  const event: Inbound.ProviderMessageReceived = {
    event: "message_received",
    ...of,
    from: { external_id: phone, display_name: "Kim", username: null },
    type: "text",
    text: "Hi",
    media: null,
    sent_at: after(3)
  }
  const known = { name: phone, identity: { ...identity, contact_id: contact.id, version: 2 }, contact, conversation }
  const receive = (
    fields: Partial<Parameters<typeof Inbound.messageReceived>[0]> = {},
    given: Partial<Inbound.ProviderMessageReceived> = {},
    file: MessageMedia | null = null
  ) =>
    Inbound.messageReceived(
      { found: Option.none(), threads: [known], contact: Option.none(), ...fields },
      channel,
      { ...event, ...given },
      file,
      context()
    )
  const { version: _version, ...columns } = message
  const received: Messages.Message = {
    ...columns,
    id: MessageId.make(id(100)),
    direction: "inbound",
    text: "Hi",
    sender: { type: "contact", name: "Kim" },
    status: "received",
    created_at: after(9),
    sent_at: after(3)
  }
  const news = (event: number) =>
    Changes.raise(
      Events.make(
        "message.received",
        { conversation_id: conversation.id, message_id: received.id },
        context(after(9), event)
      )
    )

  it("inserts a message into its sender's conversation, and an existing message changes nothing", () => {
    assert.deepStrictEqual(
      receive(),
      Changes.all(Messages.insert(channel.id, contact.id, Option.none(), received), news(101))
    )
    assert.deepStrictEqual(receive({ found }), Changes.none)
    assert.deepStrictEqual(receive({}, { sent_at: after(99) }).touch?.last_inbound_at, after(9))
  })

  it("reopens the sender's conversation, and creates one for an unknown sender", () => {
    const closed = { ...known, conversation: { id: conversation.id, status: "closed" as const, version: 5 } }
    assert.deepStrictEqual(
      receive({ threads: [closed] }),
      Changes.all(
        Conversations.ConversationRows.update(conversation, {
          status: "open",
          close_category: null,
          opened_at: after(9),
          closed_at: null
        }),
        Messages.insert(channel.id, contact.id, Option.none(), received),
        news(101)
      )
    )
    const tables = receive({ threads: [] }).insert?.map(({ table }) => table.name)
    assert.deepStrictEqual(tables, [
      "contacts",
      "identities",
      "identity_names",
      "conversations",
      "messages",
      "provider_messages"
    ])
  })

  it("inserts a message with its early edit, and stores no file if it was already deleted", () => {
    const edited = early({ status: "edited", text: "Hello", at: after(4) })
    assert.deepStrictEqual(
      receive({ found: edited }),
      Changes.all(
        Messages.insert(channel.id, contact.id, edited, { ...received, text: "Hello", edited_at: after(4) }),
        news(101)
      )
    )
    const stored = MediaId.make(id(20))
    const file = { id: stored, kind: "image", mime_type: null, filename: null, byte_size: 1, transcript: null } as const
    const inserts = ({ insert = [] }: Changes.Changes) => insert.map(({ table }) => table.name)
    assert.include(inserts(receive({}, {}, file)), "media")
    const deleted = early({ status: "deleted", at: after(4) })
    assert.deepStrictEqual(inserts(receive({ found: deleted }, {}, file)), ["messages"])
  })

  const status: Inbound.MessageStatusReported = {
    event: "message_status_reported",
    ...of,
    reference: row.id,
    status: "delivered",
    at: after(99)
  }
  const completion = (fields: Partial<SendCompletion.Loaded> = {}): SendCompletion.Loaded => ({
    outgoing: Option.some({ ...outgoing, send: { ...row, status: "unknown" } }),
    provider_message: Option.none(),
    ...fields
  })

  it("with a reference completes a send whose response was lost", () => {
    const loaded = completion()
    assert.deepStrictEqual(
      Inbound.statusReported({ found: Option.none(), completion: loaded }, status, context()),
      SendCompletion.complete(loaded, { provider_message_id: "p" }, [{ status: "delivered", at: after(9) }], context())
    )
  })

  it("is stored for its message when its reference completes no send, and updates an existing message", () => {
    const ended = completion({
      outgoing: Option.some({ ...outgoing, send: { ...row, status: "failed", failure_reason: "rate_limited" } })
    })
    const kept = Inbound.update(Option.none(), of, { status: "delivered", at: after(99) }, context())
    for (const loaded of [ended, null, completion({ outgoing: Option.none() })]) {
      assert.deepStrictEqual(
        Inbound.statusReported({ found: Option.none(), completion: loaded }, status, context()),
        kept
      )
    }
    const updated = Inbound.update(found, of, { status: "delivered", at: after(99) }, context())
    assert.deepStrictEqual(Inbound.statusReported({ found, completion: null }, status, context()), updated)
    // The message was stored between the first read and the second.
    const sent = completion({
      provider_message: found,
      outgoing: Option.some({ ...outgoing, send: { ...row, status: "sent" } })
    })
    assert.deepStrictEqual(
      Inbound.statusReported({ found: Option.none(), completion: sent }, status, context()),
      updated
    )
  })
})
