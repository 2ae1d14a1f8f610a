/** The events in bodies of callbacks, kind by kind. */
import { assert, describe, it } from "@effect/vitest"
import { SendId } from "@messaging-crm/core/Ids"
import { type Notice, read } from "@messaging-crm/provider-cloud/Callback"
import { DateTime, Option } from "effect"
import { bodyOf, messagePart, phonePart, socialPart, statusPart } from "../src/fake/Bodies.ts"

const received_at = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")
const seconds = 1_767_225_600
const sent_at = DateTime.makeUnsafe(seconds * 1000)
const reference = SendId.make("01990000-0000-7000-8000-00000000abcd")

const number = "106540352242922"
const ana = { wa_id: "4915112345678", user_id: "DE.13491208655302741918", name: "Ana Lima", username: "ana.l" }
const envelope = { id: "wamid.1", timestamp: String(seconds) }

const parse = (...parts: Parameters<typeof bodyOf>[0]) => Option.getOrThrow(read(bodyOf(parts), received_at))

const eventOf = ([notice]: ReadonlyArray<Notice>) => notice?.event ?? assert.fail("There is no notice.")

/** What a message of Ana's says, without who wrote it and when. */
const said = (message: object) => {
  const { notices } = parse(messagePart(number, ana, { ...envelope, ...message }))
  const event = eventOf(notices)
  if (event.event !== "message_received") return assert.fail(event.event)
  return { type: event.type, text: event.text, kind: event.media?.kind ?? null, file: notices[0]?.file ?? null }
}

const social = (item: object, object: "instagram" | "page" = "instagram") =>
  parse(socialPart(object, { account: "1784", person: "24601", timestamp: seconds * 1000 + 123, item }))

describe("phone messaging", () => {
  it("a text, with everything that is known of its writer", () => {
    assert.deepStrictEqual(
      parse(messagePart(number, ana, { ...envelope, type: "text", text: { body: "Oi 👋" } })),
      {
        notices: [{
          account: { type: "phone_messaging", id: number },
          event: {
            event: "message_received",
            provider_message_id: "wamid.1",
            from: {
              external_id: "+4915112345678",
              aliases: ["DE.13491208655302741918"],
              display_name: "Ana Lima",
              username: "ana.l"
            },
            type: "text",
            text: "Oi 👋",
            media: null,
            details: null,
            sent_at
          },
          file: null
        }],
        ignored: []
      }
    )
  })

  it("every type of message", () => {
    const file = { id: "77", mime_type: "application/pdf", sha256: "made up" }
    const kept = { media_id: "77" }
    assert.deepStrictEqual(said({ type: "image", image: { ...file, caption: "Taj" } }), {
      type: "image",
      text: "Taj",
      kind: "image",
      file: kept
    })
    for (const type of ["video", "audio", "document", "sticker"] as const) {
      assert.deepStrictEqual(said({ type, [type]: file }), { type, text: null, kind: type, file: kept })
    }
    assert.deepInclude(said({ type: "voice", voice: file }), { type: "audio", kind: "audio", file: kept })
    assert.deepInclude(
      said({
        type: "location",
        location: { latitude: 37.44, longitude: -122.16, name: "Philz", address: "101 Forest Ave" }
      }),
      { type: "location", text: "Philz\n101 Forest Ave\n37.44, -122.16" }
    )
    assert.deepInclude(
      said({
        type: "contacts",
        contacts: [{ name: { formatted_name: "Kim Roe" }, phones: [{ phone: "+1 555 0100" }] }]
      }),
      { type: "contacts", text: "Kim Roe\n+1 555 0100" }
    )
    assert.deepInclude(
      said({ type: "interactive", interactive: { type: "button_reply", button_reply: { id: "c", title: "Cancel" } } }),
      { type: "interactive", text: "Cancel" }
    )
    assert.deepInclude(
      said({ type: "interactive", interactive: { type: "list_reply", list_reply: { id: "l", title: "Late" } } }),
      { type: "interactive", text: "Late" }
    )
    assert.deepInclude(said({ type: "button", button: { payload: "x", text: "Unsubscribe" } }), {
      type: "interactive",
      text: "Unsubscribe"
    })
    assert.deepInclude(said({ type: "reaction", reaction: { message_id: "wamid.X", emoji: "👍" } }), {
      type: "reaction",
      text: "👍"
    })
    assert.deepInclude(said({ type: "reaction", reaction: { message_id: "wamid.X" } }), {
      type: "reaction",
      text: null
    })
    assert.deepInclude(said({ type: "order", order: { text: "Two, please", product_items: [] } }), {
      type: "unsupported",
      text: "Two, please"
    })
  })

  it("a type that is not known is a message all the same", () => {
    for (const type of ["unsupported", "hologram", "constructor", ""]) {
      assert.deepInclude(said({ type, errors: [{ code: 131051 }] }), { type: "unsupported", text: null })
    }
    assert.deepInclude(said({}), { type: "unsupported" })
    assert.deepInclude(said({ type: "image" }), { type: "image", kind: "image", file: null })
  })

  it("who has a username may come without a number, or with the user id in its place", () => {
    const { user_id, wa_id: _, ...rest } = ana
    for (const writer of [{ user_id, ...rest }, { ...ana, wa_id: user_id }]) {
      const event = eventOf(parse(messagePart(number, writer, { ...envelope, type: "text" })).notices)
      assert.deepInclude(event, {
        from: { external_id: user_id, aliases: [], display_name: "Ana Lima", username: "ana.l" }
      })
    }
  })

  it("who is known for a group of businesses is found by that id too, and reached by a nearer one", () => {
    const parent = "DE.ENT.11815799212886844830"
    const contact = { profile: { name: "Ana Lima" }, user_id: ana.user_id, parent_user_id: parent }
    for (const ids of [{ from_parent_user_id: parent }, { from_user_id: ana.user_id, from_parent_user_id: parent }]) {
      const part = phonePart(number, { contacts: [contact], messages: [{ ...ids, ...envelope, type: "text" }] })
      assert.deepInclude(eventOf(parse(part).notices), {
        from: { external_id: ana.user_id, aliases: [parent], display_name: "Ana Lima", username: null }
      })
    }
    const alone = phonePart(number, { messages: [{ from_parent_user_id: parent, ...envelope, type: "text" }] })
    assert.deepInclude(eventOf(parse(alone).notices), {
      from: { external_id: parent, aliases: [], display_name: null, username: null }
    })
  })

  it("a contact of another person adds nothing to a message", () => {
    const part = phonePart(number, {
      contacts: [{ profile: { name: "Kim" }, wa_id: "4915100000000", user_id: "DE.1" }],
      messages: [{ from: "4915112345678", ...envelope, type: "text", text: { body: "Hi" } }]
    })
    assert.deepInclude(eventOf(parse(part).notices), {
      from: { external_id: "+4915112345678", aliases: [], display_name: null, username: null }
    })
  })

  it("a number of Argentina, Brazil or Mexico is known by both of its spellings", () => {
    const pairs = [["5491123456789", "541123456789"], ["5511988887777", "551188887777"], [
      "5215512345678",
      "525512345678"
    ]]
    for (const [one = "", other = ""] of [...pairs, ...pairs.map((pair) => pair.toReversed())]) {
      const event = eventOf(parse(messagePart(number, { wa_id: one }, { ...envelope, type: "text" })).notices)
      assert.deepInclude(event, {
        from: { external_id: `+${one}`, aliases: [`+${other}`], display_name: null, username: null }
      })
    }
  })

  it("an edit and a deletion", () => {
    const edit = { original_message_id: "wamid.0", message: { type: "text", text: { body: "Olá" } } }
    assert.deepStrictEqual<object>(
      eventOf(parse(messagePart(number, ana, { ...envelope, type: "edit", edit })).notices),
      { event: "message_edited", provider_message_id: "wamid.0", text: "Olá", at: sent_at }
    )
    const revoke = { original_message_id: "wamid.0" }
    assert.deepStrictEqual<object>(
      eventOf(parse(messagePart(number, ana, { ...envelope, type: "revoke", revoke })).notices),
      { event: "message_deleted", provider_message_id: "wamid.0", at: sent_at }
    )
  })

  it("a new number and a new user id", () => {
    const number_change = { type: "user_changed_number", wa_id: "12195555358", body: "A new number" }
    const change = (system: object) =>
      eventOf(
        parse(phonePart(number, { messages: [{ from: "4915112345678", ...envelope, type: "system", system }] })).notices
      )
    assert.deepStrictEqual<object>(change(number_change), {
      event: "identity_changed",
      former_external_id: "+4915112345678",
      now: { external_id: "+12195555358", aliases: [], display_name: null, username: null }
    })
    assert.deepStrictEqual<object>(
      change({ type: "user_changed_user_id", previous_user_id: "DE.1", user_id: "DE.2" }),
      {
        event: "identity_changed",
        former_external_id: "DE.1",
        now: { external_id: "DE.2", aliases: [], display_name: null, username: null }
      }
    )
  })

  it("each form in which a number or a user id changes", () => {
    const system = (from: object, system: object) =>
      eventOf(parse(phonePart(number, { messages: [{ ...from, ...envelope, type: "system", system }] })).notices)
    const update = (value: object) => {
      const { change, ...part } = phonePart(number, value) as Extract<ReturnType<typeof phonePart>, { change: object }>
      return parse({ ...part, change: { ...change, field: "user_id_update" } })
    }
    const changed = (former: ReadonlyArray<string>, now: ReadonlyArray<string>, names: object = {}): object => ({
      event: "identity_changed",
      former_external_id: former[0],
      ...(former.length > 1 ? { former_aliases: former.slice(1) } : {}),
      now: { external_id: now[0], aliases: now.slice(1), display_name: null, username: null, ...names }
    })
    const forms: ReadonlyArray<readonly [object, object, object]> = [
      [{ from: "49151" }, { type: "user_changed_number", wa_id: "49152" }, changed(["+49151"], ["+49152"])],
      [{ from: "49151" }, { type: "user_changed_number", new_wa_id: "49152" }, changed(["+49151"], ["+49152"])],
      [{}, { type: "customer_changed_number", customer: "49151", wa_id: "49152" }, changed(["+49151"], ["+49152"])],
      [
        { from: "49151", from_user_id: "DE.1" },
        { type: "user_changed_number", wa_id: "49152", user_id: "DE.2" },
        changed(["+49151", "DE.1"], ["+49152", "DE.2"])
      ],
      [
        { from: "49151" },
        { type: "user_changed_user_id", wa_id: "49152", previous_user_id: "DE.1" },
        changed(["+49151", "DE.1"], ["+49152"])
      ],
      [
        { from: "49152", from_user_id: "DE.2" },
        { type: "user_changed_user_id", wa_id: "49152", previous_user_id: "DE.1" },
        changed(["DE.1"], ["+49152", "DE.2"])
      ],
      [{ from_user_id: "DE.1" }, { user_id: "DE.2" }, changed(["DE.1"], ["DE.2"])],
      [
        { from: "551188887777" },
        { type: "user_changed_number", wa_id: "5491123456789" },
        changed(["+551188887777", "+5511988887777"], ["+5491123456789", "+541123456789"])
      ]
    ]
    for (const [from, told, expected] of forms) assert.deepStrictEqual<object>(system(from, told), expected)

    const contacts = [{ profile: { name: "Ana", username: "ana.l" }, wa_id: "49152" }]
    const names = { display_name: "Ana", username: "ana.l" }
    for (
      const told of [
        [{ user_id: { previous: "DE.1", current: "DE.2" } }],
        { user_id: { previous: "DE.1", current: "DE.2" } },
        [{ previous_user_id: "DE.1", user_id: "DE.2" }]
      ]
    ) {
      assert.deepStrictEqual<object>(
        eventOf(update({ contacts, user_id_update: told }).notices),
        changed(["DE.1"], ["+49152", "DE.2"], names)
      )
      assert.deepStrictEqual<object>(eventOf(update({ user_id_update: told }).notices), changed(["DE.1"], ["DE.2"]))
    }
    for (const told of [[], {}, [7], [{ user_id: { previous: "DE.1" } }], [{ user_id: "DE.1" }], "x"]) {
      assert.deepStrictEqual(update({ user_id_update: told }).notices, [])
    }
  })

  it("what nobody wrote is no message", () => {
    const none = (value: object, field = "messages") => {
      const { change, ...part } = phonePart(number, value) as Extract<ReturnType<typeof phonePart>, { change: object }>
      const { ignored, notices } = parse({ ...part, change: { ...change, field } })
      assert.deepStrictEqual(notices, [], JSON.stringify(value))
      return ignored.map(({ kind, reason }) => `${reason} ${kind}`)
    }
    const said = { from: "49151", ...envelope, type: "text", text: { body: "Hi" } }
    const messages = [said]
    assert.deepStrictEqual(none({ messages: [{ from: "49151", ...envelope, type: "request_welcome" }] }), [
      "nothing message:request_welcome"
    ])
    for (const [type, reason] of [["customer_identity_changed", "nothing"], ["moved_to_mars", "unknown"]] as const) {
      const system = { type, body: "A new code" }
      assert.deepStrictEqual(none({ messages: [{ ...said, type: "system", system }] }), [`${reason} system:${type}`])
    }
    assert.deepStrictEqual(none({ messages: [{ ...said, type: "system" }] }), ["unknown system:"])
    assert.deepStrictEqual(none({ messages: [{ ...said, group_id: "G.1" }] }), ["group message:text"])
    assert.deepStrictEqual(none({ messages: [{ ...said, from: "15550783881" }] }), ["nothing message:own"])
    for (const type of ["edit", "revoke"]) {
      assert.deepStrictEqual(none({ messages: [{ ...said, type }] }), [`unreadable message:${type}`])
    }
    assert.deepStrictEqual(none({ messages }, "history"), ["nothing field:history"])
    assert.deepStrictEqual(none({ messages }, "smb_app_state_sync"), ["nothing field:smb_app_state_sync"])
    assert.deepStrictEqual(none({ messages }, "account_update"), ["account field:account_update"])
    assert.deepStrictEqual(none({ messages }, "x".repeat(100)), [`unknown field:${"x".repeat(58)}`])
    const paid = { id: "wamid.1", status: "failed", type: "payment", payment: { reference_id: "1" } }
    assert.deepStrictEqual(none({ statuses: [paid] }), ["nothing status:payment"])
    const grouped = { id: "wamid.1", status: "read", recipient_type: "group", recipient_id: "G.1" }
    assert.deepStrictEqual(none({ statuses: [grouped] }), ["group status:read"])
    assert.deepStrictEqual(none({ errors: [{ code: 131051 }] }), ["account errors"])
  })

  it("what the business does in the network's own app is its own", () => {
    const echoed = (field: string, echo: object, value: object = {}) => {
      const part = phonePart(number, { message_echoes: [echo], ...value }) as Extract<
        ReturnType<typeof phonePart>,
        { change: object }
      >
      return parse({ ...part, change: { ...part.change, field } })
    }
    const wrote = { from: "15550783881", to: "551188887777", ...envelope, type: "text", text: { body: "By hand" } }
    for (const field of ["smb_message_echoes", "message_echoes"]) {
      assert.deepInclude(eventOf(echoed(field, wrote).notices), {
        event: "message_sent",
        provider_message_id: "wamid.1",
        to: { external_id: "+551188887777", aliases: ["+5511988887777"], display_name: null, username: null },
        text: "By hand",
        sent_at
      })
    }
    const contacts = [{ profile: { name: "Ana" }, wa_id: "551188887777", user_id: "BR.1" }]
    assert.deepInclude(eventOf(echoed("message_echoes", { ...wrote, to: undefined }, { contacts }).notices), {
      event: "message_sent",
      to: { external_id: "+551188887777", aliases: ["BR.1", "+5511988887777"], display_name: "Ana", username: null }
    })
    const revoked = { ...wrote, type: "revoke", revoke: { original_message_id: "wamid.0" } }
    assert.deepInclude(eventOf(echoed("smb_message_echoes", revoked).notices), {
      event: "message_deleted",
      provider_message_id: "wamid.0"
    })
    for (
      const echo of [7, {}, { ...wrote, to: undefined }, { ...wrote, group_id: "G" }, { ...wrote, type: "system" }]
    ) {
      assert.deepStrictEqual(echoed("smb_message_echoes", Object(echo)).notices, [])
    }
  })

  it("a sender that only the contacts name", () => {
    const from = (message: object, ...contacts: ReadonlyArray<object>) => {
      const { notices } = parse(phonePart(number, { contacts, messages: [{ ...envelope, ...message, type: "text" }] }))
      return notices.map(({ event }) =>
        event.event === "message_received" ? [event.from.external_id, event.from.aliases, event.from.display_name] : []
      )
    }
    const kim = { profile: { name: "Kim" }, wa_id: "49151", user_id: "DE.1" }
    assert.deepStrictEqual(from({}, kim), [["+49151", ["DE.1"], "Kim"]])
    assert.deepStrictEqual(from({ from_user_id: "DE.1" }, { ...kim, user_id: undefined }), [[
      "+49151",
      ["DE.1"],
      "Kim"
    ]])
    assert.deepStrictEqual(from({ from: "49151" }, { ...kim, wa_id: undefined }), [["+49151", ["DE.1"], "Kim"]])
    assert.deepStrictEqual(from({}, kim, { wa_id: "49152" }), [])
    // Another spelling of the number is no other number.
    const brazil = { profile: { name: "Kim" }, wa_id: "551188887777" }
    assert.deepStrictEqual(from({ from: "5511988887777" }, brazil), [["+5511988887777", ["+551188887777"], "Kim"]])
  })

  it("every status, with its reference and the recipient's ids", () => {
    const status = (name: string) =>
      parse(statusPart(number, {
        id: "wamid.1",
        status: name,
        timestamp: seconds,
        recipient_id: "551188887777",
        reference
      }))
    const undeliverable = { code: 131026, title: "Undeliverable", description: "Undeliverable." }
    const expected = { sent: "sent", delivered: "delivered", read: "read", played: "read", failed: "failed" }
    for (const [name, meant] of Object.entries(expected)) {
      assert.deepStrictEqual<object>(eventOf(status(name).notices), {
        event: "message_status_reported",
        provider_message_id: "wamid.1",
        reference,
        recipient_aliases: ["+551188887777", "+5511988887777"],
        status: meant,
        at: sent_at,
        ...(name === "failed" ? { failure: undeliverable } : {})
      })
    }
    for (const name of ["deleted", "toString"]) {
      assert.deepStrictEqual(status(name), { notices: [], ignored: [{ reason: "unknown", kind: `status:${name}` }] })
    }
  })

  it("a reference that is none of ours is none", () => {
    const part = statusPart(number, {
      id: "wamid.1",
      status: "sent",
      timestamp: seconds,
      recipient_id: "1",
      reference: "order 4711"
    })
    assert.deepInclude(eventOf(parse(part).notices), { reference: null })
  })

  it("each change is about its own number, messages and statuses in one body", () => {
    const { notices } = parse(
      messagePart("1", ana, { ...envelope, type: "text" }),
      statusPart("2", { id: "wamid.2", status: "read", timestamp: seconds, recipient_id: "1", reference: null }),
      messagePart("3", ana, { ...envelope, type: "text" })
    )
    assert.deepStrictEqual(notices.map(({ account }) => account.id), ["1", "2", "3"])
  })

  it("changes of other fields are counted, and lead to nothing", () => {
    const change = { field: "message_template_status_update", value: { event: "APPROVED" } }
    assert.deepStrictEqual(parse({ object: "whatsapp_business_account", id: "1", change }), {
      notices: [],
      ignored: [{ reason: "account", kind: "field:message_template_status_update" }]
    })
  })

  it("text that no store keeps is mended, not refused", () => {
    assert.deepInclude(said({ type: "text", text: { body: "a\u0000b\ud800" } }), { text: "a\uFFFDb\uFFFD" })
  })

  it("a message without a time of its own is of the time that it came", () => {
    for (const timestamp of [undefined, null, "soon", -1, "99999999999999999"]) {
      const event = eventOf(parse(messagePart(number, ana, { id: "wamid.1", timestamp, type: "text" })).notices)
      assert.deepInclude(event, { sent_at: received_at })
    }
  })
})

describe("pages and photo accounts", () => {
  it("a text", () => {
    assert.deepStrictEqual(social({ message: { mid: "m_1", text: "hi" } }), {
      notices: [{
        account: { type: "photo_social", id: "1784" },
        event: {
          event: "message_received",
          provider_message_id: "m_1",
          from: { external_id: "24601", aliases: [], display_name: null, username: null },
          type: "text",
          text: "hi",
          media: null,
          details: null,
          sent_at: DateTime.makeUnsafe(seconds * 1000 + 123)
        },
        file: null
      }],
      ignored: []
    })
  })

  it("several files in one message are a message each, the text with the first", () => {
    const attachments = ["image", "video", "file"].map((type, index) => ({
      type,
      payload: { url: `https://cdn.example/${index}` }
    }))
    const { notices } = social({ message: { mid: "m_1", text: "look", attachments } })
    assert.deepStrictEqual(
      notices.map(({ event, file }) => event.event === "message_received" ? [event.type, event.text, file] : []),
      [
        ["image", "look", { url: "https://cdn.example/0" }],
        ["video", null, { url: "https://cdn.example/1" }],
        ["document", null, { url: "https://cdn.example/2" }]
      ]
    )
    const ids = notices.map(({ event }) => "provider_message_id" in event ? event.provider_message_id : "")
    assert.deepStrictEqual(ids, ["m_1", "m_1.1", "m_1.2"])
  })

  it("an attachment of a kind that is not known is a message all the same", () => {
    const attachments = [{ type: "story_mention", payload: { url: "https://cdn.example/story" } }, 7]
    const { notices } = social({ message: { mid: "m_1", attachments } })
    assert.deepStrictEqual(
      notices.map(({ event }) => event.event === "message_received" ? [event.type, event.text] : []),
      [["unsupported", "https://cdn.example/story"], ["unsupported", null]]
    )
  })

  it("an edit, a deletion, a postback, a reaction", () => {
    assert.deepInclude(eventOf(social({ message_edit: { mid: "m_1", text: "hi!" } }).notices), {
      event: "message_edited",
      provider_message_id: "m_1",
      text: "hi!"
    })
    assert.deepInclude(eventOf(social({ message: { mid: "m_1", is_deleted: true } }).notices), {
      event: "message_deleted",
      provider_message_id: "m_1"
    })
    assert.deepInclude(eventOf(social({ postback: { mid: "m_2", title: "Start", payload: "GO" } }).notices), {
      provider_message_id: "m_2",
      type: "interactive",
      text: "Start"
    })
    assert.deepInclude(eventOf(social({ reaction: { mid: "m_1", action: "react", emoji: "😍" } }).notices), {
      type: "reaction",
      text: "😍"
    })
  })

  it("a page's echo completes the send, and a receipt updates each message", () => {
    const echo = { mid: "m_1", text: "hello", is_echo: true, metadata: reference }
    const part = socialPart("page", { account: "24601", person: "1784", timestamp: 1, item: { message: echo } })
    const [notice] = parse(part).notices
    assert.deepStrictEqual(notice?.account, { type: "page_messaging", id: "1784" })
    assert.deepInclude(notice?.event, { event: "message_status_reported", status: "sent", reference })
    const delivered = social({ delivery: { mids: ["m_1", "m_2"], watermark: seconds } }, "page").notices
    assert.deepStrictEqual(
      delivered.map(({ event }) => event.event === "message_status_reported" ? event.provider_message_id : event.event),
      ["m_1", "m_2", "messages_reported"]
    )
    assert.deepInclude(eventOf(social({ read: { mid: "m_1" } }).notices), { status: "read" })
  })

  it("a watermark reports every message before it", () => {
    const at = DateTime.makeUnsafe(seconds * 1000 + 123)
    for (const [kind, status] of [["delivery", "delivered"], ["read", "read"]] as const) {
      for (const watermark of [seconds * 1000, String(seconds * 1000), seconds]) {
        const reported = social({ [kind]: { watermark } }, "page")
        const event = { event: "messages_reported", external_id: "24601", status, until: sent_at, at }
        assert.deepStrictEqual<object>(eventOf(reported.notices), event)
      }
      for (const watermark of [undefined, null, "soon", {}]) {
        const { ignored, notices } = social({ [kind]: { watermark } }, "page")
        assert.deepStrictEqual([notices, ignored], [[], [{ reason: "unreadable", kind: `item:${kind}` }]])
      }
    }
  })

  it("an echo of what the business wrote in the network's own app is a message of the business", () => {
    const of = { account: "24601", person: "1784", timestamp: seconds * 1000 }
    const message = { mid: "m_1", text: "by hand", is_echo: true, app_id: 263902037430900 }
    for (const [object, type] of [["page", "page_messaging"], ["instagram", "photo_social"]] as const) {
      const [notice] = parse(socialPart(object, { ...of, item: { message } })).notices
      assert.deepStrictEqual(notice?.account, { type, id: "1784" })
      assert.deepInclude(notice?.event, {
        event: "message_sent",
        provider_message_id: "m_1",
        to: { external_id: "24601", aliases: [], display_name: null, username: null },
        text: "by hand",
        sent_at
      })
    }
    // An entry names its account, so what comes from there is the business's without a mark.
    const part = socialPart("page", { ...of, item: { message: { mid: "m_1", text: "hi" } } })
    assert.deepInclude(eventOf(parse({ ...part, id: "1784" }).notices), { event: "message_sent", text: "hi" })
    for (const item of [{ reaction: { mid: "m_1", action: "react", emoji: "😍" } }, { read: { watermark: 1 } }]) {
      const own = parse({ ...socialPart("page", { ...of, item }), id: "1784" })
      assert.deepStrictEqual([own.notices, own.ignored], [[], [{ reason: "nothing", kind: "item:own" }]])
    }
  })

  it("what nobody wrote is no message", () => {
    const none = (item: object) => {
      const { ignored, notices } = social(item, "page")
      assert.deepStrictEqual(notices, [], JSON.stringify(item))
      return ignored.map(({ kind, reason }) => `${reason} ${kind}`)
    }
    for (
      const kind of [
        "game_play",
        "branded_camera",
        "optin",
        "referral",
        "request_thread_control",
        "take_thread_control"
      ]
    ) assert.deepStrictEqual(none({ [kind]: { payload: "GO" } }), [`nothing item:${kind}`])
    assert.deepStrictEqual(none({ app_roles: {} }), ["account item:app_roles"])
    assert.deepStrictEqual(none({ hologram: { mid: "m_1" } }), ["unknown item:hologram"])
    assert.deepStrictEqual(none({ reaction: { mid: "m_1", action: "unreact", emoji: "😍" } }), ["nothing item:unreact"])
    for (const kind of ["message", "reaction", "message_edit"]) {
      assert.deepStrictEqual(none({ [kind]: 3 }), [`unreadable item:${kind}`])
    }
    assert.deepStrictEqual(none({ message_edit: { mid: "m_1", num_edit: 0 } }), ["unreadable item:message_edit"])
    assert.deepStrictEqual(none({}), ["unknown item:"])
  })

  it("an item with several parts is what its message is", () => {
    const { notices } = social({ referral: { source: "ADS" }, message: { mid: "m_1", text: "hi" } }, "page")
    assert.deepInclude(eventOf(notices), { event: "message_received", text: "hi" })
  })

  it("a photo account's message may come as a change", () => {
    const value = {
      sender: { id: "24601" },
      recipient: { id: "1784" },
      timestamp: String(seconds),
      message: { mid: "m_1", text: "hi" }
    }
    const body = JSON.stringify({
      object: "instagram",
      entry: [{ id: "1784", changes: [{ field: "messages", value }] }]
    })
    const { notices } = Option.getOrThrow(read(body, received_at))
    assert.deepInclude(eventOf(notices), { event: "message_received", text: "hi", sent_at })
    const comment = JSON.stringify({
      object: "instagram",
      entry: [{ id: "1784", changes: [{ field: "comments", value }] }]
    })
    assert.deepStrictEqual(Option.getOrThrow(read(comment, received_at)), {
      notices: [],
      ignored: [{ reason: "nothing", kind: "field:comments" }]
    })
  })
})

it("a body of another kind is none, and of another product leads to nothing", () => {
  for (const body of ["", "[]", "7", "null", "{"]) assert.isTrue(Option.isNone(read(body, received_at)))
  assert.deepStrictEqual(
    read("{\"object\":\"__proto__\",\"entry\":[{}]}", received_at),
    Option.some({
      notices: [],
      ignored: [{ reason: "unknown" as const, kind: "object:__proto__" }]
    })
  )
})
