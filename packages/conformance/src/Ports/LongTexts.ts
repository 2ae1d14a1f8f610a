/** Tests of the guarantee that a list reads long texts only up to the limit of a page (contract §6.2). */
import { assert } from "@effect/vitest"
import { type ContactCriteria, ContactStore, positionOf as positionOfContact } from "@messaging-crm/core/Contacts"
import { limits } from "@messaging-crm/core/Limits"
import { MessageStore, positionOf as positionOfMessage } from "@messaging-crm/core/Messages"
import type { Found, PageRequest, Position } from "@messaging-crm/core/Page"
import { PersonalDataStore } from "@messaging-crm/core/PersonalData"
import { type SendColumns, type SendRow, SendRows } from "@messaging-crm/core/Sends"
import { utf8Bytes } from "@messaging-crm/core/Text"
import { Effect, Struct } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It } from "../Fixtures.ts"

const positionOfSend = ({ created_at: at, id }: Pick<SendColumns, "created_at" | "id">): Position => ({ at, id })

/** Texts of letters with four bytes. */
const long = "\u{1F600}".repeat(75_000)
const longest = "\u{1F600}".repeat(limits.notes_chars_max)
/** Compresses to a hundredth. */
const compressible = "a".repeat(300_000)

/** The maximum difference between the length of a value in JSON and in the store. */
const margin = 1000

/** A list of rows with long columns. */
interface List<Row extends object, Column extends keyof Row> {
  readonly read: (page: PageRequest) => Effect.Effect<Found<Row>, unknown>
  readonly long: ReadonlyArray<Column>
  readonly positionOf: (row: Row) => Position
}

/** Reads all rows in pages, and checks that each page ends at the limit, and no earlier. */
const readAll = Effect.fnUntraced(function*<Row extends object, Column extends keyof Row>(
  { long, positionOf, read }: List<Row, Column>,
  size: number
) {
  const bytesOf = (row: Row) => utf8Bytes(JSON.stringify(Struct.pick(row, long)))
  const all: Array<Row> = []
  let [after, pages, total]: [Position | null, number, number] = [null, 0, 0]
  do {
    const { rows, stopped_at }: Found<Row> = yield* Effect.orDie(read({ after, size }))
    const bytes = rows.reduce((sum, row) => sum + bytesOf(row), 0)
    assert.isTrue(rows.length <= 1 || bytes <= limits.page_bytes_max + margin, `${rows.length} rows, ${bytes} bytes`)
    total += bytes
    pages += 1
    all.push(...rows)
    const last = rows.at(-1)
    after = stopped_at ?? (last === undefined || rows.length < size ? null : positionOf(last))
  } while (after !== null)
  // Two pages that follow each other exceed the limit together, unless the first is full.
  assert.isAtMost(pages, 2 * total / limits.page_bytes_max + all.length / size + 2)
  return all.map(positionOf)
})

/** Checks that pages of each size have the same rows as pages of one row, each of which is read. */
const agree = Effect.fnUntraced(
  function*<Row extends object, Column extends keyof Row>(list: List<Row, Column>, count: number) {
    const expected = yield* readAll(list, 1)
    assert.lengthOf(expected, count)
    for (const size of [7, 101]) assert.deepStrictEqual(yield* readAll(list, size), expected)
  }
)

const contact_count = 24

/** Creates contacts that all pass the same filters, and returns the filters. */
const createContacts = Effect.gen(function*() {
  const ours = yield* Fixtures.organization
  const tag = yield* Fixtures.tag(ours, "VIP")
  const owner = yield* Fixtures.member(ours)
  const [owned, staged] = [{ owner_user_id: owner.id }, { lifecycle_stage: "lead" as const }]
  const phone = "+4915112345678"
  for (let number = 0; number < contact_count; number++) {
    yield* Fixtures.contact(ours, {
      ...owned,
      ...staged,
      first_name: "Kim",
      primary_phone: phone,
      primary_email: "kim@example.com",
      tags: [tag],
      notes: number === 5 ? longest : number % 3 === 0 ? long : number % 3 === 1 ? "short" : null,
      custom_values: number % 8 === 7 ? { [tag.id]: compressible } : {},
      updated_at: afterNoon(number)
    })
  }
  const criteria: Readonly<Record<string, Partial<ContactCriteria>>> = {
    none: {},
    owner: owned,
    stage: staged,
    phone: { phones: [phone] },
    "two spellings": { phones: [phone, "+4915112345679"] },
    email: { email_key: "kim@example.com" },
    "phone and stage": { phones: [phone], ...staged },
    tag: { tag_id: tag.id },
    "tag and stage": { tag_id: tag.id, ...staged },
    "tag and owner": { tag_id: tag.id, ...owned },
    text: { search_terms: ["kim"] },
    channel: { channel: "phone_messaging" }
  }
  return { criteria, ours }
})

export const contactTests = (it: It) => {
  it.effect("ends a page at the limit of long texts, with every filter", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const { criteria, ours } = yield* createContacts
      for (const match of Object.values(criteria)) {
        const read = (page: PageRequest) => store.list(ours, { ...Fixtures.everyone, ...match }, page)
        yield* agree({ read, long: ["custom_values", "notes"], positionOf: positionOfContact }, contact_count)
      }
    }))
}

/** The long columns of a message. */
const long_columns = ["details", "media", "text"] as const

/** Creates a conversation with messages that have a long text, transcript, or neither. */
const createMessages = Effect.gen(function*() {
  const ours = yield* Fixtures.organization
  const thread = yield* Fixtures.thread(ours)
  const media = { id: null, kind: "audio", mime_type: null, filename: null, byte_size: null } as const
  for (let number = 0; number < 20; number++) {
    yield* Fixtures.message(ours, thread, {
      text: number === 5 ? longest.repeat(2) : number % 2 === 0 ? long : number % 5 === 0 ? "" : null,
      media: number % 4 === 3 ? { ...media, transcript: compressible } : null,
      created_at: afterNoon(number)
    })
  }
  return { ours, thread }
})

export const messageTests = (it: It) => {
  it.effect("ends a page at the limit of long texts", () =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const { ours, thread } = yield* createMessages
      const read = (page: PageRequest) => store.list(ours, thread.conversation_id, page)
      yield* agree({ read, long: long_columns, positionOf: positionOfMessage }, 20)
    }))
}

/** A page of a list that ends with an empty page. */
const untilEmpty = <Row extends object>(rows: ReadonlyArray<Row>, positionOf: (row: Row) => Position): Found<Row> => {
  const last = rows.at(-1)
  return { rows, stopped_at: last === undefined ? null : positionOf(last) }
}

export const personalDataTests = (it: It) => {
  it.effect("ends a page at the limit of long texts, and is empty only after the last one", () =>
    Effect.gen(function*() {
      const store = yield* PersonalDataStore
      const { ours, thread } = yield* createMessages
      const positionOf = positionOfMessage
      yield* agree({
        read: (page) =>
          Effect.map(store.messages(ours, thread.conversation_id, page), (rows) => untilEmpty(rows, positionOf)),
        long: long_columns,
        positionOf
      }, 20)
      for (let number = 0; number < 9; number++) {
        const text = number % 2 === 0 ? long : "Hello"
        const send = { ...yield* Fixtures.newSend(thread), content: { type: "text", text } as const }
        yield* Fixtures.mustCommit(ours, SendRows.insert({ ...send, created_at: afterNoon(number) }))
      }
      yield* agree<SendRow, "content">({
        read: (page) =>
          Effect.map(store.sends(ours, thread.conversation_id, page), (rows) => untilEmpty(rows, positionOfSend)),
        long: ["content"],
        positionOf: positionOfSend
      }, 9)
    }))
}
