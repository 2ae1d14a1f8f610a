/** Whether a person stopped or resumed marketing messages on a network. */
import { assert } from "@effect/vitest"
import { Contacts } from "@messaging-crm/core/Contacts"
import { Events } from "@messaging-crm/core/Events"
import type { MarketingPreferenceReported } from "@messaging-crm/core/Inbound"
import { PersonalData } from "@messaging-crm/core/PersonalData"
import { Arbitrary, DateTime, Duration, Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { integer, literal } from "../../Arbitraries.ts"
import * as Fixtures from "../../Fixtures.ts"
import { type It, makeScene } from "../JourneyScene.ts"

type Preference = MarketingPreferenceReported["preference"]

/** A journey with a contact, and functions that report their preference and read it. */
const makeMarketingScene = Effect.gen(function*() {
  const scene = yield* makeScene
  const { as, channel, number, receive, receiveText } = scene
  const alias = `US.${yield* Fixtures.uuid}`
  yield* TestClock.adjust("1 hour")
  const now = yield* DateTime.now
  const prefer = (preference: Preference, minutes: number, aliases: ReadonlyArray<string> = []) =>
    receive({
      event: "marketing_preference_reported",
      channel_id: channel.id,
      person: { external_id: aliases[0] ?? number, aliases, display_name: null, username: null },
      preference,
      at: DateTime.add(now, { minutes })
    })
  const contacts = Effect.map(Contacts.use(({ list }) => list({ cursor: null, page_size: 5 })), ({ data }) => data)
    .pipe(as)
  /** Returns the minutes of the two times. */
  const shown = Effect.map(
    contacts,
    (all) =>
      all.flatMap(({ identities }) => identities).map(({ marketing_opt_in_at, marketing_opt_out_at }) =>
        [marketing_opt_out_at, marketing_opt_in_at].map((at) =>
          at === null ? null : Duration.toMinutes(DateTime.distance(now, at))
        )
      )
  )
  const updates = Effect.map(
    Events.use(({ list }) => list({ cursor: null, page_size: 50, type: "contact.updated", since: null })),
    ({ data }) => data.map(({ data }) => "changed_fields" in data ? data.changed_fields : [])
  ).pipe(as, Effect.orDie)
  return { ...scene, alias, contacts, number, prefer, receiveText, shown, updates }
})

export const marketing = (it: It) => {
  it.effect("keeps the latest preference with the identity, and raises contact.updated for each change", () =>
    Effect.gen(function*() {
      const { contacts, prefer, receiveText, shown, updates } = yield* makeMarketingScene
      yield* prefer("stop", -50)
      assert.deepStrictEqual(yield* contacts, [])
      yield* receiveText("m1", "Hello")
      assert.deepStrictEqual(yield* shown, [[null, null]])
      const before_changes = (yield* updates).length
      const [before] = yield* contacts
      yield* TestClock.adjust("1 minute")
      for (
        const [preference, minutes, expected] of [
          ["stop", -40, [-40, null]],
          ["stop", -40, [-40, null]],
          ["resume", -45, [-40, null]],
          ["resume", -40, [-40, null]],
          ["resume", -30, [null, -30]],
          ["stop", -35, [null, -30]],
          ["stop", -30, [-30, null]]
        ] as const
      ) {
        yield* prefer(preference, minutes)
        assert.deepStrictEqual<object>(yield* shown, [expected], `${preference} ${minutes}`)
      }
      const raised = yield* updates
      const changes = raised.slice(0, raised.length - before_changes)
      assert.deepStrictEqual(changes, [["identities"], ["identities"], ["identities"]])
      assert.deepStrictEqual((yield* contacts)[0]?.updated_at, before?.updated_at)
    }))

  it.effect.prop(
    "is that of the latest time, in any order of the reports",
    {
      reports: Arbitrary.array(
        Arbitrary.all({ preference: literal("stop", "resume"), minutes: integer({ min: -3, max: 3 }) }),
        { minLength: 1, maxLength: 5 }
      )
    },
    ({ reports }) =>
      Effect.gen(function*() {
        const { prefer, receiveText, shown } = yield* makeMarketingScene
        yield* receiveText("m1", "Hello")
        for (const { minutes, preference } of reports) yield* prefer(preference, minutes)
        const last = Math.max(...reports.map(({ minutes }) => minutes))
        const isStop = reports.some(({ minutes, preference }) => minutes === last && preference === "stop")
        assert.deepStrictEqual(yield* shown, [isStop ? [last, null] : [null, last]])
      }),
    { arbitrary: { runs: 20 } }
  )

  it.effect("finds the person by any network ID, and is in the export and not after the erasure", () =>
    Effect.gen(function*() {
      const { alias, as, channel, contacts, number, prefer, receive, shown } = yield* makeMarketingScene
      yield* receive(Fixtures.messageReceived({
        channel_id: channel.id,
        provider_message_id: "m1",
        from: { external_id: number, aliases: [alias], display_name: "Kim", username: null },
        sent_at: yield* DateTime.now
      }))
      yield* prefer("stop", -5, [alias])
      assert.deepStrictEqual(yield* shown, [[-5, null]])
      const [contact] = yield* contacts
      if (contact === undefined) return assert.fail("There is no contact.")
      const data = yield* PersonalData
      const exported = yield* as(Stream.mkString(data.export(contact.id)))
      assert.include(exported, "marketing_opt_out_at")
      yield* as(data.erase(contact.id))
      yield* prefer("stop", 5, [alias])
      assert.deepStrictEqual(yield* shown, [[null, null]])
    }))
}
