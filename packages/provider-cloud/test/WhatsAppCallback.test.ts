/** The events in callbacks of WhatsApp, kind by kind. */
import { assert, describe, it } from "@effect/vitest"
import * as Callback from "@messaging-crm/provider-cloud/Callback"
import { Option } from "effect"
import { messageEntry, statusEntry, whatsAppEntry } from "../src/fake/CallbackBodies.ts"
import {
  ana,
  arrival,
  envelope,
  eventOf,
  number,
  parseEntries,
  received_at,
  reference,
  said,
  seconds,
  sent_at
} from "./Callback.ts"

describe("the messages of WhatsApp", () => {
  it("reads a text with all IDs and names of its sender", () => {
    assert.deepStrictEqual(
      parseEntries(messageEntry(number, ana, { ...envelope, type: "text", text: { body: "Oi 👋" } })),
      {
        events: [{
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

  it("reads a file of every type", () => {
    const media = { id: "77", mime_type: "application/pdf", sha256: "made up" }
    const file = { media_id: "77" }
    const image = said({ type: "image", image: { ...media, caption: "Taj" } })
    assert.deepStrictEqual(image, { type: "image", text: "Taj", kind: "image", file })
    for (const type of ["video", "audio", "document", "sticker"] as const) {
      assert.deepStrictEqual(said({ type, [type]: media }), { type, text: null, kind: type, file })
    }
    assert.deepInclude(said({ type: "voice", voice: media }), { type: "audio", kind: "audio", file })
  })

  const place = { latitude: 37.44, longitude: -122.16, name: "Philz", address: "101 Forest Ave" }
  const card = { name: { formatted_name: "Kim Roe" }, phones: [{ phone: "+1 555 0100" }] }
  const contents: ReadonlyArray<readonly [object, type: string, text: string | null]> = [
    [{ type: "location", location: place }, "location", "Philz\n101 Forest Ave\n37.44, -122.16"],
    [{ type: "contacts", contacts: [card] }, "contacts", "Kim Roe\n+1 555 0100"],
    [
      { type: "interactive", interactive: { type: "button_reply", button_reply: { id: "c", title: "Cancel" } } },
      "interactive",
      "Cancel"
    ],
    [
      { type: "interactive", interactive: { type: "list_reply", list_reply: { id: "l", title: "Late" } } },
      "interactive",
      "Late"
    ],
    [{ type: "button", button: { payload: "x", text: "Unsubscribe" } }, "interactive", "Unsubscribe"],
    [{ type: "reaction", reaction: { message_id: "wamid.X", emoji: "👍" } }, "reaction", "👍"],
    [{ type: "reaction", reaction: { message_id: "wamid.X" } }, "reaction", null],
    [{ type: "order", order: { text: "Two, please", product_items: [] } }, "unsupported", "Two, please"]
  ]

  it("reads every type of message without a file", () => {
    for (const [message, type, text] of contents) assert.deepInclude<object>(said(message), { type, text })
  })

  it("reads a message of an unknown type", () => {
    for (const type of ["unsupported", "hologram", "constructor", ""]) {
      assert.deepInclude(said({ type, errors: [{ code: 131051 }] }), { type: "unsupported", text: null })
    }
    assert.deepInclude(said({}), { type: "unsupported" })
    assert.deepInclude(said({ type: "image" }), { type: "image", kind: "image", file: null })
  })

  it("reads an edit and a deletion", () => {
    const edit = { original_message_id: "wamid.0", message: { type: "text", text: { body: "Olá" } } }
    assert.deepStrictEqual<object>(
      eventOf(parseEntries(messageEntry(number, ana, { ...envelope, type: "edit", edit })).events),
      { event: "message_edited", provider_message_id: "wamid.0", text: "Olá", at: sent_at }
    )
    for (const message of [undefined, {}, { type: "hologram" }, { type: "text" }]) {
      const unreadable = { original_message_id: "wamid.0", message }
      const { events } = parseEntries(messageEntry(number, ana, { ...envelope, type: "edit", edit: unreadable }))
      // An event with an empty text would overwrite the stored one.
      assert.deepStrictEqual(events, [], JSON.stringify(message))
    }
    const uncaptioned = { original_message_id: "wamid.0", message: { type: "image", image: { id: "1" } } }
    assert.deepInclude(
      eventOf(parseEntries(messageEntry(number, ana, { ...envelope, type: "edit", edit: uncaptioned })).events),
      { event: "message_edited", text: null }
    )
    const revoke = { original_message_id: "wamid.0" }
    assert.deepStrictEqual<object>(
      eventOf(parseEntries(messageEntry(number, ana, { ...envelope, type: "revoke", revoke })).events),
      { event: "message_deleted", provider_message_id: "wamid.0", at: sent_at }
    )
  })
})

describe("the other items of a WhatsApp callback", () => {
  it("ignores items that no person wrote", () => {
    const none = (value: object, field = "messages") => {
      const { change, ...entry } = whatsAppEntry(number, value) as Extract<
        ReturnType<typeof whatsAppEntry>,
        { change: object }
      >
      const { ignored, events } = parseEntries({ ...entry, change: { ...change, field } })
      assert.deepStrictEqual(events, [], JSON.stringify(value))
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

  it("reads messages from the network's app as messages of the business", () => {
    const echoed = (field: string, echo: object, value: object = {}) => {
      const entry = whatsAppEntry(number, { message_echoes: [echo], ...value }) as Extract<
        ReturnType<typeof whatsAppEntry>,
        { change: object }
      >
      return parseEntries({ ...entry, change: { ...entry.change, field } })
    }
    const wrote = { from: "15550783881", to: "551188887777", ...envelope, type: "text", text: { body: "By hand" } }
    for (const field of ["smb_message_echoes", "message_echoes"]) {
      assert.deepInclude(eventOf(echoed(field, wrote).events), {
        event: "message_sent",
        provider_message_id: "wamid.1",
        to: { external_id: "+551188887777", aliases: ["+5511988887777"], display_name: null, username: null },
        text: "By hand",
        sent_at
      })
    }
    const contacts = [{ profile: { name: "Ana" }, wa_id: "551188887777", user_id: "BR.1" }]
    assert.deepInclude(eventOf(echoed("message_echoes", { ...wrote, to: undefined }, { contacts }).events), {
      event: "message_sent",
      to: { external_id: "+551188887777", aliases: ["BR.1", "+5511988887777"], display_name: "Ana", username: null }
    })
    const revoked = { ...wrote, type: "revoke", revoke: { original_message_id: "wamid.0" } }
    assert.deepInclude(eventOf(echoed("smb_message_echoes", revoked).events), {
      event: "message_deleted",
      provider_message_id: "wamid.0"
    })
    for (
      const echo of [7, {}, { ...wrote, to: undefined }, { ...wrote, group_id: "G" }, { ...wrote, type: "system" }]
    ) {
      assert.deepStrictEqual(echoed("smb_message_echoes", Object(echo)).events, [])
    }
  })
})

describe("the statuses of WhatsApp", () => {
  it("reads every status with its reference and the recipient's IDs", () => {
    const status = (name: string) =>
      parseEntries(statusEntry(number, {
        id: "wamid.1",
        status: name,
        timestamp: seconds,
        recipient_id: "551188887777",
        reference
      }))
    const undeliverable = { code: 131026, title: "Undeliverable", description: "Undeliverable." }
    const expected = { sent: "sent", delivered: "delivered", read: "read", played: "read", failed: "failed" }
    for (const [name, meant] of Object.entries(expected)) {
      assert.deepStrictEqual<object>(eventOf(status(name).events), {
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
      assert.deepStrictEqual(status(name), { events: [], ignored: [{ reason: "unknown", kind: `status:${name}` }] })
    }
  })

  it("drops the reference of another service", () => {
    const entry = statusEntry(number, {
      id: "wamid.1",
      status: "sent",
      timestamp: seconds,
      recipient_id: "1",
      reference: "order 4711"
    })
    assert.deepInclude(eventOf(parseEntries(entry).events), { reference: null })
  })
})

describe("a body of WhatsApp", () => {
  it("reads messages and statuses of several numbers in one body", () => {
    const { events } = parseEntries(
      messageEntry("1", ana, { ...envelope, type: "text" }),
      statusEntry("2", { id: "wamid.2", status: "read", timestamp: seconds, recipient_id: "1", reference: null }),
      messageEntry("3", ana, { ...envelope, type: "text" })
    )
    assert.deepStrictEqual(events.map(({ account }) => account.id), ["1", "2", "3"])
  })

  it("counts and ignores changes of other fields", () => {
    const change = { field: "message_template_status_update", value: { event: "APPROVED" } }
    assert.deepStrictEqual(parseEntries({ object: "whatsapp_business_account", id: "1", change }), {
      events: [],
      ignored: [{ reason: "account", kind: "field:message_template_status_update" }]
    })
  })

  it("ignores a field that is not a string, and reads a change without a field as messages", () => {
    const { change, ...entry } = whatsAppEntry(number, { messages: [{ from: "49151", ...envelope }] }) as {
      readonly object: "whatsapp_business_account"
      readonly id: string
      readonly change: object
    }
    for (const field of [0, "", {}, []]) {
      const { ignored, events } = parseEntries({ ...entry, change: { ...change, field } })
      assert.deepStrictEqual([events.length, ignored[0]?.reason], [0, "unknown"])
    }
    for (const field of [undefined, null]) {
      assert.lengthOf(parseEntries({ ...entry, change: { ...change, field } }).events, 1)
    }
  })

  it("repairs text that no store can contain", () => {
    assert.deepInclude(said({ type: "text", text: { body: "a\u0000b\ud800" } }), { text: "a\uFFFDb\uFFFD" })
  })

  it("uses the time of arrival for a message without a time", () => {
    for (const timestamp of [undefined, null, "soon", -1, "99999999999999999"]) {
      const event = eventOf(parseEntries(messageEntry(number, ana, { id: "wamid.1", timestamp, type: "text" })).events)
      assert.deepInclude(event, { sent_at: received_at })
    }
  })
})

it("rejects a body of another kind, and ignores one of another product", () => {
  for (const body of ["", "[]", "7", "null", "{"]) assert.isTrue(Option.isNone(Callback.parse(body, arrival)))
  assert.deepStrictEqual(
    Callback.parse("{\"object\":\"__proto__\",\"entry\":[{}]}", arrival),
    Option.some({
      events: [],
      ignored: [{ reason: "unknown" as const, kind: "object:__proto__" }]
    })
  )
})
