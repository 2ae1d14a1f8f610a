import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { type ConversationRow, ConversationRows } from "@messaging-crm/core/Conversations"
import { ConversationId, SendId } from "@messaging-crm/core/Ids"
import { Phone } from "@messaging-crm/core/Phones"
import * as Sends from "@messaging-crm/core/Sends"
import type { Template } from "@messaging-crm/core/Templates"
import { DateTime, Option, Result } from "effect"
import {
  ada,
  after,
  channel,
  contact,
  context,
  conversation,
  id,
  identity,
  noon,
  phone,
  rejection
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

  // A concurrent erasure writes the conversation.
  const unchanged = ConversationRows.expect(conversation)

  it("with a text inside the reply window is enqueued in its conversation's lane", () => {
    const { result, changes } = Result.getOrThrow(send({}, Sends.SendMessage.make(text)))
    assert.deepStrictEqual(result, Sends.toSend(queued(100)))
    assert.deepStrictEqual(changes, Changes.all(unchanged, Sends.SendRows.insert(queued(100)), enqueued(queued(100))))
    for (const last_inbound_at of [null, DateTime.subtract(after(9), { hours: 24 })]) {
      const silent = Option.some({ ...conversation, last_inbound_at })
      assert.strictEqual(rejection(send({ conversation: silent }, Sends.SendMessage.make(text))), "ReplyWindowClosed")
      assert.isNull(
        rejection(
          send(
            { conversation: silent },
            Sends.SendMessage.make({ type: "template", template: { id: "greeting", components } })
          )
        )
      )
    }
    assert.strictEqual(
      rejection(send({ conversation: Option.none() }, Sends.SendMessage.make(text))),
      "ConversationNotFound"
    )
  })

  it("with a text that the network does not accept is rejected with its limit", () => {
    // An emoji is one character of two units and four bytes.
    const cases = [
      ["phone_messaging", 4096, "characters", "\u{1F600}".repeat(4096)],
      ["page_messaging", 2000, "characters", "\u{1F600}".repeat(2000)],
      ["photo_social", 1000, "bytes", "\u{1F600}".repeat(250)],
      ["photo_social", 1000, "bytes", "ж".repeat(500)],
      ["photo_social", 1000, "bytes", "a".repeat(1000)]
    ] as const
    for (const [channel_type, max, unit, longest] of cases) {
      const on = Option.some({ ...conversation, channel_type, last_inbound_at: null })
      // The text is checked before the reply window.
      const outcome = (text: string) =>
        Option.getOrNull(Result.getFailure(send({ conversation: on }, { type: "text", text } as Sends.SendMessage)))
      assert.strictEqual(outcome(longest)?._tag, "ReplyWindowClosed")
      assert.deepInclude(outcome(`${longest}a`), { _tag: "TextTooLong", max, unit })
    }
  })

  it("with a template is enqueued on a phone-messaging channel", () => {
    const input = { type: "template", template: { id: "greeting", components } } as const
    const expected = queued(100, { content })
    assert.deepStrictEqual(
      Result.getOrThrow(send({}, Sends.SendMessage.make(input))).changes,
      Changes.all(unchanged, Sends.SendRows.insert(expected), enqueued(expected))
    )
    const social = Option.some({ ...channel, type: "photo_social" } as const)
    assert.strictEqual(rejection(send({ channel: social }, Sends.SendMessage.make(input))), "ChannelTypeUnsuited")
    const paused = Result.succeed({ ...template, status: "PAUSED" })
    assert.strictEqual(rejection(send({ template: paused }, Sends.SendMessage.make(input))), "TemplateNotApproved")
    const bare = { type: "template", template: { id: "greeting", components: [] } } as const
    assert.strictEqual(rejection(send({}, Sends.SendMessage.make(bare))), "TemplateValuesMismatch")
  })

  it("to a number with a conversation expects it unchanged, unless the send reopens it", () => {
    const to = Sends.StartConversation.make({
      channel_id: channel.id,
      phone: Phone.make(phone),
      template: { id: "greeting", components }
    })
    const known = { network_id: phone, identity: { ...identity, contact_id: contact.id, version: 1 }, contact }
    const start = (found: ConversationRow | null) =>
      Result.getOrThrow(Sends.start(
        {
          channel: Option.some(channel),
          template: Result.succeed(template),
          identities: [{ ...known, conversation: found }],
          contact: { found: Option.none(), is_ambiguous: false, free_id: null }
        },
        ada.id,
        to,
        context()
      ))
    const { changes, result } = start(conversation)
    assert.strictEqual(result.conversation_id, conversation.id)
    const conversations = (rows: ReadonlyArray<Changes.Expectation> = []): ReadonlyArray<unknown> =>
      rows.filter(({ table }) => table === ConversationRows.table).map(({ key, version }) => ({ ...key, version }))
    const { id: conversation_id, version } = conversation
    assert.deepStrictEqual(conversations(changes.expect), [{ id: conversation_id, version }])
    assert.deepStrictEqual(conversations(changes.update), [])
    const reopened = start({ ...conversation, status: "closed", closed_at: noon })
    assert.deepStrictEqual(conversations(reopened.changes.expect), [])
    assert.deepStrictEqual(conversations(reopened.changes.update), [{ id: conversation_id, version }])
    const created = start(null)
    assert.deepStrictEqual(conversations(created.changes.expect), [])
    assert.strictEqual(created.result.conversation_id, ConversationId.make(id(100)))
  })

  it("is queued again by an attempt that sent nothing, unless its outcome is unknown or known", () => {
    assert.deepStrictEqual(Sends.SendState.requeue({ status: "sending" }), { status: "queued" })
    for (const status of ["queued", "unknown", "sent", "failed"] as const) {
      assert.deepStrictEqual(Sends.SendState.requeue({ status }), {})
    }
  })
})
