/** Callbacks in which a person stops or resumes marketing messages. */
import { assert, it } from "@effect/vitest"
import { Contacts } from "@messaging-crm/core/Contacts"
import { DateTime, Effect } from "effect"
import { whatsAppEntry } from "../src/fake/CallbackBodies.ts"
import { FakeGraph } from "../src/fake/FakeGraph.ts"
import { Acme, conversations, noon, seconds, testAtAcme, write } from "./Acme.ts"
import { parseEntries } from "./Callback.ts"

const person = "4915112345678"

const entryOf = (account: string, ...preferences: ReadonlyArray<object>) => {
  const user_preferences = preferences.map((preference) => ({ category: "marketing_messages", ...preference }))
  const entry = whatsAppEntry(account, { contacts: [{ wa_id: person, user_id: "DE.1" }], user_preferences })
  return "change" in entry ? { ...entry, change: { ...entry.change, field: "user_preferences" } } : entry
}

const times = Effect.map(
  Contacts.use(({ list }) => list({ cursor: null, page_size: 5 })),
  ({ data }) =>
    data.flatMap(({ identities }) =>
      identities.map(({ marketing_opt_in_at, marketing_opt_out_at }) => [marketing_opt_out_at, marketing_opt_in_at])
    )
)

testAtAcme(
  "a person's stop and resume of marketing messages are kept with their identity, the latest counts",
  () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const { phone_messaging } = yield* Acme
      const post = Effect.fnUntraced(function*(...preferences: ReadonlyArray<object>) {
        yield* fake.enqueue(entryOf(phone_messaging, ...preferences))
        assert.deepStrictEqual(yield* fake.post(), [200])
        return yield* times
      })
      const at = (ago: number) => DateTime.subtract(noon, { seconds: ago })
      const stop = { wa_id: person, value: "stop", detail: "User requested to stop marketing messages" }
      assert.deepStrictEqual(yield* post({ ...stop, timestamp: seconds - 9 }), [])
      yield* write(person, "Hello")
      assert.deepStrictEqual(yield* post({ ...stop, timestamp: seconds - 8 }), [[at(8), null]])
      const resume = { user_id: "DE.1", value: "resume" }
      assert.deepStrictEqual(yield* post({ ...resume, timestamp: String(seconds - 9) }), [[at(8), null]])
      assert.deepStrictEqual(yield* post({ ...resume, timestamp: seconds - 7 }), [[null, at(7)]])
      const both = [{ ...stop, timestamp: seconds - 5 }, { ...stop, ...resume, timestamp: seconds - 6 }]
      assert.deepStrictEqual(yield* post(...both), [[at(5), null]])
      assert.lengthOf(yield* conversations, 1)
    })
)

it("a preference of another category, of an unknown value, or of nobody is ignored and counted", () => {
  const stop = { wa_id: person, value: "stop", timestamp: seconds }
  for (
    const [reason, preference] of [
      ["unknown", { ...stop, category: "utility_messages" }],
      ["unknown", { ...stop, value: "pause" }],
      ["unreadable", { ...stop, value: undefined }]
    ] as const
  ) {
    const { events, ignored } = parseEntries(entryOf("1", preference))
    assert.deepStrictEqual([events, ignored], [[], [{ reason, kind: "field:user_preferences" }]])
  }
})
