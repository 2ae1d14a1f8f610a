/** The parts of a body, each about one person at one account. `Mutated.test.ts`: together they give the events of the body. */
import { assert, it } from "@effect/vitest"
import * as Callback from "@messaging-crm/provider-cloud/Callback"
import { Array, Option } from "effect"
import { noon } from "../testing/ItemKinds.ts"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const eventsIn = (body: string) => Option.getOrThrow(Callback.parse(body, { received_at: noon })).events

const parts = (body: string) => Option.getOrThrow(Callback.split(encoder.encode(body)))

it("each part is about one person at one account, and keeps the order of the person's messages", () => {
  const message = (from: string, number: number) => ({
    from,
    id: `wamid.${from}.${number}`,
    type: "text",
    text: { body: `${number}` }
  })
  const change = (phone_number_id: string, ...from: ReadonlyArray<string>) => ({
    field: "messages",
    value: {
      metadata: { phone_number_id },
      contacts: from.map((wa_id) => ({ wa_id, profile: { name: `name of ${wa_id}` } })),
      messages: [1, 2, 3].flatMap((number) => from.map((each) => message(each, number))),
      statuses: from.map((recipient_id) => ({ id: `p.${recipient_id}`, status: "read", recipient_id }))
    }
  })
  const entry = [{ id: "1", changes: [change("7", "17", "18"), change("8", "17")] }, {
    id: "2",
    changes: [change("7", "19")]
  }]
  const found = parts(JSON.stringify({ object: "whatsapp_business_account", entry }))
  assert.deepStrictEqual(found.map(({ account, people }) => [account?.id, ...people]), [
    ["7", "17"],
    ["7", "18"],
    ["8", "17"],
    ["7", "19"]
  ])
  for (const { account, body, people } of found) {
    const text = decoder.decode(body)
    const [person = ""] = people
    for (const other of ["17", "18", "19"].filter((id) => id !== person)) assert.notInclude(text, `"${other}"`)
    const events = eventsIn(text)
    assert.lengthOf(events, 4)
    assert.isTrue(events.every((event) => event.account.id === account?.id))
    const texts = events.flatMap(({ event }) => event.event === "message_received" ? [event.text] : [])
    assert.deepStrictEqual(texts, ["1", "2", "3"])
  }
})

it("the people of a part are its senders and recipients, not the people whom a message mentions", () => {
  const people = (value: object) =>
    parts(JSON.stringify({
      object: "whatsapp_business_account",
      entry: [{ changes: [{ value: { metadata: { phone_number_id: "7" }, ...value } }] }]
    })).flatMap(({ people }) => people)
  const card = { type: "contacts", contacts: [{ phones: [{ wa_id: "99" }] }], context: { from: "98" } }
  assert.deepStrictEqual(people({ messages: [{ from: "+17", id: "1", ...card }] }), ["17"])
  assert.deepStrictEqual(
    people({ contacts: [{ wa_id: "17", user_id: "DE.1" }], messages: [{ from_user_id: "DE.1", id: "1" }] }),
    ["17", "DE.1"]
  )
  assert.deepStrictEqual(
    people({ messages: [{ from: "17", id: "1", type: "system", system: { wa_id: "18", customer: "17" } }] }),
    ["17", "18"]
  )
  assert.deepStrictEqual(people({ statuses: [{ id: "1", recipient_id: 17 }] }), ["17"])
  const ids = { previous: "DE.1", current: "DE.2" }
  const parents = { previous: "DE.ENT.1", current: "DE.ENT.2" }
  assert.deepStrictEqual(
    people({ contacts: [{ wa_id: "17" }], user_id_update: [{ user_id: ids, parent_user_id: parents }] }),
    ["17", "DE.1", "DE.2", "DE.ENT.1", "DE.ENT.2"]
  )
  const echoes = [{ id: "1", message: { to: "17" } }, { id: "2", message: { to: "18" } }]
  const standby = {
    field: "standby",
    value: { metadata: { phone_number_id: "7" }, standby: { message_echoes: echoes } }
  }
  const inStandby = parts(JSON.stringify({ object: "whatsapp_business_account", entry: [{ changes: [standby] }] }))
  assert.deepStrictEqual(inStandby.map(({ people }) => people), [["17"], ["18"]])
  const echo = (to: string) => ({ id: to, from: "15550783881", to })
  assert.deepStrictEqual(people({ message_echoes: [echo("17")] }), ["17"])
  assert.deepStrictEqual(people({ message_echoes: [echo("17"), echo("18")] }), ["17", "18"])
  const messenger = (...messaging: ReadonlyArray<object>) =>
    parts(JSON.stringify({ object: "page", entry: [{ id: "7", messaging }] })).map(({ account, people }) => [
      account?.id,
      ...people
    ])
  assert.deepStrictEqual(
    messenger(
      { sender: { id: "17" }, recipient: { id: "7" }, message: { mid: "1" } },
      { sender: { id: "7" }, recipient: { id: "18" }, message: { mid: "2", is_echo: true } },
      { sender: { id: 19 }, read: { mid: "3" } }
    ),
    [["7", "17"], ["7", "18"], ["7", "19"]]
  )
})

it("parts repeat only the account's IDs of a large body, and a body of one part stays unchanged", () => {
  const messages = Array.range(1, 2000).map((number) => ({ from: String(number), id: `wamid.${number}` }))
  const junk = "x".repeat(100_000)
  const value = { metadata: { phone_number_id: "7", junk }, junk, messages }
  const body = JSON.stringify({ object: "whatsapp_business_account", junk, entry: [{ junk, changes: [{ value }] }] })
  const found = parts(body)
  assert.lengthOf(found, 2000)
  assert.isBelow(found.reduce((sum, { body }) => sum + body.byteLength, 0), 2000 * 250)
  const alone = encoder.encode(` {"object":"page","entry":[{"id":"7","messaging":[{"sender":{"id":"1"}}]}]} `)
  assert.deepStrictEqual(Option.getOrThrow(Callback.split(alone)).map(({ body }) => body), [alone])
})
