/** Events from a provider, in any order and any number of times. */
import { assert, it } from "@effect/vitest"
import { Contacts } from "@messaging-crm/core/Contacts"
import { CloseConversation, Conversations, ConversationStore } from "@messaging-crm/core/Conversations"
import type { ChannelId } from "@messaging-crm/core/Ids"
import { Inbound, type ProviderEvent, type ProviderMessageSent } from "@messaging-crm/core/Inbound"
import { Media } from "@messaging-crm/core/Media"
import { type Message, Messages, type MessageStatus, MessageStore } from "@messaging-crm/core/Messages"
import type { Position } from "@messaging-crm/core/Page"
import { SendMessage, Sends } from "@messaging-crm/core/Sends"
import { Arbitrary, DateTime, Duration, Effect, Option, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "../Fixtures.ts"
import { begin, crm, type Storage, work } from "./Scene.ts"

const permutations = <A>(values: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  values.length === 0 ?
    [[]] :
    values.flatMap((value, index) => permutations(values.toSpliced(index, 1)).map((rest) => [value, ...rest]))

const place = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })))

/** Returns the moment so many milliseconds after `moment`, and lets that time pass: a time in the future would count as now. */
const recently = Effect.gen(function*() {
  const start = yield* DateTime.now
  yield* TestClock.adjust("1 seconds")
  return (milliseconds: number) => DateTime.add(start, { milliseconds })
})

const all_conversations = { status: null, assigned_user_id: null, cursor: null, page_size: 100 }

const everyone = {
  query: null,
  tag_id: null,
  owner_user_id: null,
  lifecycle_stage: null,
  channel: null,
  cursor: null,
  page_size: 100
}

export const suite = (storage: Storage) => {
  it.layer(crm(storage), { timeout: "60 seconds" })("what a provider reports", (it) => {
    const times = { sent: 1, delivered: 2, read: 3, failed: 4 } as const
    const all: ReadonlyArray<keyof typeof times> = ["sent", "delivered", "read", "failed"]

    it.effect("ends in the same message in all orders, with repeats, early or late", () =>
      Effect.gen(function*() {
        const { messageOf, reported, start } = yield* begin
        const after = yield* recently
        const ends = new Set<string>()
        for (const order of permutations(all)) {
          const reports = [...order, ...order.toReversed()].map((status) => ({
            status,
            at: after(times[status])
          }))
          for (const early of [0, order.length, reports.length]) {
            const { id } = yield* start()
            // An early status update without a reference cannot complete a send, so it is stored as pending.
            yield* Effect.forEach(reports.slice(0, early), (report) => reported(id, report, { reference: null }))
            yield* work
            yield* Effect.forEach(reports.slice(early), (report) => reported(id, report))
            const { delivered_at, failed_at, read_at, status } = yield* messageOf(id)
            ends.add(JSON.stringify({ delivered_at, failed_at, read_at, status }))
          }
        }
        const status: MessageStatus = "read"
        const [delivered_at, read_at, failed_at] = [2, 3, 4].map(after)
        assert.deepStrictEqual([...ends], [JSON.stringify({ delivered_at, failed_at, read_at, status })])
      }))

    it.effect("shows a message as delivered that was read, and its own time of delivery once that is known", () =>
      Effect.gen(function*() {
        const { messageOf, reported, start } = yield* begin
        const after = yield* recently
        const { id } = yield* start()
        yield* work
        yield* reported(id, { status: "read", at: after(3) })
        const read = yield* messageOf(id)
        assert.deepStrictEqual([read.status, read.delivered_at, read.read_at], ["read", after(3), after(3)])
        yield* reported(id, { status: "delivered", at: after(5) })
        const both = yield* messageOf(id)
        assert.deepStrictEqual([both.status, both.delivered_at, both.read_at], ["read", after(5), after(3)])
      }))

    it.effect("that is of a time to come counts as of now", () =>
      Effect.gen(function*() {
        const { as, channel, messageOf, reported, start } = yield* begin
        const now = yield* DateTime.now
        const at = DateTime.add(now, { days: 9 })
        const [early, late] = [yield* start(), yield* start()]
        yield* reported(early.id, { status: "delivered", at }, { reference: null })
        yield* work
        yield* reported(late.id, { status: "read", at })
        const from = { external_id: `${channel.id}`, display_name: null, username: null }
        const of = { channel_id: channel.id, provider_message_id: "m1" }
        const inbound = yield* Inbound
        yield* inbound.receive({ event: "message_edited", text: "Hello", at, ...of })
        yield* inbound.receive({
          event: "message_received",
          from,
          type: "text",
          text: "Hi",
          media: null,
          sent_at: at,
          ...of
        })
        const page = yield* Conversations.use((conversations) =>
          conversations.list({ status: null, assigned_user_id: null, cursor: null, page_size: 9 })
        ).pipe(as)
        const mine = page.data.find(({ contact }) => contact.external_id === from.external_id)
        const conversation_id = Option.getOrThrow(Option.fromUndefinedOr(mine)).id
        const { data: [edited] } = yield* Messages.use((messages) => messages.list(conversation_id, null)).pipe(as)
        assert.deepStrictEqual([edited?.sent_at, edited?.edited_at, edited?.text], [now, now, "Hello"])
        assert.deepStrictEqual((yield* messageOf(early.id)).delivered_at, now)
        assert.deepStrictEqual((yield* messageOf(late.id)).read_at, now)
      }))

    it.effect("waits for its message for 30 days, and is forgotten then", () =>
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

    it.effect("gives each message once, however often it is repeated, and reopens the reply window", () =>
      Effect.gen(function*() {
        const { as, organization_id, start, written } = yield* begin
        const { conversation_id } = yield* start()
        yield* work
        for (const id of ["m1", "m2", "m1", "m2", "m1"]) yield* written(id, `text ${id}`)
        const { data } = yield* Messages.use((messages) => messages.list(conversation_id, null)).pipe(as)
        assert.deepStrictEqual(
          data.filter(({ direction }) => direction === "inbound").map(({ text }) => text).toSorted(),
          [
            "text m1",
            "text m2"
          ]
        )
        const row = Option.getOrThrow(
          yield* ConversationStore.use((store) => store.find(organization_id, conversation_id))
        )
        assert.deepStrictEqual(row.last_inbound_at, yield* DateTime.now)
        const reply = Sends.use((sends) => sends.send(conversation_id, SendMessage.make({ type: "text", text: "Hi" })))
          .pipe(as)
        assert.strictEqual((yield* reply).status, "queued")
        yield* TestClock.adjust("24 hours")
        assert.strictEqual((yield* Effect.flip(reply))._tag, "ReplyWindowClosed")
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

    it.effect("ends in the same message in all orders of edits and deletions, early or late", () =>
      Effect.gen(function*() {
        const { as, channel, number, received } = yield* begin
        const take = (event: ProviderEvent) => Inbound.use((inbound) => inbound.receive(event))
        const after = yield* recently
        const ends = new Set<string>()
        const edits = [
          { event: "message_edited", text: "second", at: after(2) },
          { event: "message_edited", text: "third", at: after(3) },
          { event: "message_deleted", at: after(4) }
        ] as const
        for (const kept of [edits.slice(0, 2), edits]) {
          ends.clear()
          for (const [index, order] of permutations(kept).entries()) {
            const provider_message_id = `${kept.length}.${index}`
            const of = { channel_id: channel.id, provider_message_id }
            const repeated = [...order, ...order.slice(0, 1)]
            yield* Effect.forEach(repeated.slice(0, index % 4), (edit) => take({ ...edit, ...of }))
            yield* received(provider_message_id, { type: "text", text: "first", media: null })
            yield* Effect.forEach(repeated.slice(index % 4), (edit) => take({ ...edit, ...of }))
            const page = yield* Contacts.use((contacts) => contacts.list({ ...everyone, query: number })).pipe(as)
            const conversation_id = Option.getOrThrow(Option.fromNullishOr(page.data[0]?.last_conversation_id))
            const { data } = yield* Messages.use((messages) => messages.list(conversation_id, null)).pipe(as)
            const message = data.find((each) => each.provider_message_id === provider_message_id)
            const { deleted_at, edited_at, text } = Option.getOrThrow(Option.fromUndefinedOr(message))
            ends.add(JSON.stringify({ deleted_at, edited_at, text }))
          }
          const deleted_at = kept.length === 3 ? after(4) : null
          const text = kept.length === 3 ? null : "third"
          assert.deepStrictEqual([...ends], [JSON.stringify({ deleted_at, edited_at: after(3), text })])
        }
      }))

    it.effect("shows the last message as it is now: edited, and then taken back", () =>
      Effect.gen(function*() {
        const { as, channel, start, written } = yield* begin
        const { conversation_id } = yield* start()
        const previews = Effect.gen(function*() {
          const conversation = yield* Conversations.use((conversations) => conversations.get(conversation_id))
          const contact = yield* Contacts.use((contacts) => contacts.get(conversation.contact.id))
          return [conversation.last_activity_preview, contact.last_activity_preview]
        }).pipe(as)
        const take = (event: ProviderEvent) => Inbound.use((inbound) => inbound.receive(event))
        const at = yield* DateTime.now
        yield* written("m1", "My number is 4711")
        const of = { channel_id: channel.id, provider_message_id: "m1", at }
        yield* take({ event: "message_edited", text: "My number is secret", ...of })
        assert.deepStrictEqual(yield* previews, ["My number is secret", "My number is secret"])
        yield* take({ event: "message_deleted", ...of })
        assert.deepStrictEqual(yield* previews, ["[deleted]", "[deleted]"])
        yield* TestClock.adjust("1 seconds")
        yield* written("m2", "Hello again")
        yield* take({ event: "message_deleted", ...of })
        assert.deepStrictEqual(yield* previews, ["Hello again", "Hello again"])
      }))

    it.effect("finds a person by each of their IDs on a network", () =>
      Effect.gen(function*() {
        const { as, channel, get, number, provider, start } = yield* begin
        const [own, canonical] = [`US.${yield* Fixtures.uuid}`, `${number}9`]
        const says = (provider_message_id: string, external_id: string, aliases: ReadonlyArray<string>) =>
          Effect.flatMap(DateTime.now, (sent_at) =>
            Inbound.use((inbound) =>
              inbound.receive({
                event: "message_received",
                channel_id: channel.id,
                provider_message_id,
                from: { external_id, aliases, display_name: "Kim", username: null },
                type: "text",
                text: "Hi",
                media: null,
                sent_at
              })
            ))
        yield* provider.answer(({ reference }) =>
          Effect.succeed({ provider_message_id: `p.${reference}`, recipient_aliases: [canonical] })
        )
        const send = yield* start()
        yield* work
        const { conversation_id } = yield* get(send.id)
        // The answer contains another number. Messages come from that number, and later from an ID that is not a number.
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
        const of = { event: "message_received", channel_id: channel.id, type: "text", text: "Hi", media: null } as const
        const sent_at = yield* DateTime.now
        const inbound = yield* Inbound
        yield* inbound.receive({ ...of, provider_message_id: "m1", from, sent_at })
        yield* inbound.receive({
          ...of,
          provider_message_id: "m2",
          from: { ...from, external_id: number, aliases: [own] },
          sent_at
        })
        const { conversation_id } = yield* start()
        yield* work
        const { data } = yield* Messages.use((messages) => messages.list(conversation_id, null)).pipe(as)
        assert.lengthOf(data, 3)
      }))

    it.effect("takes no ID of digits alone for a number, because a network may count its users", () =>
      Effect.gen(function*() {
        const { as, channel } = yield* begin
        const from = { external_id: "4915112345678", aliases: ["15551234567"], display_name: null, username: null }
        const of = { event: "message_received", channel_id: channel.id, type: "text", text: "Hi", media: null } as const
        const sent_at = yield* DateTime.now
        yield* Inbound.use((inbound) => inbound.receive({ ...of, provider_message_id: "m1", from, sent_at }))
        const { data } = yield* Contacts.use((contacts) => contacts.list(everyone)).pipe(as)
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
          Effect.map(Contacts.use(({ list }) => list({ ...everyone, query })), ({ data }) => data.length).pipe(as)
        yield* written("m1", "Hello")
        assert.strictEqual(yield* found("kIM"), 1)
        yield* names("Soyan Ödegaard", "soyan.o")
        assert.deepStrictEqual([yield* found("ödeg"), yield* found("SOYAN.O"), yield* found("kim")], [1, 1, 0])
        yield* written("m2", "Hello again")
        assert.deepStrictEqual([yield* found("kim"), yield* found("soyan.o"), yield* found("ödeg")], [1, 1, 0])
      }))

    it.effect("moves only the person whose number changes to the new number", () =>
      Effect.gen(function*() {
        const { as, channel, number, start, written } = yield* begin
        const moved = `${number}7`
        const change = Inbound.use((inbound) =>
          inbound.receive({
            event: "identity_changed",
            channel_id: channel.id,
            former_external_id: number,
            now: { external_id: moved, display_name: null, username: null }
          })
        )
        yield* change
        yield* written("m1", "Hello")
        const { conversation_id } = yield* start()
        yield* work
        yield* change
        yield* change
        const conversation = yield* Conversations.use((conversations) => conversations.get(conversation_id)).pipe(as)
        assert.strictEqual(conversation.contact.external_id, moved)
        assert.strictEqual(conversation.contact.display_name, "Kim")
        const contact = yield* Contacts.use((contacts) => contacts.get(conversation.contact.id)).pipe(as)
        assert.strictEqual(contact.primary_phone, moved)
        // Another person has the number now.
        yield* written("m2", "Who is this?")
        const page = yield* Contacts.use((contacts) => contacts.list({ ...everyone, query: number })).pipe(as)
        assert.lengthOf(page.data, 2)
      }))

    it.effect("keeps one person through changes of number and user id, and answers the new address", () =>
      Effect.gen(function*() {
        const { as, channel, number, start } = yield* begin
        const inbound = yield* Inbound
        const [second, third] = [`${number}7`, `${number}8`]
        const [b1, b2, b3] = yield* Effect.replicateEffect(Effect.map(Fixtures.uuid, (id) => `US.${id}`), 3)
        const { conversation_id } = yield* start()
        yield* work
        const address = Conversations.use(({ get }) => get(conversation_id)).pipe(as)
        const says = Effect.fnUntraced(function*(external_id: string, aliases: ReadonlyArray<string>) {
          const provider_message_id = yield* Fixtures.uuid
          const from = { external_id, aliases, display_name: null, username: null }
          const sent_at = yield* DateTime.now
          const of = {
            event: "message_received",
            channel_id: channel.id,
            type: "text",
            text: "Hi",
            media: null
          } as const
          yield* inbound.receive({ ...of, provider_message_id, from, sent_at })
        })
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
        const contact = yield* Contacts.use((contacts) => contacts.list({ ...everyone, query: number })).pipe(as)
        assert.deepStrictEqual(contact.data.map(({ primary_phone }) => primary_phone), [third])
        // The new number is unknown: the person is answered by the user id.
        yield* change([third], [b3 ?? ""])
        assert.strictEqual((yield* address).contact.external_id, b3)
        const { data } = yield* Messages.use(({ list }) => list(conversation_id, null)).pipe(as)
        assert.lengthOf(data, 4)
        // What the person no longer has belongs to others.
        for (const name of [number, second, third]) yield* says(name, [])
        assert.lengthOf((yield* Messages.use(({ list }) => list(conversation_id, null)).pipe(as)).data, 4)
      }))

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

    it.effect("stores what the business writes in the network's own app, once, in the same conversation", () =>
      Effect.gen(function*() {
        const scene = yield* begin
        const { as, channel, written } = scene
        yield* written("m1", "Hello")
        yield* Inbound.use((inbound) =>
          inbound.receive({
            event: "message_status_reported",
            channel_id: channel.id,
            provider_message_id: "b1",
            reference: null,
            status: "read",
            at: DateTime.makeUnsafe(1000)
          })
        )
        yield* writtenInApp(scene, "b1")
        yield* writtenInApp(scene, "b1")
        const { data: [conversation, ...others] } = yield* Conversations.use(({ list }) => list(all_conversations))
          .pipe(as)
        assert.deepStrictEqual(others, [])
        if (conversation === undefined) return assert.fail("There is no conversation.")
        const { data } = yield* Messages.use(({ list }) => list(conversation.id, null)).pipe(as)
        assert.deepStrictEqual(
          data.map(({ direction, sender, status, text }) => [direction, sender.type, status, text]),
          [
            ["outbound", "business_app", "read", "By hand"],
            ["inbound", "contact", "received", "Hello"]
          ]
        )
        // It opens no closed conversation, and no reply window.
        yield* Conversations.use(({ close }) => close(conversation.id, CloseConversation.make({}))).pipe(as)
        yield* TestClock.adjust("25 hours")
        yield* writtenInApp(scene, "b2")
        const after = yield* Conversations.use(({ get }) => get(conversation.id)).pipe(as)
        assert.deepInclude(after, { status: "closed", last_activity_preview: "By hand" })
        const text = Sends.use(({ send }) => send(conversation.id, SendMessage.make({ type: "text", text: "Hi" })))
        assert.strictEqual((yield* Effect.flip(text).pipe(as))._tag, "ReplyWindowClosed")
      }))

    it.effect("shows a send's message once, with its sender, when the network reports it before it answers", () =>
      Effect.gen(function*() {
        const scene = yield* begin
        const { get, messageOf, provider, start } = scene
        const inApp = Effect.provide(yield* Effect.context<Inbound>())
        yield* provider.answer(({ reference }) => {
          const provider_message_id = `p.${reference}`
          return inApp(Effect.as(Effect.orDie(writtenInApp(scene, provider_message_id)), { provider_message_id }))
        })
        const { id } = yield* start()
        yield* work
        assert.strictEqual((yield* get(id)).status, "sent")
        assert.strictEqual((yield* messageOf(id)).sender.type, "member")
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
        // Nobody has this address yet.
        yield* report("read", 0)
        for (let minute = 0; minute < 230; minute++) {
          yield* writtenInApp(scene, `b${minute}`)
          if (minute % 7 === 0) yield* written(`m${minute}`, "Yes?")
          yield* TestClock.adjust("1 minutes")
        }
        const store = yield* MessageStore
        const conversation = (yield* Conversations.use(({ list }) => list(all_conversations)).pipe(as)).data[0]
        if (conversation === undefined) return assert.fail("There is no conversation.")
        const counts = Effect.gen(function*() {
          const count = { sent: 0, delivered: 0, read: 0, failed: 0, received: 0 }
          let after: Position | null = null
          for (;;) {
            const page: ReadonlyArray<Message> = yield* store.list(scene.organization_id, conversation.id, {
              after,
              size: 100
            })
            for (const { status } of page) count[status] += 1
            const last = page.at(-1)
            if (last === undefined) return count
            after = { at: last.created_at, id: last.id }
          }
        })
        yield* report("delivered", 219)
        assert.deepInclude(yield* counts, { sent: 10, delivered: 220, read: 0 })
        yield* report("read", 199)
        yield* report("read", 199)
        yield* report("delivered", 229)
        assert.deepInclude(yield* counts, { sent: 0, delivered: 30, read: 200 })
      }))

    it.effect("makes one contact and one conversation of many first messages at once", () =>
      Effect.gen(function*() {
        const { as, start, written } = yield* begin
        yield* Effect.all(Array.from({ length: 12 }, (_, index) => written(`m${index}`, "Hello?")), {
          concurrency: "unbounded"
        })
        const { conversation_id } = yield* start()
        const { data } = yield* Messages.use((messages) => messages.list(conversation_id, null)).pipe(as)
        assert.lengthOf(data.filter(({ direction }) => direction === "inbound"), 12)
      }))
  })
}
