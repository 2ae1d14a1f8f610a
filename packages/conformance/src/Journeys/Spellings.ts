/** Tests that a person is one contact with any storage, however a person or a network spells their number (contract §8.3). */
import { assert, it } from "@effect/vitest"
import { ContactImports } from "@messaging-crm/core/ContactImports"
import { type Contact, Contacts, CreateContact } from "@messaging-crm/core/Contacts"
import {
  ContactUpserts,
  UpsertContacts,
  type UpsertPreview,
  type UpsertResult
} from "@messaging-crm/core/ContactUpserts"
import { Conversations } from "@messaging-crm/core/Conversations"
import { Phone } from "@messaging-crm/core/Phones"
import { Sends, StartConversation } from "@messaging-crm/core/Sends"
import { DateTime, Effect, type Layer, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "../Fixtures.ts"
import * as Provider from "../Provider.ts"
import * as Scene from "./JourneyScene.ts"

/** Numbers with two spellings, each of which is a possible number; Mexico's former 1 is only a network's spelling. */
const pairs: ReadonlyArray<readonly [string, string]> = [
  ["+5511987654321", "+551187654321"],
  ["+5491123456789", "+541123456789"]
]
const of_networks = [...pairs, ["+525512345678", "+5215512345678"] as const]

const firstPage = { cursor: null, page_size: 100 }

/** How a person with a number becomes known, or is found. Each may be the first to see the number. */
const makeScene = Effect.gen(function*() {
  const { as, channel, receive } = yield* Scene.makeScene
  const message = Effect.gen(function*() {
    return { provider_message_id: `m.${yield* Fixtures.uuid}`, sent_at: yield* DateTime.now }
  })
  const person = (external_id: string) => ({ external_id, display_name: "Kim", username: null })
  const upsert = (input: object) =>
    Effect.asVoid(
      ContactUpserts.use((upserts) => upserts.upsert(Schema.decodeUnknownSync(UpsertContacts)(input))).pipe(as)
    )
  const importTable = (phone: string, read: "addRows" | "upsertRows") =>
    ContactImports.use(Effect.fnUntraced(function*(imports) {
      const table = yield* imports.open(["primary_phone", "city"], "primary_phone")
      return yield* read === "addRows"
        ? imports.addRows(table, [[phone, "Ulm"]])
        : imports.upsertRows(table, "primary_phone", [[phone, "Bonn"]])
    })).pipe(as, Effect.orDie, Effect.asVoid)
  const networks = {
    "a message": (from: string) =>
      Effect.flatMap(
        message,
        (fields) => receive(Fixtures.messageReceived({ channel_id: channel.id, ...fields, from: person(from) }))
      ),
    "a message of the business": (to: string) =>
      Effect.flatMap(message, (fields) =>
        receive({
          event: "message_sent",
          channel_id: channel.id,
          ...fields,
          to: person(to),
          type: "text",
          text: "Hello",
          media: null
        }))
  }
  const people = {
    "a start": (phone: string) =>
      Sends.use((sends) =>
        sends.start(StartConversation.make({
          channel_id: channel.id,
          phone: Phone.make(phone),
          template: Provider.greetingWith("Kim")
        }))
      ).pipe(as, Effect.orDie, Effect.asVoid),
    "an upsert": (primary_phone: string) =>
      upsert({ match: "primary_phone", contacts: [{ primary_phone, city: "Bonn" }] }),
    "an import that updates": (phone: string) => importTable(phone, "upsertRows")
  }
  const list = (filters: object) =>
    as(Effect.map(Contacts.use((contacts) => contacts.list({ ...firstPage, ...filters })), ({ data }) => data))
  const create = (fields: object) =>
    as(Contacts.use((contacts) => contacts.create(Schema.decodeUnknownSync(CreateContact)(fields))))
  const conversations = as(
    Effect.map(Conversations.use((service) => service.list(firstPage)), ({ data }) => data)
  )
  const importKeyed = (phone: string) => importTable(phone, "addRows")
  return { as, channel_id: channel.id, conversations, create, importKeyed, list, networks, people, receive, upsert }
})

type MadeScene = Effect.Success<typeof makeScene>
type Ways = Record<string, (number: string) => Effect.Effect<void, never, Layer.Success<ReturnType<typeof Scene.crm>>>>

const idsOf = (contacts: ReadonlyArray<Contact>) => contacts.map(({ id }) => id)

/** Expects that everyone is one contact, with at most one conversation, whom each spelling finds. */
const assertOnePerson = Effect.fnUntraced(
  function*({ conversations, list }: MadeScene, numbers: ReadonlyArray<string>, note: string) {
    const everyone = yield* list({})
    assert.lengthOf(everyone, 1, note)
    assert.isAtMost((yield* conversations).length, 1, note)
    for (const number of numbers) {
      for (
        const filter of [{ phone: number }, { query: number }, { query: number.slice(1) }, {
          query: number.replace(/(?=.{4}$)/, " ")
        }]
      ) {
        assert.deepStrictEqual(idsOf(yield* list(filter)), idsOf(everyone), `${note}, ${JSON.stringify(filter)}`)
      }
    }
  }
)

const onePerson = (it: Scene.It) => {
  it.effect("is one contact, whoever sees which spelling first", () =>
    Effect.gen(function*() {
      for (const [one, other] of pairs.flatMap(([a, b]) => [[a, b], [b, a]] as const)) {
        const names = Object.keys({ ...(yield* makeScene).people, ...(yield* makeScene).networks })
        for (const [first, second] of names.flatMap((a) => names.map((b) => [a, b] as const))) {
          const scene = yield* makeScene
          const ways: Ways = { ...scene.people, ...scene.networks }
          yield* ways[first]?.(one) ?? assert.fail(first)
          yield* ways[second]?.(other) ?? assert.fail(second)
          yield* assertOnePerson(scene, [one, other], `${first} of ${one}, then ${second} of ${other}`)
        }
      }
    }))

  it.effect("is the contact that was created with another spelling of the number", () =>
    Effect.gen(function*() {
      for (const [one, other] of of_networks) {
        const names = Object.keys((yield* makeScene).networks)
        for (const name of names) {
          const scene = yield* makeScene
          yield* scene.create({ primary_phone: one })
          const ways: Ways = scene.networks
          yield* ways[name]?.(other) ?? assert.fail(name)
          yield* assertOnePerson(scene, [one, other], `${name} of ${other}`)
        }
      }
    }))

  it.effect("is one contact after concurrent writes with both spellings", () =>
    Effect.gen(function*() {
      for (const numbers of pairs) {
        const scene = yield* makeScene
        const ways: Ways = { ...scene.people, ...scene.networks }
        yield* Effect.all(Object.values(ways).flatMap((way) => numbers.map((number) => way(number))), {
          concurrency: "unbounded",
          discard: true
        })
        yield* assertOnePerson(scene, numbers, numbers.join(" and "))
      }
    }))
}

const sharedNumbers = (it: Scene.It) => {
  it.effect("prefers the contact with the spelling that is given, and merges none", () =>
    Effect.gen(function*() {
      for (const numbers of pairs) {
        const { create, list, networks, people } = yield* makeScene
        const [first, second] = [
          yield* create({ primary_phone: numbers[0] }),
          yield* create({ primary_phone: numbers[1] })
        ]
        yield* people["an upsert"](numbers[0])
        yield* networks["a message"](numbers[1])
        const [written, upserted, ...more] = yield* list({ phone: numbers[0] })
        assert.deepStrictEqual([upserted?.id, upserted?.city, upserted?.identities.length], [first.id, "Bonn", 0])
        assert.deepStrictEqual([written?.id, written?.city, written?.identities.length], [second.id, null, 1])
        assert.deepStrictEqual(more, [])
        assert.deepStrictEqual(idsOf(yield* list({ phone: numbers[1] })), [second.id, first.id])
      }
    }))

  it.effect("pages through the contacts of both spellings in the order of the list", () =>
    Effect.gen(function*() {
      const { create, list } = yield* makeScene
      const numbers = ["+5511987654321", "+551187654321"]
      const created = yield* Effect.forEach([0, 1, 1, 0, 0, 1], (index) =>
        Effect.tap(create({ primary_phone: numbers[index] }), TestClock.adjust("1 second")))
      const expected = idsOf(created).toReversed()
      assert.deepStrictEqual(idsOf(yield* list({ phone: numbers[0] })), expected)
      assert.deepStrictEqual(idsOf(yield* list({ phone: numbers[1], page_size: 2 })), expected.slice(0, 2))
    }))
}

const previews = (it: Scene.It) => {
  it.effect("is one contact in the preview of an upsert too", () =>
    Effect.gen(function*() {
      for (const [one, other] of pairs) {
        const { as, list } = yield* makeScene
        const portions = [[one, other], [other], [one]].map((numbers, index) =>
          Schema.decodeUnknownSync(UpsertContacts)({
            match: "primary_phone",
            contacts: numbers.map((primary_phone) => ({ primary_phone, city: `City ${index}` }))
          })
        )
        const outcomes = Effect.map((results: ReadonlyArray<ReadonlyArray<UpsertResult>>) =>
          results.flat().map((result) => Result.getOrThrow(result).outcome)
        )
        const upserts = yield* ContactUpserts
        const preview: UpsertPreview = new Map()
        const previewed = yield* Effect.forEach(portions, (input) => upserts.preview(input, preview)).pipe(as, outcomes)
        assert.deepStrictEqual(previewed, ["created", "updated", "updated", "updated"])
        assert.lengthOf(yield* list({}), 0)
        assert.deepStrictEqual(yield* Effect.forEach(portions, upserts.upsert).pipe(as, outcomes), previewed)
        assert.lengthOf(yield* list({}), 1)
      }
    }))
}

const identities = (it: Scene.It) => {
  it.effect("is found as the external ID of an upsert", () =>
    Effect.gen(function*() {
      for (const [one, other] of of_networks) {
        const scene = yield* makeScene
        const contact = (external_id: string, city: string) =>
          scene.upsert({
            match: "external_id",
            channel_type: "phone_messaging",
            contacts: [{ external_id, first_name: "Kim", city }]
          })
        yield* contact(one.slice(1), "Ulm")
        yield* contact(other.slice(1), "Bonn")
        yield* scene.networks["a message"](other)
        assert.deepStrictEqual((yield* scene.list({})).map(({ city }) => city), ["Bonn"])
        for (const external_id of [one, other, one.slice(1), other.slice(1)]) {
          assert.lengthOf(yield* scene.list({ external_id, channel: "phone_messaging" }), 1, external_id)
        }
      }
    }))

  it.effect("keeps their number when the network names it in another spelling, and changes it to a new one", () =>
    Effect.gen(function*() {
      for (const [one, other] of pairs) {
        const scene = yield* makeScene
        yield* scene.networks["a message"](one)
        const change = (former_external_id: string, external_id: string) =>
          scene.receive({
            event: "identity_changed",
            channel_id: scene.channel_id,
            former_external_id,
            now: { external_id, display_name: null, username: null }
          })
        const numbers = Effect.map(
          scene.list({}),
          (all) => all.map(({ identities, primary_phone }) => [primary_phone, identities[0]?.external_id])
        )
        yield* change(other, one)
        yield* change(one, other)
        assert.deepStrictEqual(yield* numbers, [[one, one]])
        yield* change(other, "+4915112345678")
        assert.deepStrictEqual(yield* numbers, [["+4915112345678", "+4915112345678"]])
        yield* scene.networks["a message"](one)
        assert.lengthOf(yield* scene.list({}), 2)
      }
    }))
}

const imports = (it: Scene.It) => {
  it.effect("is imported once by the key of their number", () =>
    Effect.gen(function*() {
      for (const numbers of pairs) {
        const { importKeyed, list } = yield* makeScene
        yield* Effect.forEach(numbers, importKeyed)
        assert.lengthOf(yield* list({}), 1)
      }
    }))
}

export const journeyTests = (storage: Scene.Storage) => {
  it.layer(Scene.crm(storage), { timeout: "5 minutes" })("a person whose number has two spellings", (it) => {
    onePerson(it)
    sharedNumbers(it)
    identities(it)
    previews(it)
    imports(it)
  })
}
