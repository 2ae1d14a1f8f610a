/** The events in callbacks of Messenger and Instagram, kind by kind. */
import { assert, describe, it } from "@effect/vitest"
import * as Callback from "@messaging-crm/provider-cloud/Callback"
import { DateTime, Option } from "effect"
import { messengerEntry } from "../src/fake/CallbackBodies.ts"
import { arrival, eventOf, messenger, parseEntries, reference, seconds, sent_at } from "./Callback.ts"

describe("the messages of Messenger and Instagram", () => {
  it("reads a text", () => {
    assert.deepStrictEqual(messenger({ message: { mid: "m_1", text: "hi" } }), {
      events: [{
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

  it("reads each file as a message, and the text with the first", () => {
    const attachments = ["image", "video", "file"].map((type, index) => ({
      type,
      payload: { url: `https://cdn.example/${index}` }
    }))
    const { events } = messenger({ message: { mid: "m_1", text: "look", attachments } })
    assert.deepStrictEqual(
      events.map(({ event, file }) => event.event === "message_received" ? [event.type, event.text, file] : []),
      [
        ["image", "look", { url: "https://cdn.example/0" }],
        ["video", null, { url: "https://cdn.example/1" }],
        ["document", null, { url: "https://cdn.example/2" }]
      ]
    )
    const ids = events.map(({ event }) => "provider_message_id" in event ? event.provider_message_id : "")
    assert.deepStrictEqual(ids, ["m_1", "m_1.1", "m_1.2"])
  })

  it("reads an attachment of an unknown kind as a message", () => {
    const attachments = [{ type: "story_mention", payload: { url: "https://cdn.example/story" } }, 7]
    const { events } = messenger({ message: { mid: "m_1", attachments } })
    assert.deepStrictEqual(
      events.map(({ event }) => event.event === "message_received" ? [event.type, event.text] : []),
      [["unsupported", "https://cdn.example/story"], ["unsupported", null]]
    )
  })

  it("reads an edit, a deletion, a postback, and a reaction", () => {
    assert.deepInclude(eventOf(messenger({ message_edit: { mid: "m_1", text: "hi!" } }).events), {
      event: "message_edited",
      provider_message_id: "m_1",
      text: "hi!"
    })
    for (const is_deleted of [true, "true"]) {
      const { events } = messenger({ message: { mid: "m_1", is_deleted } })
      const ids = events.map(({ event }) => event.event === "message_deleted" ? event.provider_message_id : event.event)
      // A deletion does not say how many files the message had.
      assert.deepStrictEqual(ids.slice(0, 3), ["m_1", "m_1.1", "m_1.2"])
      assert.lengthOf(ids, 30)
    }
    assert.deepInclude(eventOf(messenger({ message: { mid: "m_1", is_deleted: "false", text: "hi" } }).events), {
      event: "message_received",
      text: "hi"
    })
    assert.deepInclude(eventOf(messenger({ postback: { mid: "m_2", title: "Start", payload: "GO" } }).events), {
      provider_message_id: "m_2",
      type: "interactive",
      text: "Start"
    })
    assert.deepInclude(eventOf(messenger({ reaction: { mid: "m_1", action: "react", emoji: "😍" } }).events), {
      type: "reaction",
      text: "😍"
    })
  })
})

describe("the echoes and receipts of Messenger and Instagram", () => {
  it("a page's echo completes the send, and a receipt updates each message", () => {
    const echo = { mid: "m_1", text: "hello", is_echo: true, metadata: reference }
    const entry = messengerEntry("page", { account: "24601", person: "1784", timestamp: 1, event: { message: echo } })
    const [first] = parseEntries(entry).events
    assert.deepStrictEqual(first?.account, { type: "page_messaging", id: "1784" })
    assert.deepInclude(first?.event, { event: "message_sent", text: "hello", reference })
    const delivered = messenger({ delivery: { mids: ["m_1", "m_2"], watermark: seconds } }, "page").events
    assert.deepStrictEqual(
      delivered.map(({ event }) => event.event === "message_status_reported" ? event.provider_message_id : event.event),
      ["m_1", "m_2", "messages_reported"]
    )
    assert.deepInclude(eventOf(messenger({ read: { mid: "m_1" } }).events), { status: "read" })
  })

  it("an echo of any app has the reference in its metadata, if that can be one, with its first part", () => {
    const eventsFrom = (message: object) => {
      const event = { message: { mid: "m_1", text: "hello", is_echo: true, ...message } }
      return parseEntries(messengerEntry("page", { account: "24601", person: "1784", timestamp: 1, event })).events
    }
    for (const app_id of [undefined, 7, "1517776481860111"]) {
      const [first, ...others] = eventsFrom({ metadata: reference, app_id })
      assert.deepInclude(first?.event, { event: "message_sent", text: "hello", reference })
      assert.deepStrictEqual(others, [])
    }
    for (const metadata of [undefined, null, "order 4711", 7]) {
      assert.notProperty(eventOf(eventsFrom({ metadata })), "reference")
    }
    const attachments = [1, 2].map((index) => ({ type: "image", payload: { url: `https://cdn.example/${index}` } }))
    const parts = eventsFrom({ metadata: reference, attachments }).map(({ event }) => "reference" in event)
    assert.deepStrictEqual(parts, [true, false])
  })

  it("a receipt without a time has that of its watermark", () => {
    for (const kind of ["delivery", "read"]) {
      const receipt = { timestamp: undefined, [kind]: { mids: ["m_1"], watermark: seconds } }
      for (const { event } of messenger(receipt, "page").events) assert.deepInclude(event, { at: sent_at })
    }
  })

  it("a watermark reports every message before it", () => {
    const at = DateTime.makeUnsafe(seconds * 1000 + 123)
    for (const [kind, status] of [["delivery", "delivered"], ["read", "read"]] as const) {
      for (const watermark of [seconds * 1000, String(seconds * 1000), seconds]) {
        const reported = messenger({ [kind]: { watermark } }, "page")
        const event = { event: "messages_reported", external_id: "24601", status, until: sent_at, at }
        assert.deepStrictEqual<object>(eventOf(reported.events), event)
      }
      for (const watermark of [undefined, null, "soon", {}]) {
        const { ignored, events } = messenger({ [kind]: { watermark } }, "page")
        assert.deepStrictEqual([events, ignored], [[], [{ reason: "unreadable", kind: `item:${kind}` }]])
      }
    }
  })

  it("reads an echo of the network's app as a message of the business", () => {
    const of = { account: "24601", person: "1784", timestamp: seconds * 1000 }
    const message = { mid: "m_1", text: "by hand", is_echo: true, app_id: 263902037430900 }
    for (const [object, type] of [["page", "page_messaging"], ["instagram", "photo_social"]] as const) {
      const [first] = parseEntries(messengerEntry(object, { ...of, event: { message } })).events
      assert.deepStrictEqual(first?.account, { type, id: "1784" })
      assert.deepInclude(first?.event, {
        event: "message_sent",
        provider_message_id: "m_1",
        to: { external_id: "24601", aliases: [], display_name: null, username: null },
        text: "by hand",
        sent_at
      })
    }
    // An entry names its account, so what comes from there is the business's without a mark.
    const entry = messengerEntry("page", { ...of, event: { message: { mid: "m_1", text: "hi" } } })
    assert.deepInclude(eventOf(parseEntries({ ...entry, id: "1784" }).events), { event: "message_sent", text: "hi" })
    for (const event of [{ reaction: { mid: "m_1", action: "react", emoji: "😍" } }, { read: { watermark: 1 } }]) {
      const own = parseEntries({ ...messengerEntry("page", { ...of, event }), id: "1784" })
      assert.deepStrictEqual([own.events, own.ignored], [[], [{ reason: "nothing", kind: "item:own" }]])
    }
  })
})

describe("the other events of Messenger and Instagram", () => {
  it("ignores events that no person wrote", () => {
    const none = (item: object) => {
      const { ignored, events } = messenger(item, "page")
      assert.deepStrictEqual(events, [], JSON.stringify(item))
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

  it("parses an event with several fields by its message", () => {
    const { events } = messenger({ referral: { source: "ADS" }, message: { mid: "m_1", text: "hi" } }, "page")
    assert.deepInclude(eventOf(events), { event: "message_received", text: "hi" })
  })

  it("parses an Instagram message in a change", () => {
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
    const { events } = Option.getOrThrow(Callback.parse(body, arrival))
    assert.deepInclude(eventOf(events), { event: "message_received", text: "hi", sent_at })
    const comment = JSON.stringify({
      object: "instagram",
      entry: [{ id: "1784", changes: [{ field: "comments", value }] }]
    })
    assert.deepStrictEqual(Option.getOrThrow(Callback.parse(comment, arrival)), {
      events: [],
      ignored: [{ reason: "nothing", kind: "field:comments" }]
    })
  })
})
