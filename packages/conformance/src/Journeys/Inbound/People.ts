/** The people whom a provider reports, by their IDs and names on a network. */
import { assert } from "@effect/vitest"
import { Contacts } from "@messaging-crm/core/Contacts"
import { Conversations } from "@messaging-crm/core/Conversations"
import type { ChannelId } from "@messaging-crm/core/Ids"
import { Inbound, type ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import { DateTime, Effect } from "effect"
import * as Fixtures from "../../Fixtures.ts"
import { type It, makeScene, work } from "../JourneyScene.ts"

const firstPage = { cursor: null, page_size: 100 }

/** A person writes to a channel. */
const receiveFrom = Effect.fnUntraced(function*(
  { id: channel_id }: { readonly id: ChannelId },
  provider_message_id: string,
  from: ProviderMessageReceived["from"]
) {
  const sent_at = yield* DateTime.now
  yield* Inbound.use((inbound) =>
    inbound.receive(Fixtures.messageReceived({ channel_id, provider_message_id, from, sent_at }))
  )
})

const networkIds = (it: It) => {
  it.effect("finds a person by each of their IDs on a network", () =>
    Effect.gen(function*() {
      const { as, channel, get, messagesIn, number, provider, start } = yield* makeScene
      const [own, canonical] = [`US.${yield* Fixtures.uuid}`, `${number}9`]
      const says = (provider_message_id: string, external_id: string, aliases: ReadonlyArray<string>) =>
        receiveFrom(channel, provider_message_id, { external_id, aliases, display_name: "Kim", username: null })
      yield* provider.respond(({ reference }) =>
        Effect.succeed({ provider_message_id: `p.${reference}`, recipient_aliases: [canonical] })
      )
      const send = yield* start()
      yield* work
      const { conversation_id } = yield* get(send.id)
      // The response contains another number. Messages come from that number, and later from an ID that is not a number.
      yield* says("m1", canonical, [own])
      yield* says("m2", own, [])
      assert.lengthOf(yield* messagesIn(conversation_id), 3)
      const { contact } = yield* Conversations.use((conversations) => conversations.get(conversation_id)).pipe(as)
      assert.strictEqual(contact.display_name, "Kim")
      assert.strictEqual(contact.external_id, number)
    }))

  it.effect("finds a person without a number, and adds the number when it is known", () =>
    Effect.gen(function*() {
      const { as, channel, messagesIn, number, start } = yield* makeScene
      const user_id = `US.${yield* Fixtures.uuid}`
      const from = { external_id: user_id, display_name: null, username: "kim" }
      yield* receiveFrom(channel, "m1", from)
      const matches = Effect.map(Contacts.use(({ list }) => list({ ...firstPage, query: number })), ({ data }) =>
        data.map(({ identities, primary_phone }) => [primary_phone, identities[0]?.external_id])).pipe(as)
      assert.deepStrictEqual(yield* matches, [])
      yield* receiveFrom(channel, "m2", { ...from, external_id: number, aliases: [user_id] })
      assert.deepStrictEqual(yield* matches, [[number, number]])
      yield* receiveFrom(channel, "m3", from)
      assert.deepStrictEqual(yield* matches, [[number, number]])
      const { conversation_id } = yield* start()
      yield* work
      assert.lengthOf(yield* messagesIn(conversation_id), 4)
    }))

  it.effect("stores an ID of digits alone as an ID and not as a phone number: a network may number its users", () =>
    Effect.gen(function*() {
      const { as, channel } = yield* makeScene
      const from = { external_id: "4915112345678", aliases: ["15551234567"], display_name: null, username: null }
      yield* receiveFrom(channel, "m1", from)
      const { data } = yield* Contacts.use((contacts) => contacts.list(firstPage)).pipe(as)
      const [contact] = data
      assert.deepStrictEqual([contact?.primary_phone, contact?.identities[0]?.external_id], [null, from.external_id])
    }))
}

const names = (it: It) => {
  it.effect("lets a search find a person by their current names on the network", () =>
    Effect.gen(function*() {
      const { as, channel, number, receive, receiveText } = yield* makeScene
      const names = (display_name: string, username: string) =>
        receive({
          event: "identity_changed",
          channel_id: channel.id,
          former_external_id: number,
          now: { external_id: number, display_name, username }
        })
      const countMatches = (query: string) =>
        Effect.map(Contacts.use(({ list }) => list({ ...firstPage, query })), ({ data }) => data.length).pipe(as)
      yield* receiveText("m1", "Hello")
      assert.strictEqual(yield* countMatches("kIM"), 1)
      yield* names("Soyan Ödegaard", "soyan.o")
      assert.deepStrictEqual(
        [yield* countMatches("ödeg"), yield* countMatches("SOYAN.O"), yield* countMatches("kim")],
        [1, 1, 0]
      )
      yield* receiveText("m2", "Hello again")
      assert.deepStrictEqual(
        [yield* countMatches("kim"), yield* countMatches("soyan.o"), yield* countMatches("ödeg")],
        [1, 1, 0]
      )
    }))
}

type Ids = ReadonlyArray<string>

/** Returns a person without names. */
const unnamed = (external_id: string, aliases: Ids) => ({ external_id, aliases, display_name: null, username: null })

const changes = (it: It) => {
  it.effect("keeps one person through changes of number and user ID, and sends to the new address", () =>
    Effect.gen(function*() {
      const { as, channel, messagesIn, number, receive, start } = yield* makeScene
      const [second, third] = [`${number}7`, `${number}8`]
      const newUserId = Effect.map(Fixtures.uuid, (id) => `US.${id}`)
      const [b1, b2, b3] = [yield* newUserId, yield* newUserId, yield* newUserId]
      const { conversation_id } = yield* start()
      yield* work
      const address = Effect.map(
        Conversations.use((conversations) => conversations.get(conversation_id)),
        ({ contact }) => contact.external_id
      ).pipe(as)
      const says = (external_id: string, aliases: Ids) =>
        Effect.flatMap(Fixtures.uuid, (id) => receiveFrom(channel, id, unnamed(external_id, aliases)))
      const change = ([former = "", ...former_aliases]: Ids, [external_id = "", ...aliases]: Ids) =>
        receive({
          event: "identity_changed",
          channel_id: channel.id,
          former_external_id: former,
          former_aliases,
          now: unnamed(external_id, aliases)
        })
      yield* says(number, [b1])
      // Only the user ID changes: the number stays the address.
      yield* change([b1], [b2])
      assert.strictEqual(yield* address, number)
      // The report names only the former user ID, and the number is a new one.
      yield* change([b2], [second, b3])
      assert.strictEqual(yield* address, second)
      // The number changes, and one of several former network IDs is known.
      yield* change(["+4900000000", second], [third])
      assert.strictEqual(yield* address, third)
      yield* says(third, [b3])
      yield* says(b3, [])
      const contact = yield* Contacts.use((contacts) => contacts.list({ ...firstPage, query: number })).pipe(as)
      assert.deepStrictEqual(contact.data.map(({ primary_phone }) => primary_phone), [third])
      // The new number is unknown, so messages to the person use the user ID.
      yield* change([third], [b3])
      assert.strictEqual(yield* address, b3)
      assert.lengthOf(yield* messagesIn(conversation_id), 4)
      // A network ID that the person no longer has can belong to another person.
      for (const name of [number, second, third]) yield* says(name, [])
      assert.lengthOf(yield* messagesIn(conversation_id), 4)
    }))
}

export const people = (it: It) => {
  networkIds(it)
  names(it)
  changes(it)
}
