import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import * as ContactIdentities from "@messaging-crm/core/ContactIdentities"
import * as Conversations from "@messaging-crm/core/Conversations"
import * as Events from "@messaging-crm/core/Events"
import { ConversationId, MessageId, SendId } from "@messaging-crm/core/Ids"
import * as Messages from "@messaging-crm/core/Messages"
import { Phone } from "@messaging-crm/core/Phones"
import * as Sends from "@messaging-crm/core/Sends"
import type { Template } from "@messaging-crm/core/Templates"
import { DateTime, Option, Result } from "effect"
import * as SendCompletion from "../../src/messaging/SendCompletion.ts"
import {
  ada,
  after,
  channel,
  contact,
  context,
  conversation,
  early,
  id,
  identity,
  message,
  outgoing,
  phone,
  providerMessage,
  refusal,
  row
} from "./Fixtures.ts"

describe("a send", () => {
  const template: Template = {
    id: "greeting",
    name: "greeting",
    language: "en",
    category: "UTILITY",
    status: "APPROVED",
    phone_messaging_business_account_id: "account",
    parameter_format: "POSITIONAL",
    components: [{ type: "BODY", text: "Hello {{1}}", format: null, buttons: null }]
  }
  const components = [{ type: "body" as const, parameters: [{ type: "text" as const, text: "Kim" }] }]
  const content = {
    type: "template",
    template: { id: "greeting", name: "greeting", language: "en", components },
    text: "Hello Kim"
  } as const
  const queued = (send: number, to: Partial<Sends.SendColumns> = {}): Sends.SendColumns => ({
    id: SendId.make(id(send)),
    conversation_id: conversation.id,
    status: "queued",
    message_id: null,
    failure_reason: null,
    created_at: after(9),
    channel_id: channel.id,
    recipient: phone,
    member_id: ada.id,
    content: { type: "text", text: "Hello" },
    first_attempt_at: null,
    may_be_sent: false,
    ...to
  })
  const enqueued = ({ conversation_id: lane, id: ref }: Sends.SendColumns) =>
    Changes.enqueue({ kind: "send", lane, ref, due_at: after(9) })

  const send = (fields: Partial<Parameters<typeof Sends.send>[0]>, input: Sends.SendMessage) =>
    Sends.send(
      {
        channel: Option.some(channel),
        conversation: Option.some(conversation),
        template: Result.succeed(template),
        ...fields
      },
      ada.id,
      input,
      context()
    )
  const text = { type: "text", text: "Hello" } as const

  it("with a text inside the reply window is enqueued in its conversation's lane", () => {
    const { answer, changes } = Result.getOrThrow(send({}, Sends.SendMessage.make(text)))
    assert.deepStrictEqual(answer, Sends.toSend(queued(100)))
    assert.deepStrictEqual(changes, Changes.all(Sends.SendRows.insert(queued(100)), enqueued(queued(100))))
    for (const last_inbound_at of [null, DateTime.subtract(after(9), { hours: 24 })]) {
      const silent = Option.some({ ...conversation, last_inbound_at })
      assert.strictEqual(refusal(send({ conversation: silent }, Sends.SendMessage.make(text))), "ReplyWindowClosed")
      assert.isNull(
        refusal(
          send(
            { conversation: silent },
            Sends.SendMessage.make({ type: "template", template: { id: "greeting", components } })
          )
        )
      )
    }
    assert.strictEqual(
      refusal(send({ conversation: Option.none() }, Sends.SendMessage.make(text))),
      "ConversationNotFound"
    )
  })

  it("with a text that the network does not accept is refused with its limit, in code points", () => {
    const limit = { phone_messaging: 4096, page_messaging: 2000, photo_social: 1000 } as const
    for (const channel_type of ["phone_messaging", "page_messaging", "photo_social"] as const) {
      const on = Option.some({ ...conversation, channel_type, last_inbound_at: null })
      // The text is checked before the reply window, and an emoji is one character of two units.
      const outcome = (text: string) =>
        Option.getOrNull(Result.getFailure(send({ conversation: on }, { type: "text", text } as Sends.SendMessage)))
      assert.strictEqual(outcome("\u{1F600}".repeat(limit[channel_type]))?._tag, "ReplyWindowClosed")
      assert.deepInclude(outcome(`${"\u{1F600}".repeat(limit[channel_type])}a`), {
        _tag: "TextTooLong",
        chars_max: limit[channel_type]
      })
    }
  })

  it("with a template is enqueued on a phone-messaging channel", () => {
    const input = { type: "template", template: { id: "greeting", components } } as const
    const expected = queued(100, { content })
    assert.deepStrictEqual(
      Result.getOrThrow(send({}, Sends.SendMessage.make(input))).changes,
      Changes.all(Sends.SendRows.insert(expected), enqueued(expected))
    )
    const social = Option.some({ ...channel, type: "photo_social" } as const)
    assert.strictEqual(refusal(send({ channel: social }, Sends.SendMessage.make(input))), "ChannelTypeUnsuited")
    const paused = Result.succeed({ ...template, status: "PAUSED" })
    assert.strictEqual(refusal(send({ template: paused }, Sends.SendMessage.make(input))), "TemplateNotApproved")
    const bare = { type: "template", template: { id: "greeting", components: [] } } as const
    assert.strictEqual(refusal(send({}, Sends.SendMessage.make(bare))), "TemplateValuesMismatch")
  })

  const start = (fields: Partial<Parameters<typeof Sends.start>[0]>) =>
    Sends.start(
      {
        channel: Option.some(channel),
        template: Result.succeed(template),
        threads: [],
        withPhone: Option.none(),
        ...fields
      },
      ada.id,
      Sends.StartConversation.make({
        channel_id: channel.id,
        phone: Phone.make(phone),
        template: { id: "greeting", components }
      }),
      context()
    )

  it("starts a conversation with a known person, or creates contact and conversation", () => {
    const known = { name: phone, identity: { ...identity, contact_id: contact.id, version: 2 }, contact, conversation }
    const there = queued(100, { content })
    assert.deepStrictEqual(
      Result.getOrThrow(start({ threads: [known] })).changes,
      Changes.all(Sends.SendRows.insert(there), enqueued(there))
    )
    const { answer, changes } = Result.getOrThrow(start({}))
    const conversation_id = ConversationId.make(id(102))
    const made = queued(103, { content, conversation_id })
    const person = {
      channel_type: "phone_messaging",
      external_id: phone,
      aliases: [],
      phone,
      display_name: null,
      username: null
    } as const
    const ids = context()
    const who = ContactIdentities.findOrCreateByIdentity(person, [], Option.none(), ids)
    assert.deepStrictEqual(answer, Sends.toSend(made))
    assert.deepStrictEqual(
      changes,
      Changes.all(
        who.changes,
        Conversations.open(channel, who.answer, null, ids).changes,
        Sends.SendRows.insert(made),
        enqueued(made)
      )
    )
    assert.strictEqual(refusal(start({ channel: Option.none() })), "ReferenceUnknown")
  })

  const complete = (
    fields: Partial<SendCompletion.Loaded> = {},
    updates: ReadonlyArray<Messages.MessageUpdate> = [],
    recipient_aliases: ReadonlyArray<string> = []
  ) =>
    SendCompletion.complete(
      {
        outgoing: Option.some(outgoing),
        provider_message: Option.none(),
        ...fields
      },
      { provider_message_id: "p", recipient_aliases },
      updates,
      context()
    )
  const { version: _version, ...columns } = message
  const completed: Messages.Message = {
    ...columns,
    id: MessageId.make(id(100)),
    created_at: after(9),
    sent_at: after(9)
  }
  const data = { conversation_id: conversation.id, message_id: completed.id }
  const alias = { channel_type: "phone_messaging", name: "own", identity_id: identity.id } as const

  it("becomes a message, with the provider's aliases and an event", () => {
    assert.deepStrictEqual(
      complete({}, [], ["own"]),
      Changes.all(
        Changes.aliases(alias),
        Messages.insert(channel.id, contact.id, Option.none(), completed),
        Sends.SendRows.update(row, { status: "sent", message_id: completed.id }),
        Changes.raise(Events.make("message.sent", data, context(after(9), 101)))
      )
    )
  })

  it("becomes a message with a later status, when updates arrived before it", () => {
    const found = early({ status: "delivered", at: after(1) })
    const read: Messages.Message = { ...completed, status: "read", delivered_at: after(1), read_at: after(2) }
    assert.deepStrictEqual(
      complete({ provider_message: found }, [{ status: "read", at: after(2) }]),
      Changes.all(
        Messages.insert(channel.id, contact.id, found, read),
        Sends.SendRows.update(row, { status: "sent", message_id: completed.id }),
        Changes.raise(Events.make("message.sent", data, context(after(9), 101))),
        Changes.raise(Events.make("message.updated", { ...data, status: "read" }, context(after(9), 102)))
      )
    )
  })

  it("that failed with an unknown outcome is sent once a report proves it, and no other failed one is", () => {
    const failed = { ...row, status: "failed", failure_reason: "outcome_unknown" } as const
    assert.deepStrictEqual(
      complete({ outgoing: Option.some({ ...outgoing, send: failed }) }, [{ status: "read", at: after(2) }]),
      Changes.all(
        Messages.insert(
          channel.id,
          contact.id,
          Option.none(),
          Messages.applyUpdate(completed, { status: "read", at: after(2) })
        ),
        Sends.SendRows.update(failed, { status: "sent", message_id: completed.id, failure_reason: null }),
        Changes.raise(Events.make("message.sent", data, context(after(9), 101))),
        Changes.raise(Events.make("message.updated", { ...data, status: "read" }, context(after(9), 102)))
      )
    )
    const rejected = { ...failed, failure_reason: "provider_rejected" } as const
    assert.deepStrictEqual(complete({ outgoing: Option.some({ ...outgoing, send: rejected }) }), Changes.none)
    const sent = { ...row, status: "sent", message_id: message.id } as const
    assert.deepStrictEqual(complete({ outgoing: Option.some({ ...outgoing, send: sent }) }), Changes.none)
    assert.deepStrictEqual(
      complete({ outgoing: Option.some({ ...outgoing, send: sent }) }, [], ["own"]),
      Changes.all(Changes.aliases(alias), Sends.SendRows.expect(sent))
    )
    assert.deepStrictEqual(complete({ outgoing: Option.none() }), Changes.none)
  })

  it("whose message is there already is linked to it", () => {
    const there = Option.some(providerMessage())
    assert.deepStrictEqual(
      complete({ provider_message: there }),
      Sends.SendRows.update(row, { status: "sent", message_id: message.id })
    )
    const failed = { ...row, status: "failed", failure_reason: "outcome_unknown" } as const
    assert.deepStrictEqual(
      complete({ outgoing: Option.some({ ...outgoing, send: failed }), provider_message: there }),
      Sends.SendRows.update(failed, { status: "sent", message_id: message.id, failure_reason: null })
    )
  })

  it("whose message id is another message's becomes a message without one", () => {
    const others = [
      { ...message, contact_id: contact.id, conversation_id: ConversationId.make(id(99)) },
      { ...message, contact_id: contact.id, direction: "inbound", status: "received" },
      { ...message, contact_id: contact.id, text: "Something else" }
    ] as const
    const own: Messages.Message = { ...completed, provider_message_id: null }
    for (const other of others) {
      const provider_message = Option.some(providerMessage({ message: Option.some(other) }))
      assert.deepStrictEqual(
        complete({ provider_message }, [], ["own"]),
        Changes.all(
          Changes.aliases(alias),
          Messages.insert(channel.id, contact.id, provider_message, own),
          Sends.SendRows.update(row, { status: "sent", message_id: own.id }),
          Changes.raise(Events.make("message.sent", data, context(after(9), 101)))
        )
      )
    }
  })
})
