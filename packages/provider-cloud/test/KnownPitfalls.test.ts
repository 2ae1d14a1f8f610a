/** Known pitfalls of the networks, each a test over a whole core in memory. */
import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import { CallbackInbox, CallbackStore } from "@messaging-crm/core/CallbackInbox"
import { Channels } from "@messaging-crm/core/Channels"
import { Commit } from "@messaging-crm/core/Commit"
import { Contacts, CreateContact } from "@messaging-crm/core/Contacts"
import { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import { Phone } from "@messaging-crm/core/Phones"
import { Sends, StartConversation } from "@messaging-crm/core/Sends"
import { Worker } from "@messaging-crm/core/Worker"
import { CallbackProcessor } from "@messaging-crm/provider-cloud/CallbackProcessor"
import { Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { bodyOf, messageEntry, messengerEntry, whatsAppEntry } from "../src/fake/CallbackBodies.ts"
import { FakeGraph } from "../src/fake/FakeGraph.ts"
import { sign } from "../src/SignedBodies.ts"
import { Acme, conversations, messages, noon, reply, seconds, testAtAcme, write } from "./Acme.ts"
import { app, inboxOver, overInbox, Received, recorder } from "./Network.ts"

const template = (id: string) => ({
  id,
  name: `template_${id}`,
  language: "en",
  category: "UTILITY",
  status: "APPROVED",
  parameter_format: "POSITIONAL",
  components: [{ type: "BODY", text: "Hello {{1}}, your order {{2}} is ready." }]
})

/** A store whose disk can be full. */
const disk = { is_full: false }
const commitsOnDisk = Layer.effect(
  Commit,
  Commit.useSync((store) =>
    Commit.of({
      commit: (organization_id, changes) =>
        Effect.suspend(() => disk.is_full ? Effect.die("The disk is full.") : store.commit(organization_id, changes))
    })
  )
)
const inboxOnDisk = inboxOver(commitsOnDisk.pipe(Layer.provideMerge(Memory.layer)))

testAtAcme("a status and a system message without contacts are processed", () =>
  Effect.gen(function*() {
    const fake = yield* FakeGraph
    const { phone_messaging } = yield* Acme
    yield* write("4915112345678", "Oi")
    yield* reply("Olá")
    assert.deepStrictEqual(yield* fake.post({ batch: 10 }), [200])
    assert.strictEqual((yield* messages)[0]?.status, "read")
    const system = { type: "user_changed_number", wa_id: "4915187654321", body: "Ana changed her number" }
    yield* fake.enqueue(whatsAppEntry(phone_messaging, {
      messages: [{ from: "4915112345678", id: "wamid.s", timestamp: String(seconds), type: "system", system }]
    }))
    assert.deepStrictEqual(yield* fake.post(), [200])
    yield* write("4915187654321", "Still me")
    const [conversation, ...others] = yield* conversations
    assert.deepStrictEqual(others, [])
    assert.strictEqual(conversation?.contact.external_id, "+4915187654321")
  }))

testAtAcme(
  "a user ID is sent in `recipient`, because the network responds to one in `to` with 200 and discards it",
  () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const { phone_messaging } = yield* Acme
      const user_id = "DE.13491208655302741918"
      yield* fake.enqueue(messageEntry(phone_messaging, { user_id, username: "ana.l" }, {
        id: "wamid.1",
        timestamp: String(seconds),
        type: "text",
        text: { body: "Who am I?" }
      }))
      assert.deepStrictEqual(yield* fake.post(), [200])
      yield* reply("Ana")
      assert.deepStrictEqual(yield* fake.discarded, [])
      assert.deepStrictEqual((yield* fake.accepted).map(({ recipient }) => recipient), [user_id])
      // The fake Graph API accepts and discards a user ID in `to`.
      yield* Effect.promise(() =>
        fetch(`${fake.url}/v25.0/1/messages`, {
          method: "POST",
          headers: { "content-type": "application/json", authorization: "Bearer the channel's token" },
          body: JSON.stringify({ messaging_product: "whatsapp", to: user_id, type: "text", text: { body: "Ana" } })
        }).then(async (response) => assert.deepInclude(await response.json(), { messaging_product: "whatsapp" }))
      )
      assert.lengthOf(yield* fake.discarded, 1)
    })
)

const twoMessages = ["a", "b"].map((body) =>
  messageEntry("01990000-0000-7000-8000-000000000001", { wa_id: "4915112345678" }, {
    id: `wamid.${body}`,
    timestamp: String(seconds),
    type: "text",
    text: { body }
  })
)

it.effect("a callback gets 500 until its body is stored, so that the network repeats it", () =>
  Effect.gen(function*() {
    const fake = yield* FakeGraph
    const store = yield* CallbackStore
    yield* fake.enqueue(...twoMessages)
    disk.is_full = true
    assert.deepStrictEqual(yield* fake.post({ batch: 2 }), [500])
    assert.strictEqual((yield* store.backlog).count, 0)
    disk.is_full = false
    assert.deepStrictEqual(yield* fake.post({ batch: 2 }), [200])
    assert.strictEqual((yield* store.backlog).count, 1)
  }).pipe(Effect.provide(overInbox(recorder, inboxOnDisk))))

it.effect("a callback gets 200 when its unchanged body is stored, before it is processed", () =>
  Effect.gen(function*() {
    const fake = yield* FakeGraph
    const inbox = yield* CallbackInbox
    const processor = yield* CallbackProcessor
    yield* fake.enqueue(...twoMessages)
    assert.deepStrictEqual(yield* fake.post({ batch: 2, times: 2 }), [200, 200])
    assert.deepStrictEqual(yield* Received.use(({ events }) => events), [])
    const bodies: Array<string> = []
    yield* inbox.runOnce((callback) => {
      bodies.push(new TextDecoder().decode(callback.body))
      return processor.process(callback)
    })
    assert.deepStrictEqual(bodies, [bodyOf(twoMessages), bodyOf(twoMessages)])
    const texts = (yield* Received.use(({ events }) => events)).map((event) => "text" in event ? event.text : null)
    assert.deepStrictEqual(texts, ["a", "b", "a", "b"])
  }).pipe(Effect.provide(overInbox(recorder, inboxOnDisk))))

testAtAcme(
  "the customer gets exactly one message if the network accepts it and the connection breaks",
  () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      yield* fake.script("4915112345678", {
        responses: [{ response: "accept_and_hang_up" }],
        statuses: ["sent", "delivered"],
        reply: null
      })
      yield* write("4915112345678", "Oi")
      const id = yield* reply("Olá")
      for (let minute = 0; minute < 5; minute++) {
        yield* TestClock.adjust("1 minutes")
        yield* Worker.use(({ runOnce }) => runOnce)
      }
      assert.strictEqual((yield* Sends.use(({ get }) => get(id))).status, "unknown")
      assert.lengthOf(yield* fake.accepted, 1)
      assert.deepStrictEqual(yield* fake.post({ times: 2 }), [200, 200, 200, 200])
      assert.strictEqual((yield* Sends.use(({ get }) => get(id))).status, "sent")
      assert.deepInclude((yield* messages)[0], { text: "Olá", status: "delivered" })
      assert.lengthOf(yield* messages, 2)
      assert.lengthOf(yield* fake.accepted, 1)
    })
)

for (
  const [stored, from] of [
    ["+5511987654321", "551187654321"],
    ["+54 11 2345 6789", "5491123456789"],
    ["+525512345678", "5215512345678"]
  ] as const
) {
  testAtAcme(
    `the contact with the number ${stored} is the person who writes from ${from}`,
    () =>
      Effect.gen(function*() {
        const contacts = yield* Contacts
        const { id } = yield* contacts.create(Schema.decodeUnknownSync(CreateContact)({ primary_phone: stored }))
        assert.deepStrictEqual(yield* write(from, "Oi"), [200])
        const { data } = yield* contacts.list({ cursor: null, page_size: 100 })
        assert.deepStrictEqual(data.map((contact) => contact.id), [id])
        assert.deepStrictEqual((yield* conversations).map(({ contact }) => contact.id), [id])
      })
  )
}

testAtAcme("a failed second page of templates is an error, not a short list", () =>
  Effect.gen(function*() {
    const fake = yield* FakeGraph
    yield* fake.setTemplates("acme", ["1", "2", "3"].map(template))
    const templates = MessagingProvider.use((provider) => provider.templates("acme"))
    yield* fake.breakPage(2)
    assert.strictEqual((yield* Effect.flip(templates))._tag, "ProviderUnavailable")
    yield* fake.breakPage(null)
    assert.deepStrictEqual((yield* templates).map(({ id }) => id), ["1", "2", "3"])
  }))

testAtAcme(
  "the signature is checked over the raw bytes, for an escaped emoji too",
  () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const { phone_messaging } = yield* Acme
      const body = (id: string) =>
        bodyOf([messageEntry(phone_messaging, { wa_id: "4915112345678" }, {
          id,
          timestamp: String(seconds),
          type: "text",
          text: { body: "👋 é" }
        })])
      const escaped = body("wamid.2").replace(
        /[\u0080-\uffff]/g,
        (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
      )
      for (const text of [body("wamid.1"), escaped]) {
        assert.strictEqual(yield* fake.postRaw(new TextEncoder().encode(text)), 200)
      }
      assert.deepStrictEqual((yield* messages).map(({ text }) => text), ["👋 é", "👋 é"])
      const otherSpelling = new TextEncoder().encode(JSON.stringify(JSON.parse(escaped)))
      const signature = yield* sign(app.secret, new TextEncoder().encode(escaped))
      assert.strictEqual(yield* fake.postRaw(otherSpelling, signature), 401)
    })
)

testAtAcme(
  "a value that begins with {{ is no placeholder, in the shown and in the sent message",
  () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const { phone_messaging } = yield* Acme
      yield* fake.setTemplates("acme", [template("1")])
      const [channel] = yield* Channels.use(({ list }) => list).pipe(
        Effect.map((channels) => channels.filter(({ id }) => id === phone_messaging))
      )
      if (channel === undefined) return assert.fail("There is no channel.")
      yield* Sends.use(({ start }) =>
        start(StartConversation.make({
          channel_id: channel.id,
          phone: Phone.make("+4915112345678"),
          template: {
            id: "1",
            components: [{
              type: "body",
              parameters: [{ type: "text", text: "{{2}}" }, { type: "text", text: "4711" }]
            }]
          }
        }))
      )
      yield* Worker.use(({ runOnce }) => runOnce)
      const [shown] = yield* messages
      assert.strictEqual(shown?.text, "Hello {{2}}, your order 4711 is ready.")
      const [accepted] = yield* fake.accepted
      assert.include(JSON.stringify(accepted?.body), "{{2}}")
    })
)

testAtAcme("the echo of its message settles a page's send whose response was lost", () =>
  Effect.gen(function*() {
    const fake = yield* FakeGraph
    const { page_messaging } = yield* Acme
    yield* fake.script("24601", { responses: [{ response: "accept_and_hang_up" }], statuses: [], reply: null })
    yield* fake.enqueue(messengerEntry("page", {
      account: page_messaging,
      person: "24601",
      timestamp: noon.epochMilliseconds,
      event: { message: { mid: "m_1", text: "Hi" } }
    }))
    yield* fake.post()
    const id = yield* reply("Hello")
    assert.strictEqual((yield* Sends.use(({ get }) => get(id))).status, "unknown")
    assert.deepStrictEqual(yield* fake.post({ batch: 10 }), [200])
    assert.strictEqual((yield* Sends.use(({ get }) => get(id))).status, "sent")
    assert.deepInclude((yield* messages)[0], { text: "Hello", status: "delivered" })
  }))

for (const order of ["after", "before"] as const) {
  testAtAcme(
    `a page's message with several parts is deleted completely, if its deletion arrives ${order} it`,
    () =>
      Effect.gen(function*() {
        const fake = yield* FakeGraph
        const { page_messaging } = yield* Acme
        const story = (name: string) => ({ type: "story_mention", payload: { url: `https://cdn.example/${name}` } })
        const sent = { mid: "m_1", attachments: [story("one"), story("two"), story("three")] }
        const deleted = { mid: "m_1", is_deleted: true }
        for (const message of order === "after" ? [sent, deleted] : [deleted, sent]) {
          yield* fake.enqueue(messengerEntry("page", {
            account: page_messaging,
            person: "24601",
            timestamp: noon.epochMilliseconds,
            event: { message }
          }))
          assert.deepStrictEqual(yield* fake.post(), [200])
        }
        const stored = yield* messages
        assert.lengthOf(stored, 3)
        for (const { deleted_at, details, text } of stored) {
          assert.isNotNull(deleted_at)
          assert.deepStrictEqual([text, details], [null, null])
        }
      })
  )
}
