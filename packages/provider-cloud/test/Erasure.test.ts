/** Tests of an erasure's effect on stored callbacks that are not processed yet, if two organizations know one person. */
import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as WebhookTransport from "@messaging-crm/adapter-memory/WebhookTransport"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { CallbackInbox } from "@messaging-crm/core/CallbackInbox"
import { Channels, type ChannelType, ConnectChannel } from "@messaging-crm/core/Channels"
import { Contacts, CreateContact } from "@messaging-crm/core/Contacts"
import { Conversations } from "@messaging-crm/core/Conversations"
import * as Crm from "@messaging-crm/core/Crm"
import { ContactId } from "@messaging-crm/core/Ids"
import { Messages } from "@messaging-crm/core/Messages"
import { callbacks_ignored } from "@messaging-crm/core/Metrics"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { PersonalData } from "@messaging-crm/core/PersonalData"
import { CallbackProcessor } from "@messaging-crm/provider-cloud/CallbackProcessor"
import { DateTime, Deferred, Effect, Fiber, Layer, Metric, Schema } from "effect"
import { TestClock } from "effect/testing"
import {
  type CallbackEntry,
  messageEntry,
  messengerEntry,
  statusEntry,
  whatsAppEntry
} from "../src/fake/CallbackBodies.ts"
import { FakeGraph } from "../src/fake/FakeGraph.ts"
import { overInbox } from "./Network.ts"

const noon = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")
const seconds = noon.epochMilliseconds / 1000

const crm = Crm.layer.pipe(Layer.provide([Memory.layer, WebhookTransport.layer]))

const service = overInbox(crm, CallbackProcessor.layer)

/** An organization with a channel of a type, and what was written to it. */
const organization = Effect.fnUntraced(function*(name: string, type: ChannelType) {
  const { organization, owner } = yield* Organizations.use((organizations) =>
    organizations.create(CreateOrganization.make({ name, owner_name: "Ada", owner_email: `ada@${name}.example` }))
  )
  const as = Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: owner.id })
  const channel = yield* as(Channels.use((channels) =>
    channels.connect(ConnectChannel.make({
      type,
      name,
      address: type === "phone_messaging" ? `+49301234567${name.length}` : name,
      phone_messaging_business_account_id: type === "phone_messaging" ? name : null
    }))
  ))
  const all = { cursor: null, page_size: 100 }
  const conversations = Effect.map(as(Conversations.use(({ list }) => list(all))), ({ data }) => data)
  const texts = Effect.gen(function*() {
    const pages = yield* Effect.forEach(
      yield* conversations,
      ({ id }) => as(Messages.use((messages) => messages.list(id, null)))
    )
    return pages.flatMap(({ data }) => data.map(({ text }) => text)).toSorted()
  })
  const erase = Effect.gen(function*() {
    for (const { contact } of yield* conversations) {
      yield* as(PersonalData.use((data) => data.erase(ContactId.make(contact.id))))
    }
  })
  return { as, channel_id: channel.id, erase, texts }
})

const runOnce = Effect.gen(function*() {
  const { process } = yield* CallbackProcessor
  const inbox = yield* CallbackInbox
  return yield* inbox.runOnce(process)
})

const post = Effect.fnUntraced(function*(entries: ReadonlyArray<CallbackEntry>) {
  const fake = yield* FakeGraph
  yield* fake.enqueue(...entries)
  assert.deepStrictEqual(yield* fake.post({ batch: 100 }), [200])
})

let last = 0
const id = () => `id.${++last}`

/** How a person writes to a channel of each network. */
const networks = {
  phone_messaging: (channel_id: string, person: string, text: string) =>
    messageEntry(channel_id, { wa_id: person, name: "Kim" }, {
      id: id(),
      timestamp: String(seconds),
      type: "text",
      text: { body: text }
    }),
  page_messaging: (channel_id: string, person: string, text: string) =>
    messengerEntry("page", {
      account: channel_id,
      person,
      timestamp: noon.epochMilliseconds,
      event: { message: { mid: id(), text } }
    }),
  photo_social: (channel_id: string, person: string, text: string) =>
    messengerEntry("instagram", {
      account: channel_id,
      person,
      timestamp: noon.epochMilliseconds,
      event: { message: { mid: id(), text } }
    })
} satisfies Record<ChannelType, (channel_id: string, person: string, text: string) => CallbackEntry>

const [kim, lee] = ["4915112345678", "4915112345679"]

for (const [type, write] of Object.entries(networks) as ReadonlyArray<[ChannelType, typeof networks.photo_social]>) {
  it.effect(`an erasure touches no callback of another organization, and none of another person: ${type}`, () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(noon.epochMilliseconds)
      const acme = yield* organization("acme", type)
      const globex = yield* organization("globex", type)
      yield* post([write(acme.channel_id, kim, "first"), write(globex.channel_id, kim, "theirs, first")])
      yield* runOnce
      yield* post([
        write(acme.channel_id, kim, "erased"),
        write(globex.channel_id, kim, "theirs"),
        write(acme.channel_id, lee, kim),
        write(globex.channel_id, lee, "theirs, another")
      ])
      yield* acme.erase
      yield* runOnce
      assert.deepStrictEqual(yield* acme.texts, [kim, "[erased]"])
      assert.deepStrictEqual(yield* globex.texts, ["theirs", "theirs, another", "theirs, first"])
    }).pipe(Effect.provide(service)))
}

it.effect("an erasure goes by sender and recipient: of messages and statuses in one change, too", () =>
  Effect.gen(function*() {
    yield* TestClock.setTime(noon.epochMilliseconds)
    const acme = yield* organization("acme", "phone_messaging")
    yield* post([networks.phone_messaging(acme.channel_id, kim, "first")])
    yield* runOnce
    const message = (from: string, body: string) => ({
      from,
      id: id(),
      timestamp: String(seconds),
      type: "text",
      text: { body }
    })
    yield* post([
      whatsAppEntry(acme.channel_id, {
        contacts: [{ wa_id: kim, profile: { name: "Kim" } }, { wa_id: lee, profile: { name: "Lee" } }],
        messages: [message(kim, "erased"), message(lee, "stays"), message(lee, kim)],
        statuses: [{ id: "p.1", status: "read", timestamp: String(seconds), recipient_id: kim }]
      }),
      statusEntry(acme.channel_id, {
        id: "p.2",
        status: "read",
        timestamp: seconds,
        recipient_id: kim,
        reference: null
      })
    ])
    yield* acme.erase
    yield* runOnce
    assert.deepStrictEqual(yield* acme.texts, [kim, "[erased]", "stays"])
  }).pipe(Effect.provide(service)))

it.effect("an erasure goes by each spelling of the number of a contact who has not written yet", () =>
  Effect.gen(function*() {
    yield* TestClock.setTime(noon.epochMilliseconds)
    for (
      const [primary_phone, person] of [
        ["+5511987654321", "551187654321"],
        ["+551187654321", "5511987654321"],
        ["+541123456789", "5491123456789"],
        ["+525512345678", "5215512345678"]
      ] as const
    ) {
      const acme = yield* organization(`acme-${person}`, "phone_messaging")
      const input = Schema.decodeUnknownSync(CreateContact)({ primary_phone })
      const contact = yield* acme.as(Contacts.use((contacts) => contacts.create(input)))
      yield* post([
        networks.phone_messaging(acme.channel_id, person, "erased"),
        networks.phone_messaging(acme.channel_id, lee, "stays")
      ])
      yield* acme.as(PersonalData.use((data) => data.erase(contact.id)))
      yield* runOnce
      assert.deepStrictEqual(yield* acme.texts, ["stays"], person)
    }
  }).pipe(Effect.provide(service)))

it.effect("a callback that is claimed before an erasure stores nothing afterward, not even for a new contact", () =>
  Effect.gen(function*() {
    yield* TestClock.setTime(noon.epochMilliseconds)
    const acme = yield* organization("acme", "phone_messaging")
    yield* post([networks.phone_messaging(acme.channel_id, kim, "first")])
    yield* runOnce
    const [claimed, erased] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    yield* post([
      networks.phone_messaging(acme.channel_id, kim, "erased"),
      networks.phone_messaging(acme.channel_id, lee, "stays")
    ])
    const { process } = yield* CallbackProcessor
    const inbox = yield* CallbackInbox
    const processing = yield* Effect.forkChild(inbox.runOnce((callback) =>
      Deferred.succeed(claimed, undefined).pipe(
        Effect.andThen(Deferred.await(erased)),
        Effect.andThen(process(callback))
      )
    ))
    yield* Deferred.await(claimed)
    yield* acme.erase
    yield* Deferred.succeed(erased, undefined)
    yield* Fiber.join(processing)
    assert.deepStrictEqual(yield* acme.texts, ["[erased]", "stays"])
    yield* post([networks.phone_messaging(acme.channel_id, kim, "later")])
    yield* runOnce
    assert.deepStrictEqual(yield* acme.texts, ["[erased]", "later", "stays"])
  }).pipe(Effect.provide(service)))

it.effect("a callback that the network repeats after an erasure stores nothing, and other people's events in it are stored", () =>
  Effect.gen(function*() {
    yield* TestClock.setTime(noon.epochMilliseconds)
    const ignored = Effect.map(
      Metric.value(callbacks_ignored.of({ reason: "erased" })),
      ({ count }) => Number(count)
    )
    const acme = yield* organization("acme", "phone_messaging")
    const first = networks.phone_messaging(acme.channel_id, kim, "first")
    yield* post([first])
    yield* runOnce
    yield* acme.erase
    const before = yield* ignored
    yield* post([first, networks.phone_messaging(acme.channel_id, lee, "stays")])
    yield* runOnce
    assert.deepStrictEqual(yield* acme.texts, ["[erased]", "stays"])
    assert.strictEqual((yield* ignored) - before, 1)
    yield* post([networks.phone_messaging(acme.channel_id, kim, "later")])
    yield* runOnce
    assert.deepStrictEqual(yield* acme.texts, ["[erased]", "later", "stays"])
  }).pipe(Effect.provide(service)))

it.effect("a body of 80 KB that is nested all the way down overflows no stack", () =>
  Effect.gen(function*() {
    yield* TestClock.setTime(noon.epochMilliseconds)
    const fake = yield* FakeGraph
    const acme = yield* organization("acme", "phone_messaging")
    yield* post([networks.phone_messaging(acme.channel_id, kim, "first")])
    yield* runOnce
    const depth = 40_000
    const nested = "[".repeat(depth) + "]".repeat(depth)
    const value = (inner: string) =>
      `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{` +
      `"metadata":{"phone_number_id":"${acme.channel_id}"},"messages":[${inner}]}}]}]}`
    const alone = value(`{"from":"${kim}","id":"n.1","type":"text","text":{"body":"erased"},"more":${nested}}`)
    const among = value(
      `{"from":"${kim}","id":"n.2","more":${nested}},{"from":"${lee}","id":"n.3","type":"text","text":{"body":"stays"}}`
    )
    for (const body of [alone, among]) {
      assert.strictEqual(yield* fake.postRaw(new TextEncoder().encode(body)), 200)
    }
    yield* acme.erase
    yield* runOnce
    assert.deepStrictEqual(yield* acme.texts, ["[erased]", "stays"])
  }).pipe(Effect.provide(service)))
