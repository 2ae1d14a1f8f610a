/** Tests of the person that a WhatsApp callback is about: by number, by user ID, and after a change of either. */
import { assert, it } from "@effect/vitest"
import { messageEntry, whatsAppEntry } from "../src/fake/CallbackBodies.ts"
import { ana, envelope, eventOf, number, parseEntries } from "./Callback.ts"

it("people on WhatsApp with a username can have no number, or the user ID in its place", () => {
  const { user_id, wa_id: _, ...rest } = ana
  for (const writer of [{ user_id, ...rest }, { ...ana, wa_id: user_id }]) {
    const event = eventOf(parseEntries(messageEntry(number, writer, { ...envelope, type: "text" })).events)
    assert.deepInclude(event, {
      from: { external_id: user_id, aliases: [], display_name: "Ana Lima", username: "ana.l" }
    })
  }
})

it("people on WhatsApp with a parent ID are found by it, and reached by a nearer ID", () => {
  const parent = "DE.ENT.11815799212886844830"
  const contact = { profile: { name: "Ana Lima" }, user_id: ana.user_id, parent_user_id: parent }
  for (const ids of [{ from_parent_user_id: parent }, { from_user_id: ana.user_id, from_parent_user_id: parent }]) {
    const entry = whatsAppEntry(number, { contacts: [contact], messages: [{ ...ids, ...envelope, type: "text" }] })
    assert.deepInclude(eventOf(parseEntries(entry).events), {
      from: { external_id: ana.user_id, aliases: [parent], display_name: "Ana Lima", username: null }
    })
  }
  const alone = whatsAppEntry(number, { messages: [{ from_parent_user_id: parent, ...envelope, type: "text" }] })
  assert.deepInclude(eventOf(parseEntries(alone).events), {
    from: { external_id: parent, aliases: [], display_name: null, username: null }
  })
})

it("people on WhatsApp get nothing from the contact of another person", () => {
  const entry = whatsAppEntry(number, {
    contacts: [{ profile: { name: "Kim" }, wa_id: "4915100000000", user_id: "DE.1" }],
    messages: [{ from: "4915112345678", ...envelope, type: "text", text: { body: "Hi" } }]
  })
  assert.deepInclude(eventOf(parseEntries(entry).events), {
    from: { external_id: "+4915112345678", aliases: [], display_name: null, username: null }
  })
})

it("people on WhatsApp with a number of Argentina, Brazil, or Mexico have both of its spellings", () => {
  const pairs = [["5491123456789", "541123456789"], ["5511988887777", "551188887777"], [
    "5215512345678",
    "525512345678"
  ]]
  for (const [one = "", other = ""] of [...pairs, ...pairs.map((pair) => pair.toReversed())]) {
    const event = eventOf(parseEntries(messageEntry(number, { wa_id: one }, { ...envelope, type: "text" })).events)
    assert.deepInclude(event, {
      from: { external_id: `+${one}`, aliases: [`+${other}`], display_name: null, username: null }
    })
  }
})

it("people on WhatsApp can get a new number and a new user ID", () => {
  const number_change = { type: "user_changed_number", wa_id: "12195555358", body: "A new number" }
  const change = (system: object) =>
    eventOf(
      parseEntries(
        whatsAppEntry(number, { messages: [{ from: "4915112345678", ...envelope, type: "system", system }] })
      ).events
    )
  assert.deepStrictEqual<object>(change(number_change), {
    event: "identity_changed",
    former_external_id: "+4915112345678",
    now: { external_id: "+12195555358", aliases: [], display_name: null, username: null }
  })
  assert.deepStrictEqual<object>(
    change({ type: "user_changed_user_id", previous_user_id: "DE.1", user_id: "DE.2" }),
    {
      event: "identity_changed",
      former_external_id: "DE.1",
      now: { external_id: "DE.2", aliases: [], display_name: null, username: null }
    }
  )
})

/** Returns the event of a person whose first IDs are replaced by the second ones. */
const changed = (former: ReadonlyArray<string>, now: ReadonlyArray<string>, names: object = {}): object => ({
  event: "identity_changed",
  former_external_id: former[0],
  ...(former.length > 1 ? { former_aliases: former.slice(1) } : {}),
  now: { external_id: now[0], aliases: now.slice(1), display_name: null, username: null, ...names }
})

it("people on WhatsApp change their numbers and user IDs by each form of a system message", () => {
  const system = (from: object, system: object) =>
    eventOf(
      parseEntries(whatsAppEntry(number, { messages: [{ ...from, ...envelope, type: "system", system }] })).events
    )
  const forms: ReadonlyArray<readonly [object, object, object]> = [
    [{ from: "49151" }, { type: "user_changed_number", wa_id: "49152" }, changed(["+49151"], ["+49152"])],
    [{ from: "49151" }, { type: "user_changed_number", new_wa_id: "49152" }, changed(["+49151"], ["+49152"])],
    [{}, { type: "customer_changed_number", customer: "49151", wa_id: "49152" }, changed(["+49151"], ["+49152"])],
    [
      { from: "49151", from_user_id: "DE.1" },
      { type: "user_changed_number", wa_id: "49152", user_id: "DE.2" },
      changed(["+49151", "DE.1"], ["+49152", "DE.2"])
    ],
    [
      { from: "49151" },
      { type: "user_changed_user_id", wa_id: "49152", previous_user_id: "DE.1" },
      changed(["+49151", "DE.1"], ["+49152"])
    ],
    [
      { from: "49152", from_user_id: "DE.2" },
      { type: "user_changed_user_id", wa_id: "49152", previous_user_id: "DE.1" },
      changed(["DE.1"], ["+49152", "DE.2"])
    ],
    [{ from_user_id: "DE.1" }, { user_id: "DE.2" }, changed(["DE.1"], ["DE.2"])],
    [
      {},
      {
        previous_user_id: "DE.1",
        user_id: "DE.2",
        previous_parent_user_id: "DE.ENT.1",
        parent_user_id: "DE.ENT.2"
      },
      changed(["DE.1", "DE.ENT.1"], ["DE.2", "DE.ENT.2"])
    ],
    [
      { from: "551188887777" },
      { type: "user_changed_number", wa_id: "5491123456789" },
      changed(["+551188887777", "+5511988887777"], ["+5491123456789", "+541123456789"])
    ]
  ]
  for (const [from, message, expected] of forms) assert.deepStrictEqual<object>(system(from, message), expected)
})

it("people on WhatsApp change their user IDs by each form of an update", () => {
  const update = (value: object) => {
    const { change, ...entry } = whatsAppEntry(number, value) as Extract<
      ReturnType<typeof whatsAppEntry>,
      { change: object }
    >
    return parseEntries({ ...entry, change: { ...change, field: "user_id_update" } })
  }
  const contacts = [{ profile: { name: "Ana", username: "ana.l" }, wa_id: "49152" }]
  const names = { display_name: "Ana", username: "ana.l" }
  for (
    const change of [
      [{ user_id: { previous: "DE.1", current: "DE.2" } }],
      { user_id: { previous: "DE.1", current: "DE.2" } },
      [{ previous_user_id: "DE.1", user_id: "DE.2" }]
    ]
  ) {
    assert.deepStrictEqual<object>(
      eventOf(update({ contacts, user_id_update: change }).events),
      changed(["DE.1"], ["+49152", "DE.2"], names)
    )
    assert.deepStrictEqual<object>(eventOf(update({ user_id_update: change }).events), changed(["DE.1"], ["DE.2"]))
  }
  const both = { previous: "DE.ENT.1", current: "DE.ENT.2" }
  assert.deepStrictEqual<object>(
    eventOf(
      update({ user_id_update: [{ user_id: { previous: "DE.1", current: "DE.2" }, parent_user_id: both }] }).events
    ),
    changed(["DE.1", "DE.ENT.1"], ["DE.2", "DE.ENT.2"])
  )
  for (const change of [[], {}, [7], [{ user_id: { previous: "DE.1" } }], [{ user_id: "DE.1" }], "x"]) {
    assert.deepStrictEqual(update({ user_id_update: change }).events, [])
  }
})

it("people on WhatsApp are found if only the contacts name the sender", () => {
  const from = (message: object, ...contacts: ReadonlyArray<object>) => {
    const { events } = parseEntries(
      whatsAppEntry(number, { contacts, messages: [{ ...envelope, ...message, type: "text" }] })
    )
    return events.map(({ event }) =>
      event.event === "message_received" ? [event.from.external_id, event.from.aliases, event.from.display_name] : []
    )
  }
  const kim = { profile: { name: "Kim" }, wa_id: "49151", user_id: "DE.1" }
  assert.deepStrictEqual(from({}, kim), [["+49151", ["DE.1"], "Kim"]])
  assert.deepStrictEqual(from({ from_user_id: "DE.1" }, { ...kim, user_id: undefined }), [[
    "+49151",
    ["DE.1"],
    "Kim"
  ]])
  assert.deepStrictEqual(from({ from: "49151" }, { ...kim, wa_id: undefined }), [["+49151", ["DE.1"], "Kim"]])
  assert.deepStrictEqual(from({}, kim, { wa_id: "49152" }), [])
  // Another spelling of the number is no other number.
  const brazil = { profile: { name: "Kim" }, wa_id: "551188887777" }
  assert.deepStrictEqual(from({ from: "5511988887777" }, brazil), [["+5511988887777", ["+551188887777"], "Kim"]])
})
