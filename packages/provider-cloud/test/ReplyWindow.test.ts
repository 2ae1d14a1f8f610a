/** The reply window: what a person writes opens it, and nothing else that a network reports about them. */
import { assert, describe } from "@effect/vitest"
import { DateTime, Effect, Struct } from "effect"
import { type CallbackEntry, messageEntry, messengerEntry, whatsAppEntry } from "../src/fake/CallbackBodies.ts"
import { FakeGraph } from "../src/fake/FakeGraph.ts"
import { Acme, conversations, noon, seconds, testAtAcme } from "./Acme.ts"

const person = "4915112345678"
const before = DateTime.subtract(noon, { hours: 2 })

type Channels = Acme["Service"]
type Entry = (channels: Channels) => CallbackEntry

const whatsApp = (message: object): Entry => ({ phone_messaging }) =>
  messageEntry(phone_messaging, { wa_id: person }, { id: "wamid.1", timestamp: String(seconds), ...message })

const change = (field: string, value: object): Entry => ({ phone_messaging }) => {
  const entry = whatsAppEntry(phone_messaging, { contacts: [{ wa_id: person }], ...value })
  return "change" in entry ? { ...entry, change: { ...entry.change, field } } : entry
}

const page = (event: object): Entry => ({ page_messaging }) =>
  messengerEntry("page", { account: page_messaging, person: "24601", timestamp: noon.epochMilliseconds, event })

const unsupported = (type?: string): Entry =>
  whatsApp({
    type: "unsupported",
    errors: [{ code: 131051 }],
    ...(type === undefined ? {} : { unsupported: { type } })
  })

const system = (type: string, more: object): Entry =>
  whatsApp({ type: "system", system: { type, body: "New", ...more } })

const opening: Readonly<Record<string, Entry>> = {
  "a text": whatsApp({ type: "text", text: { body: "Hi" } }),
  "a text without a type": whatsApp({ text: { body: "Hi" } }),
  "a file that the network could not load": whatsApp({ type: "image", errors: [{ code: 131052 }] }),
  "a location": whatsApp({ type: "location", location: { latitude: 1, longitude: 2 } }),
  "the button of a template": whatsApp({ type: "button", button: { text: "Yes", payload: "YES" } }),
  "the button of a message": whatsApp({ type: "interactive", interactive: { button_reply: { id: "a", title: "A" } } }),
  "an order": whatsApp({ type: "order", order: { catalog_id: "8", product_items: [] } }),
  "a reaction": whatsApp({ type: "reaction", reaction: { message_id: "wamid.0", emoji: "\u{1F44D}" } }),
  "something that the API does not support": unsupported(),
  "a poll": unsupported("poll_creation"),
  "a message that waits for its contents": unsupported("media_placeholder"),
  "a text to a page": page({ message: { mid: "m_1", text: "Hi" } }),
  "an attachment to a page": page({ message: { mid: "m_1", attachments: [{ type: "hologram" }] } }),
  "a message to a page that the API does not support": page({ message: { mid: "m_1", is_unsupported: true } }),
  "a postback to a page": page({ postback: { mid: "m_1", title: "Start", payload: "START" } }),
  "a reaction to a page's message": page({ reaction: { mid: "m_0", action: "react", emoji: "\u{1F60D}" } })
}

const others: Readonly<Record<string, Entry>> = {
  "a new number": system("user_changed_number", { wa_id: "4915112345679" }),
  "a new number in the former form": system("customer_changed_number", { new_wa_id: "4915112345679" }),
  "a new user ID": system("user_changed_user_id", { user_id: "DE.2", previous_user_id: "DE.1" }),
  "a new security code": system("customer_identity_changed", {}),
  "a system message of a new kind": system("customer_joined", {}),
  "a system message without a type": whatsApp({ system: { body: "New" } }),
  "an update of a user ID": change("user_id_update", {
    user_id_update: [{ wa_id: person, user_id: { previous: "DE.1", current: "DE.2" } }]
  }),
  "an opened chat": whatsApp({ type: "request_welcome" }),
  "a notice about disappearing messages": whatsApp({ type: "ephemeral", ephemeral: { expiration: 86_400 } }),
  "a missed call": whatsApp({ type: "missed_call", missed_call: {} }),
  "a type that is not documented": whatsApp({ type: "hologram", hologram: {} }),
  "a message of an unknown type": whatsApp({ type: "unknown", errors: [{ code: 131051 }] }),
  "a message of no type": whatsApp({ hologram: {} }),
  "an error instead of a message": whatsApp({ type: "errors", errors: [{ code: 131000 }] }),
  "a pinned message": unsupported("pin"),
  "a kept message": unsupported("keep_in_chat"),
  "a template of another business": unsupported("hsm"),
  "an unsupported type that is not documented": unsupported("hologram"),
  "a removed reaction": whatsApp({ type: "reaction", reaction: { message_id: "wamid.0", emoji: "" } }),
  "a message in a group": whatsApp({ group_id: "G.1", type: "text", text: { body: "Hi" } }),
  "an edit": whatsApp({ type: "edit", edit: { original_message_id: "wamid.0", message: { text: { body: "Hi" } } } }),
  "a deletion": whatsApp({ type: "revoke", revoke: { original_message_id: "wamid.0" } }),
  "a message of the business": change("smb_message_echoes", {
    message_echoes: [{
      from: "493012345678",
      to: person,
      id: "wamid.1",
      timestamp: String(seconds),
      text: { body: "Hi" }
    }]
  }),
  "a call": change("calls", { calls: [{ id: "wacid.1", from: person, event: "connect", timestamp: String(seconds) }] }),
  "a report": change("messages", {
    statuses: [{ id: "wamid.0", status: "read", timestamp: String(seconds), recipient_id: person }]
  }),
  "an end of marketing": change("user_preferences", {
    user_preferences: [{ wa_id: person, category: "marketing_messages", value: "stop", timestamp: seconds }]
  }),
  "an empty message to a page": page({ message: { mid: "m_1" } }),
  "a message of the page": page({ message: { mid: "m_1", text: "Hi", is_echo: true, app_id: 7 } }),
  "a removed reaction to a page's message": page({ reaction: { mid: "m_0", action: "unreact" } }),
  "an edited message to a page": page({ message_edit: { mid: "m_0", text: "Hi" } }),
  "a deleted message to a page": page({ message: { mid: "m_0", is_deleted: true } }),
  "a read page's message": page({ read: { watermark: noon.epochMilliseconds } }),
  "a referral to a page": page({ referral: { ref: "spring", source: "SHORTLINK", type: "OPEN_THREAD" } })
}

/** Returns when the reply window of each conversation began. */
const openedAt = Effect.map(
  conversations,
  (all) => all.map(({ reply_window_expires_at: end }) => end === null ? null : DateTime.subtract(end, { hours: 24 }))
)

/** The contact's earlier messages, to the number and to the page. */
const earlier: ReadonlyArray<Entry> = [
  ({ phone_messaging }) => {
    const message = { id: "wamid.0", timestamp: String(before.epochMilliseconds / 1000), text: { body: "Hello" } }
    return messageEntry(phone_messaging, { wa_id: person, user_id: "DE.1" }, message)
  },
  ({ page_messaging }) =>
    messengerEntry("page", {
      account: page_messaging,
      person: "24601",
      timestamp: before.epochMilliseconds,
      event: { message: { mid: "m_0", text: "Hello" } }
    })
]

const receive = Effect.fnUntraced(function*(...entries: ReadonlyArray<Entry>) {
  const [fake, channels] = [yield* FakeGraph, yield* Acme]
  yield* fake.enqueue(...entries.map((entry) => entry(channels)))
  assert.deepStrictEqual(yield* fake.post({ batch: 1 }), entries.map(() => 200))
})

describe("the reply window opens with", () => {
  for (const [name, entry] of Object.entries(opening)) {
    testAtAcme(name, () =>
      Effect.gen(function*() {
        yield* receive(entry)
        assert.deepStrictEqual(yield* openedAt, [noon])
      }))
  }
})

describe("the reply window does not open, and is not extended, with", () => {
  for (const [name, entry] of Object.entries(others)) {
    testAtAcme(name, () =>
      Effect.gen(function*() {
        yield* receive(entry)
        assert.isTrue((yield* openedAt).every((at) => at === null))
        yield* receive(...earlier, entry)
        const opened = (yield* openedAt).filter((at) => at !== null)
        assert.deepStrictEqual(
          opened.map(Struct.get("epochMilliseconds")),
          [before, before].map(Struct.get("epochMilliseconds"))
        )
      }))
  }
})
