/** Every documented kind of callback, once, twice, and all of a network in one body, over a whole core in memory. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { Posting } from "../src/fake/CallbackSender.ts"
import { FakeGraph } from "../src/fake/FakeGraph.ts"
import { documented } from "../testing/Documented.ts"
import { Acme, allMessages, testAtAcme } from "./Acme.ts"

const idOf = (index: number) => `wamid.${String(index).padStart(3, "0")}`

const expected = documented.flatMap(({ becomes }, index) => becomes === null ? [] : [`${idOf(index)} ${becomes}`])

/** Returns every message with its type and the names of its details. */
const stored = Effect.map(
  allMessages,
  (messages) =>
    messages.map(({ details, provider_message_id, type }) =>
      [`${provider_message_id} ${type}:`, ...Object.keys(details ?? {}).toSorted()].join(" ")
    ).toSorted()
)

const postAll = (posting: Posting) =>
  Effect.gen(function*() {
    const fake = yield* FakeGraph
    const { page_messaging: messenger, phone_messaging: whatsapp, photo_social: instagram } = yield* Acme
    const accounts = { instagram, messenger, whatsapp }
    yield* fake.enqueue(...documented.map(({ entry, network }, index) => entry(accounts[network], idOf(index))))
    const statuses = yield* fake.post(posting)
    assert.isTrue(statuses.every((status) => status === 200), String(statuses))
    assert.deepStrictEqual(yield* stored, expected)
  })

describe("every documented kind of callback has its expected result", () => {
  testAtAcme(
    "once",
    () => Effect.asVoid(Effect.andThen(postAll({}), Effect.sync(() => assert.isAtLeast(documented.length, 150))))
  )
  testAtAcme("twice", () => postAll({ times: 2 }))
  testAtAcme("all of a network in one body", () => postAll({ batch: documented.length }))
})
