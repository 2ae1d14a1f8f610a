import { assert, it } from "@effect/vitest"
import { SearchConnections } from "@messaging-crm/adapter-postgres/SearchConnections"
import { hardText } from "@messaging-crm/conformance/Arbitraries"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { Commit } from "@messaging-crm/core/Commit"
import { findOrCreateByIdentity, networkIdsOf } from "@messaging-crm/core/ContactIdentities"
import { unmatched } from "@messaging-crm/core/ContactMatches"
import {
  type ContactCriteria,
  ContactStore,
  type Person,
  positionOf,
  searchText,
  SearchTimeout
} from "@messaging-crm/core/Contacts"
import { MemberId, TagId } from "@messaging-crm/core/Ids"
import { withoutStop } from "@messaging-crm/core/Page"
import { foldCase } from "@messaging-crm/core/Text"
import { Arbitrary, Context, DateTime, Effect, Fiber, Latch, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as PostgresContacts from "../src/contacts/Contacts.ts"
import { firstPages, idsWithTag, insertMany, tagAndAssign, unsampled } from "./ContactsScene.ts"
import * as Plans from "./Plans.ts"
import * as Processes from "./Processes.ts"
import { waiterFor, whileOpen } from "./Sessions.ts"

const phone = "+4915112345678"

const person: Person = {
  channel_type: "phone_messaging",
  external_id: phone,
  aliases: ["network-name"],
  phone,
  display_name: null,
  username: null
}

it.layer(Processes.database, { excludeTestServices: true })("Contacts", (it) => {
  it.effect("lets the next caller succeed when the first one's transaction is rolled back", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const { commit } = yield* Commit
      const organization_id = yield* Fixtures.organization
      const written = yield* Latch.make()
      const undo = yield* Latch.make()
      const undone = findOrCreateByIdentity(person, [], unmatched, yield* Fixtures.decisionContext)
      const first = yield* Effect.forkChild(Effect.exit(
        commit(organization_id, undone.changes).pipe(
          Effect.andThen(written.open),
          Effect.andThen(undo.await),
          Effect.andThen(Effect.fail("undone")),
          sql.withTransaction
        )
      ))
      yield* written.await
      const { result: { contact_id, identity_id }, changes } = findOrCreateByIdentity(
        person,
        [],
        unmatched,
        yield* Fixtures.decisionContext
      )
      const second = yield* Effect.forkChild(commit(organization_id, changes))
      yield* undo.open
      yield* Fiber.join(first)
      yield* Fiber.join(second)
      const known = yield* ContactStore.use((store) =>
        store.identify(organization_id, "phone_messaging", networkIdsOf(person))
      )
      assert.deepStrictEqual(
        known.map(({ contact, identity }) => ({ contact_id: contact.id, identity_id: identity.id })),
        [{ contact_id, identity_id }, { contact_id, identity_id }]
      )
    }))

  it.effect.prop("finds what contains a part of a text, of any length", {
    names: Arbitrary.array(hardText({ min: 1, max: 12 }), { minLength: 2, maxLength: 6 }),
    part: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 12 })))
  }, ({ names, part }) =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const contacts = yield* Effect.forEach(names, (first_name, index) =>
        Fixtures.contact(ours, {
          first_name,
          updated_at: DateTime.subtract(Fixtures.afterNoon(0), { days: index * 5 })
        }))
      const term = globalThis.Array.from(foldCase(names.at(-1) ?? "")).slice(-part).join("")
      const found = yield* Fixtures.contacts(ours, { search_terms: [term] })
      const expected = contacts.filter((contact) => searchText(contact).includes(term))
      assert.deepStrictEqual(found.map(({ id }) => id), expected.map(({ id }) => id))
    }))

  it.effect("finds what thousands match, none of them recent", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      yield* insertMany(ours, 5000, {
        search_text: sql`CASE WHEN n > 1200 AND n % 11 > 0 THEN 'forgotten' ELSE 'known' END`,
        age: sql`interval '1 ms' * n + CASE WHEN n > 1200 THEN interval '30 days' ELSE '0' END`
      })
      const ids = (yield* sql<{ readonly id: string }>`
        SELECT id
        FROM contacts
        WHERE organization_id = ${ours} AND search_text = 'forgotten'
        ORDER BY updated_at DESC, id DESC
      `).map(({ id }) => id)
      const search_terms = ["forgotten"] as const
      const first = yield* Fixtures.contacts(ours, { search_terms }, { after: null, size: 51 })
      assert.deepStrictEqual(first.map(({ id }) => id), ids.slice(0, 51))
      const last = yield* Effect.fromNullishOr(first.at(-1))
      const second = yield* Fixtures.contacts(ours, { search_terms }, { after: positionOf(last), size: 51 })
      assert.deepStrictEqual(second.map(({ id }) => id), ids.slice(51, 102))
    }))

  it.effect("reads few contacts for a text that few have, all updated together", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      yield* insertMany(ours, 7000, {
        search_text: sql`CASE WHEN n % 9 = 0 AND n <= 180 THEN 'tarlin' ELSE 'known' END`,
        age: sql`interval '1 ms' * n`,
        seed: "updated together"
      })
      // As the worker does when tables have grown.
      yield* sql`ANALYZE contacts, contact_texts`
      const page = Fixtures.contacts(ours, { search_terms: ["tarlin"] }, { after: null, size: 51 })
      assert.lengthOf(yield* page, 20)
      const plans = yield* Plans.plansOf(page)
      const read = plans.at(-1)?.reads.find(({ relation }) => relation === "contacts")
      // One of the twenty is in the sample, so the newest 500 are read first.
      assert.isBelow(read?.by_index ?? Number.MAX_SAFE_INTEGER, 1100)
    }))

  it.effect("reads the page of a number from the index, however many contacts have each of its spellings", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      const phones = ["+5511987654321", "+551187654321"] as const
      yield* insertMany(ours, 2000, { search_text: sql`'known'`, age: sql`interval '1 ms' * n` })
      yield* sql`
        UPDATE contacts
        SET primary_phone = CASE WHEN extract(milliseconds FROM updated_at)::integer % 3 = 0
          THEN ${phones[0]}::text ELSE ${phones[1]} END
        WHERE organization_id = ${ours}
      `
      yield* sql`ANALYZE contacts`
      const page = Fixtures.contacts(ours, { phones }, { after: null, size: 51 })
      assert.deepStrictEqual(yield* page, yield* Fixtures.contacts(ours, {}, { after: null, size: 51 }))
      const plans = yield* Plans.plansOf(page)
      const read = plans.at(-1)?.reads.find(({ relation }) => relation === "contacts")
      assert.isBelow(read?.by_index ?? Number.MAX_SAFE_INTEGER, 60)
      assert.strictEqual(read?.in_sequence, 0)
    }))

  it.effect("searches on the connections for searches only, and reads pages and exact matches on none of them", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const { sql } = yield* SearchConnections
      const full = Layer.succeed(SearchConnections, { sql, statements: 0 })
      const store = Context.get(
        yield* Layer.build(Layer.fresh(PostgresContacts.layer).pipe(Layer.provide(full))),
        ContactStore
      )
      const list = (match: Partial<ContactCriteria>) =>
        store.list(ours, { ...Fixtures.everyone, ...match }, { after: null, size: 9 })
      const owner_user_id = MemberId.make(yield* Fixtures.uuid)
      const searches: ReadonlyArray<Partial<ContactCriteria>> = [
        { search_terms: ["kim"] },
        { tag_id: TagId.make(yield* Fixtures.uuid) },
        { channel: "page_messaging" },
        { owner_user_id, lifecycle_stage: "lead" },
        { phones: [phone], search_terms: ["kim"] },
        { phones: [phone, "+551187654321"], owner_user_id }
      ]
      for (const match of searches) {
        const searching = yield* Effect.forkChild(Effect.flip(list(match)), { startImmediately: true })
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* Fiber.join(searching), new SearchTimeout(), JSON.stringify(match))
      }
      const reads: ReadonlyArray<Partial<ContactCriteria>> = [
        {},
        { phones: [phone] },
        { phones: ["+5511987654321", "+551187654321"] },
        { email_key: "kim@acme.example" },
        { external_id: "kim" },
        { external_id: "kim", search_terms: ["kim"] },
        { owner_user_id },
        { lifecycle_stage: "lead" },
        { updated_since: Fixtures.noon }
      ]
      for (const match of reads) assert.deepStrictEqual(yield* list(match), withoutStop([]), JSON.stringify(match))
    }).pipe(Effect.provide(TestClock.layer())))

  it.effect("ends every search while another session locks the table, and searches again afterward", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const sql = yield* SqlClient.SqlClient
      const search = Fixtures.contacts(ours, { search_terms: ["kim"] }, { after: null, size: 9 })
      // As many as there are slots, so that most wait behind another statement of their connection.
      const { statements } = yield* SearchConnections
      const searches = Effect.all(Array.from({ length: statements }, () => Effect.flip(search)), {
        concurrency: "unbounded"
      })
      yield* whileOpen(sql`LOCK TABLE contacts`, (pid) =>
        Effect.gen(function*() {
          for (const error of yield* searches) assert.deepStrictEqual(error, new SearchTimeout())
          // Statements of searches that have ended still wait, so no search has waited for those before it.
          yield* waiterFor(pid)
        }))
      assert.deepStrictEqual(yield* search, [])
    }))

  it.effect("compares texts that are made to be compared slowly within the time of a search", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const sql = yield* SqlClient.SqlClient
      const many = insertMany(ours, 1000, {
        search_text: sql`repeat('a', 99) || 'b' || repeat('a', 100)`,
        age: sql`interval '1 ms' * n`
      })
      yield* Effect.replicateEffect(many, 5)
      const term = `${"a".repeat(150)}b${"a".repeat(49)}`
      assert.deepStrictEqual(yield* Fixtures.contacts(ours, { search_terms: [term] }), [])
    }))

  it.effect("gives the contacts with a text in their order, page by page, however many there are", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      yield* insertMany(ours, 3000, {
        search_text: sql`concat_ws(
          ' ',
          'everybody',
          CASE WHEN n % 10 = 0 THEN 'tenth' END,
          CASE WHEN n % 100 = 7 THEN 'hundredth' END,
          CASE WHEN n IN (1, 2, 40, 55, 56, 700, 2900, 3000) THEN 'rare' END,
          CASE WHEN n > 2990 THEN 'oldest' END,
          CASE WHEN n <= 30 OR n > 2900 THEN 'newest and oldest' END,
          CASE WHEN n IN (499, 500, 501, 2499, 2500, 2501) THEN 'between turns' END,
          CASE WHEN n > 2000 AND ${sql.literal(unsampled)} THEN 'many outside the sample' END
        )`,
        age: sql`interval '3 hours' * n`
      })
      const idsOf = (term: string) =>
        sql<{ readonly id: string }>`
          SELECT id
          FROM contacts
          WHERE organization_id = ${ours} AND search_text LIKE ${`%${term}%`}
          ORDER BY updated_at DESC, id DESC
        `
      yield* Effect.forEach(
        [
          "everybody",
          "tenth",
          "hundredth",
          "rare",
          "oldest",
          "newest and oldest",
          "between turns",
          "many outside the sample",
          "nobody"
        ],
        (term) =>
          Effect.forEach([1, 3, 8, 60], (size) =>
            Effect.gen(function*() {
              const expected = (yield* idsOf(term)).slice(0, 9 * size).map(({ id }) => id)
              const found = yield* firstPages(ours, { search_terms: [term] }, size)
              assert.deepStrictEqual(found, expected, `${term}, pages of ${size}`)
            }))
      )
    }))

  it.effect("gives the contacts with a tag of a stage or an owner in their order, in the newest of them or beyond", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const ours = yield* Fixtures.organization
      const { id: owner_user_id } = yield* Fixtures.member(ours)
      const frequent = yield* Fixtures.tag(ours, "frequent")
      const old = yield* Fixtures.tag(ours, "old")
      const rare = yield* Fixtures.tag(ours, "rare")
      yield* insertMany(ours, 6000, { search_text: sql`'known'`, age: sql`interval '1 ms' * (n / 2)` })
      yield* tagAndAssign(ours, { frequent, old, rare }, owner_user_id)
      const cases = [frequent, old, rare].flatMap((tag) =>
        [{ lifecycle_stage: "customer" }, { owner_user_id }, { lifecycle_stage: "lead", owner_user_id }].flatMap(
          (place) =>
            [null, Fixtures.afterNoon(-2000)].map((updated_since) =>
              ({ ...place, tag_id: tag.id, updated_since }) as Partial<ContactCriteria>
            )
        )
      )
      for (const criteria of cases) {
        const expected = yield* idsWithTag(ours, criteria)
        for (const size of [7, 51]) {
          const found = yield* firstPages(ours, criteria, size)
          assert.deepStrictEqual(
            found,
            expected.slice(0, 9 * size),
            JSON.stringify({ ...criteria, size })
          )
        }
      }
    }))
})
