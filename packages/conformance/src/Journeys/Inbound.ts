/** Events from a provider, in any order and any number of times. */
import { assert, it } from "@effect/vitest"
import { Contacts } from "@messaging-crm/core/Contacts"
import { Conversations } from "@messaging-crm/core/Conversations"
import type { ChannelId } from "@messaging-crm/core/Ids"
import {
  Inbound,
  type ProviderEvent,
  type ProviderMessageReceived,
  type ProviderMessageSent
} from "@messaging-crm/core/Inbound"
import { Media } from "@messaging-crm/core/Media"
import { Messages, MessageStore } from "@messaging-crm/core/Messages"
import { ProviderOutcomeUnknown } from "@messaging-crm/core/MessagingProvider"
import type { Position } from "@messaging-crm/core/Page"
import { Arbitrary, DateTime, Duration, Effect, Option, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "../Fixtures.ts"
import { begin, crm, type It, type Storage, work } from "./Scene.ts"

const place = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })))

/** Lets a second pass, and returns a function from milliseconds to a moment in it: a time in the future would be read as now. */
const recently = Effect.gen(function*() {
  const start = yield* DateTime.now
  yield* TestClock.adjust("1 seconds")
  return (milliseconds: number) => DateTime.add(start, { milliseconds })
})

const firstPage = { cursor: null, page_size: 100 }

const messages = (it: It) => {
  it.effect("waits for its message for 30 days, and is then removed", () =>
    Effect.gen(function*() {
      const { messageOf, reported, start } = yield* begin
      const early = Effect.fnUntraced(function*(days: number) {
        const { id } = yield* start()
        yield* reported(id, { status: "read", at: yield* DateTime.now }, { reference: null })
        yield* TestClock.adjust(Duration.days(days))
        yield* Effect.repeat(Messages.use(({ purge }) => purge), { until: (removed) => removed === 0 })
        yield* work
        return (yield* messageOf(id)).status
      })
      assert.strictEqual(yield* early(30), "read")
      assert.strictEqual(yield* early(31), "sent")
    }))

  it.effect.prop(
    "gives each message once when a batch is delivered five times, in any order and at once",
    { places: Arbitrary.array(place, { minLength: 50, maxLength: 50 }) },
    ({ places }) =>
      Effect.gen(function*() {
        const { as, channel, number, received, start } = yield* begin
        const after = yield* recently
        const { conversation_id } = yield* start()
        const take = (event: ProviderEvent) => Inbound.use((inbound) => inbound.receive(event))
        const batch = Array.from({ length: 6 }, (_, index) => `m${index}`).flatMap((provider_message_id, index) => {
          const of = { channel_id: channel.id, provider_message_id, at: after(index) }
          const said = received(provider_message_id, { type: "text", text: provider_message_id, media: null })
          if (index % 3 === 1) return [said, take({ event: "message_edited", text: `edited ${number}`, ...of })]
          return index % 3 === 2 ? [said, take({ event: "message_deleted", ...of })] : [said]
        })
        const five = Array.from({ length: 5 }, () => batch).flat()
        const shuffled = places.flatMap((at, index) => ({ at, event: five[index] })).toSorted((a, b) => a.at - b.at)
        yield* Effect.forEach(shuffled, ({ event }) => event ?? Effect.void, { concurrency: 4, discard: true })
        const { data } = yield* Messages.use((messages) => messages.list(conversation_id, null)).pipe(as)
        const found = data.map(({ deleted_at, provider_message_id, text }) =>
          `${provider_message_id} ${deleted_at === null ? text : "is gone"}`
        )
        const edited = `edited ${number}`
        assert.deepStrictEqual(found.toSorted(), [
          "m0 m0",
          `m1 ${edited}`,
          "m2 is gone",
          "m3 m3",
          `m4 ${edited}`,
          "m5 is gone"
        ])
      }),
    { arbitrary: { runs: 20 } }
  )

  it.effect("brings the file of a message along, and takes it back with the message", () =>
    Effect.gen(function*() {
      const { as, channel, received, start } = yield* begin
      const deleted = (provider_message_id: string) =>
        Inbound.use((inbound) =>
          Effect.flatMap(DateTime.now, (at) =>
            inbound.receive({ event: "message_deleted", channel_id: channel.id, provider_message_id, at }))
        )
      const media = { kind: "image", mime_type: "image/png", filename: "a.png", transcript: null } as const
      const event = { type: "image", text: null, media: { ...media, bytes: Uint8Array.of(1, 2, 3) } } as const
      yield* received("m1", event)
      yield* received("m1", event)
      const { conversation_id } = yield* start()
      const listed = Effect.map(
        Messages.use((messages) =>
          messages.list(conversation_id, null)
        ).pipe(as),
        ({ data }) => data
      )
      const data = yield* listed
      const { url, ...described } = Option.getOrThrow(Option.fromNullishOr(data[0]?.media))
      assert.lengthOf(data, 1)
      assert.deepStrictEqual(described, { ...media, byte_size: 3 })
      const opened = Media.use(({ open }) => open((url ?? "").slice("/media/".length)))
      const { read } = yield* opened
      assert.deepStrictEqual(yield* Stream.runCollect(read(0, 3)), [Uint8Array.of(1, 2, 3)])
      yield* deleted("m1")
      assert.strictEqual((yield* Effect.flip(opened))._tag, "MediaNotFound")
      // A deletion that comes before its message.
      yield* deleted("m2")
      yield* received("m2", event)
      assert.deepStrictEqual((yield* listed).map(({ media }) => media), [null, null])
    }))
}

/** A person writes to a channel. */
const receivedFrom = Effect.fnUntraced(function*(
  { id: channel_id }: { readonly id: ChannelId },
  provider_message_id: string,
  from: ProviderMessageReceived["from"]
) {
  const sent_at = yield* DateTime.now
  yield* Inbound.use((inbound) =>
    inbound.receive(Fixtures.messageReceived({ channel_id, provider_message_id, from, sent_at }))
  )
})

const people = (it: It) => {
  it.effect("finds a person by each of their IDs on a network", () =>
    Effect.gen(function*() {
      const { as, channel, get, number, provider, start } = yield* begin
      const [own, canonical] = [`US.${yield* Fixtures.uuid}`, `${number}9`]
      const says = (provider_message_id: string, external_id: string, aliases: ReadonlyArray<string>) =>
        receivedFrom(channel, provider_message_id, { external_id, aliases, display_name: "Kim", username: null })
      yield* provider.respond(({ reference }) =>
        Effect.succeed({ provider_message_id: `p.${reference}`, recipient_aliases: [canonical] })
      )
      const send = yield* start()
      yield* work
      const { conversation_id } = yield* get(send.id)
      // The response contains another number. Messages come from that number, and later from an ID that is not a number.
      yield* says("m1", canonical, [own])
      yield* says("m2", own, [])
      const { data } = yield* Messages.use((messages) => messages.list(conversation_id, null)).pipe(as)
      assert.lengthOf(data, 3)
      const { contact } = yield* Conversations.use((conversations) => conversations.get(conversation_id)).pipe(as)
      assert.strictEqual(contact.display_name, "Kim")
      assert.strictEqual(contact.external_id, number)
    }))

  it.effect("finds a person without a number, and adds the number when it is known", () =>
    Effect.gen(function*() {
      const { as, channel, number, start } = yield* begin
      const own = `US.${yield* Fixtures.uuid}`
      const from = { external_id: own, display_name: null, username: "kim" }
      yield* receivedFrom(channel, "m1", from)
      const found = Effect.map(Contacts.use(({ list }) => list({ ...firstPage, query: number })), ({ data }) =>
        data.map(({ identities, primary_phone }) => [primary_phone, identities[0]?.external_id])).pipe(as)
      assert.deepStrictEqual(yield* found, [])
      yield* receivedFrom(channel, "m2", { ...from, external_id: number, aliases: [own] })
      assert.deepStrictEqual(yield* found, [[number, number]])
      yield* receivedFrom(channel, "m3", from)
      assert.deepStrictEqual(yield* found, [[number, number]])
      const { conversation_id } = yield* start()
      yield* work
      const { data } = yield* Messages.use((messages) =>
        messages.list(conversation_id, null)
      ).pipe(as)
      assert.lengthOf(data, 4)
    }))

  it.effect("has no text if the network reports an empty one", () =>
    Effect.gen(function*() {
      const { as, channel, number, written } = yield* begin
      yield* written("m1", "")
      const [conversation] = (yield* Conversations.use((all) => all.list(firstPage)).pipe(as)).data
      if (conversation === undefined) return assert.fail("There is no conversation.")
      const text = Effect.map(
        Messages.use((all) => all.list(conversation.id, null)).pipe(as),
        ({ data: [message] }) => message?.text
      )
      assert.deepStrictEqual([conversation.last_activity_preview, yield* text], ["[text]", null])
      const edited = { event: "message_edited", channel_id: channel.id, provider_message_id: "m1" } as const
      for (const given of ["Hello", ""]) {
        yield* TestClock.adjust("1 second")
        yield* Inbound.use((all) => Effect.flatMap(DateTime.now, (at) => all.receive({ ...edited, text: given, at })))
        assert.strictEqual(yield* text, given === "" ? null : given, number)
      }
    }))

  it.effect("stores an ID of digits alone as an ID and not as a phone number: a network may number its users", () =>
    Effect.gen(function*() {
      const { as, channel } = yield* begin
      const from = { external_id: "4915112345678", aliases: ["15551234567"], display_name: null, username: null }
      yield* receivedFrom(channel, "m1", from)
      const { data } = yield* Contacts.use((contacts) => contacts.list(firstPage)).pipe(as)
      const [contact] = data
      assert.deepStrictEqual([contact?.primary_phone, contact?.identities[0]?.external_id], [null, from.external_id])
    }))

  it.effect("is found by the names that a person has on the network, each time they change", () =>
    Effect.gen(function*() {
      const { as, channel, number, written } = yield* begin
      const names = (display_name: string, username: string) =>
        Inbound.use((inbound) =>
          inbound.receive({
            event: "identity_changed",
            channel_id: channel.id,
            former_external_id: number,
            now: { external_id: number, display_name, username }
          })
        )
      const found = (query: string) =>
        Effect.map(Contacts.use(({ list }) => list({ ...firstPage, query })), ({ data }) => data.length).pipe(as)
      yield* written("m1", "Hello")
      assert.strictEqual(yield* found("kIM"), 1)
      yield* names("Soyan Ödegaard", "soyan.o")
      assert.deepStrictEqual([yield* found("ödeg"), yield* found("SOYAN.O"), yield* found("kim")], [1, 1, 0])
      yield* written("m2", "Hello again")
      assert.deepStrictEqual([yield* found("kim"), yield* found("soyan.o"), yield* found("ödeg")], [1, 1, 0])
    }))
}

const changes = (it: It) => {
  it.effect("keeps one person through changes of number and user ID, and sends to the new address", () =>
    Effect.gen(function*() {
      const { as, channel, number, start } = yield* begin
      const inbound = yield* Inbound
      const [second, third] = [`${number}7`, `${number}8`]
      const [b1, b2, b3] = yield* Effect.replicateEffect(Effect.map(Fixtures.uuid, (id) => `US.${id}`), 3)
      const { conversation_id } = yield* start()
      yield* work
      const address = Conversations.use(({ get }) => get(conversation_id)).pipe(as)
      const says = (external_id: string, aliases: ReadonlyArray<string>) =>
        Effect.flatMap(
          Fixtures.uuid,
          (id) => receivedFrom(channel, id, { external_id, aliases, display_name: null, username: null })
        )
      const change = (former: ReadonlyArray<string>, [external_id = "", ...aliases]: ReadonlyArray<string>) =>
        inbound.receive({
          event: "identity_changed",
          channel_id: channel.id,
          former_external_id: former[0] ?? "",
          former_aliases: former.slice(1),
          now: { external_id, aliases, display_name: null, username: null }
        })
      yield* says(number, [b1 ?? ""])
      // The user id alone changes: the number stays the address.
      yield* change([b1 ?? ""], [b2 ?? ""])
      assert.strictEqual((yield* address).contact.external_id, number)
      // Only the former user id is named, and the number is another one now.
      yield* change([b2 ?? ""], [second, b3 ?? ""])
      assert.strictEqual((yield* address).contact.external_id, second)
      // The number changes, and one of several former names is known.
      yield* change(["+4900000000", second], [third])
      assert.strictEqual((yield* address).contact.external_id, third)
      yield* says(third, [b3 ?? ""])
      yield* says(b3 ?? "", [])
      const contact = yield* Contacts.use((contacts) => contacts.list({ ...firstPage, query: number })).pipe(as)
      assert.deepStrictEqual(contact.data.map(({ primary_phone }) => primary_phone), [third])
      // The new number is unknown, so messages to the person use the user ID.
      yield* change([third], [b3 ?? ""])
      assert.strictEqual((yield* address).contact.external_id, b3)
      const { data } = yield* Messages.use(({ list }) => list(conversation_id, null)).pipe(as)
      assert.lengthOf(data, 4)
      // A network ID that the person no longer has can belong to another person.
      for (const name of [number, second, third]) yield* says(name, [])
      assert.lengthOf((yield* Messages.use(({ list }) => list(conversation_id, null)).pipe(as)).data, 4)
    }))
}

/** The business writes to the person of a journey in the network's own app. */
const writtenInApp = Effect.fnUntraced(function*(
  { channel, number }: { readonly channel: { readonly id: ChannelId }; readonly number: string },
  provider_message_id: string,
  fields: Partial<ProviderMessageSent> = {}
) {
  const sent_at = yield* DateTime.now
  yield* Inbound.use((inbound) =>
    inbound.receive({
      event: "message_sent",
      channel_id: channel.id,
      provider_message_id,
      to: { external_id: number, display_name: null, username: null },
      type: "text",
      text: "By hand",
      media: null,
      sent_at,
      ...fields
    })
  )
})

const businessMessages = (it: It) => {
  it.effect("shows a send's message once, with its sender, when the network reports it before it responds", () =>
    Effect.gen(function*() {
      const scene = yield* begin
      const { get, messageOf, provider, start } = scene
      const inApp = Effect.provide(yield* Effect.context<Inbound>())
      yield* provider.respond(({ reference }) => {
        const provider_message_id = `p.${reference}`
        return inApp(Effect.as(Effect.orDie(writtenInApp(scene, provider_message_id)), { provider_message_id }))
      })
      const { id } = yield* start()
      yield* work
      assert.strictEqual((yield* get(id)).status, "sent")
      assert.strictEqual((yield* messageOf(id)).sender.type, "member")
    }))

  it.effect("proves by a status with its reference that a send whose response was lost is the message in its app", () =>
    Effect.gen(function*() {
      const scene = yield* begin
      const { get, messageOf, provider, reported, start } = scene
      yield* provider.respond(() => Effect.fail(new ProviderOutcomeUnknown()))
      const { id } = yield* start()
      yield* work
      yield* writtenInApp(scene, `p.${id}`)
      assert.strictEqual((yield* get(id)).status, "unknown")
      const at = yield* DateTime.now
      for (const status of ["delivered", "read", "read"] as const) yield* reported(id, { status, at })
      assert.strictEqual((yield* get(id)).status, "sent")
      const message = yield* messageOf(id)
      assert.deepStrictEqual([message.status, message.sender.type], ["read", "member"])
      yield* TestClock.adjust("20 minutes")
      yield* work
      assert.strictEqual((yield* get(id)).status, "sent")
    }))

  it.effect("moves every message that a report of a time covers, in a conversation of any length", () =>
    Effect.gen(function*() {
      const scene = yield* begin
      const { as, channel, number, written } = scene
      const start = yield* DateTime.now
      const report = (status: "delivered" | "read", minutes: number) =>
        Inbound.use((inbound) =>
          inbound.receive({
            event: "messages_reported",
            channel_id: channel.id,
            external_id: number,
            status,
            until: DateTime.add(start, { minutes }),
            at: DateTime.add(start, { minutes, seconds: 1 })
          })
        )
      // No contact has this address yet.
      yield* report("read", 0)
      for (let minute = 0; minute < 230; minute++) {
        yield* writtenInApp(scene, `b${minute}`)
        if (minute % 7 === 0) yield* written(`m${minute}`, "Yes?")
        yield* TestClock.adjust("1 minutes")
      }
      const store = yield* MessageStore
      const conversation = (yield* Conversations.use(({ list }) => list(firstPage)).pipe(as)).data[0]
      if (conversation === undefined) return assert.fail("There is no conversation.")
      const counts = Effect.gen(function*() {
        const count = { sent: 0, delivered: 0, read: 0, failed: 0, received: 0 }
        const all = yield* Fixtures.readAllPages(
          100,
          (after: Position | null) => store.list(scene.organization_id, conversation.id, { after, size: 100 }),
          ({ created_at, id }) => ({ at: created_at, id })
        )
        for (const { status } of all) count[status] += 1
        return count
      })
      yield* report("delivered", 219)
      assert.deepInclude(yield* counts, { sent: 10, delivered: 220, read: 0 })
      yield* report("read", 199)
      yield* report("read", 199)
      yield* report("delivered", 229)
      assert.deepInclude(yield* counts, { sent: 0, delivered: 30, read: 200 })
    }))
}

export const suite = (storage: Storage) => {
  it.layer(crm(storage), { timeout: "5 minutes" })("what a provider reports", (it) => {
    messages(it)
    people(it)
    changes(it)
    businessMessages(it)
  })
}
