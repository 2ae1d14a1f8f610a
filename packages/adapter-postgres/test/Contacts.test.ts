import { assert, it } from "@effect/vitest"
import { SearchConnections } from "@messaging-crm/adapter-postgres/SearchConnections"
import { hardText } from "@messaging-crm/conformance/Arbitraries"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { Commit } from "@messaging-crm/core/Commit"
import { findOrCreateByIdentity, networkIdsOf } from "@messaging-crm/core/ContactIdentities"
import { unmatched } from "@messaging-crm/core/ContactMatches"
import {
  type Contact,
  type ContactCriteria,
  ContactStore,
  type Person,
  searchText,
  SearchTimeout
} from "@messaging-crm/core/Contacts"
import { MemberId, type OrganizationId, TagId } from "@messaging-crm/core/Ids"
import type { PageRequest } from "@messaging-crm/core/Page"
import { foldCase } from "@messaging-crm/core/Text"
import { Arbitrary, Context, DateTime, Effect, Fiber, Latch, Layer, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { TestClock } from "effect/testing"
import * as PostgresContacts from "../src/contacts/Contacts.ts"
import * as Plans from "./Plans.ts"
import * as Processes from "./Processes.ts"

const phone = "+4915112345678"

const person: Person = {
  channel_type: "phone_messaging",
  external_id: phone,
  aliases: ["network-name"],
  phone,
  display_name: null,
  username: null
}

/**
 * Inserts contacts by their number `n`, counted from 1: the SQL of a contact's text, and of how long ago it was updated. Their
 * IDs follow from `seed`. They determine which contacts are in the sample of a search.
 */
const insertMany = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  count: number,
  { age, search_text, seed = globalThis.crypto.randomUUID() }: {
    readonly age: Statement.Fragment
    readonly search_text: Statement.Fragment
    readonly seed?: string
  }
) {
  const sql = yield* SqlClient.SqlClient
  const newest = DateTime.toDateUtc(Fixtures.afterNoon(0))
  yield* sql`
    WITH inserted AS (
      INSERT INTO contacts (organization_id, id, custom_values, search_text, updated_at)
      SELECT
        ${organization_id}::uuid,
        overlay(overlay(md5(${seed}::text || n) PLACING '7' FROM 13) PLACING '8' FROM 17)::uuid,
        '{}',
        ${search_text},
        ${newest}::timestamptz - (${age})
      FROM generate_series(1, ${count}::int) AS n
      RETURNING organization_id, id, search_text
    )
    INSERT INTO contact_texts (organization_id, contact_id, search_text)
    SELECT *
    FROM inserted
  `
})

/** Returns the IDs of the first nine pages of a list. */
const firstPages = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  criteria: Partial<ContactCriteria>,
  size: number
) {
  const store = yield* ContactStore
  const ids: Array<string> = []
  let after: PageRequest["after"] = null
  for (let page = 0; page < 9; page++) {
    const match = { ...Fixtures.everyone, ...criteria }
    const found: ReadonlyArray<Contact> = yield* store.list(organization_id, match, { after, size })
    ids.push(...found.map(({ id }) => id))
    const last = found.at(-1)
    if (found.length < size || last === undefined) break
    after = { at: last.updated_at, id: last.id }
  }
  return ids
})

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
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const contacts = yield* Effect.forEach(names, (first_name, index) =>
        Fixtures.contact(ours, {
          first_name,
          updated_at: DateTime.subtract(Fixtures.afterNoon(0), { days: index * 5 })
        }))
      const term = globalThis.Array.from(foldCase(names.at(-1) ?? "")).slice(-part).join("")
      const match = { ...Fixtures.everyone, search_terms: [term] } as const
      const found = yield* store.list(ours, match, { after: null, size: 9 })
      const expected = contacts.filter((contact) => searchText(contact).includes(term))
      assert.deepStrictEqual(found.map(({ id }) => id), expected.map(({ id }) => id))
    }))

  it.effect("finds what thousands match, none of them recent", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const store = yield* ContactStore
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
      const match = { ...Fixtures.everyone, search_terms: ["forgotten"] } as const
      const first = yield* store.list(ours, match, { after: null, size: 51 })
      assert.deepStrictEqual(first.map(({ id }) => id), ids.slice(0, 51))
      const last = yield* Effect.fromNullishOr(first.at(-1))
      const second = yield* store.list(ours, match, { after: { at: last.updated_at, id: last.id }, size: 51 })
      assert.deepStrictEqual(second.map(({ id }) => id), ids.slice(51, 102))
    }))

  it.effect("reads few contacts for a text that few have, all updated together", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      yield* insertMany(ours, 7000, {
        search_text: sql`CASE WHEN n % 9 = 0 AND n <= 180 THEN 'tarlin' ELSE 'known' END`,
        age: sql`interval '1 ms' * n`,
        seed: "updated together"
      })
      // As the worker does when tables have grown.
      yield* sql`ANALYZE contacts, contact_texts`
      const match = { ...Fixtures.everyone, search_terms: ["tarlin"] } as const
      assert.lengthOf(yield* store.list(ours, match, { after: null, size: 51 }), 20)
      const plans = yield* Plans.plansOf(store.list(ours, match, { after: null, size: 51 }))
      const read = plans.at(-1)?.reads.find(({ relation }) => relation === "contacts")
      assert.isBelow(read?.by_index ?? Number.MAX_SAFE_INTEGER, 300)
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
        { phone, search_terms: ["kim"] }
      ]
      for (const match of searches) {
        const searching = yield* Effect.forkChild(Effect.flip(list(match)), { startImmediately: true })
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* Fiber.join(searching), new SearchTimeout(), JSON.stringify(match))
      }
      const reads: ReadonlyArray<Partial<ContactCriteria>> = [
        {},
        { phone },
        { email_key: "kim@acme.example" },
        { external_id: "kim" },
        { owner_user_id },
        { lifecycle_stage: "lead" },
        { updated_since: Fixtures.noon }
      ]
      for (const match of reads) assert.deepStrictEqual(yield* list(match), [], JSON.stringify(match))
    }).pipe(Effect.provide(TestClock.layer())))

  it.effect("compares texts that are made to be compared slowly within the time of a search", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const ours = yield* Fixtures.organization
      const sql = yield* SqlClient.SqlClient
      const many = insertMany(ours, 1000, {
        search_text: sql`repeat('a', 99) || 'b' || repeat('a', 100)`,
        age: sql`interval '1 ms' * n`
      })
      yield* Effect.replicateEffect(many, 5)
      const term = `${"a".repeat(150)}b${"a".repeat(49)}`
      const match = { ...Fixtures.everyone, search_terms: [term] } as const
      assert.deepStrictEqual(yield* store.list(ours, match, { after: null, size: 51 }), [])
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
          CASE WHEN n > 2990 THEN 'oldest' END
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
        ["everybody", "tenth", "hundredth", "rare", "oldest", "nobody"],
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
      const [frequent, old, rare] = yield* Effect.forEach(
        ["frequent", "old", "rare"],
        (name) => Fixtures.tag(ours, name)
      )
      yield* insertMany(ours, 6000, { search_text: sql`'known'`, age: sql`interval '1 ms' * (n / 2)` })
      yield* sql`
        WITH numbered AS (
          SELECT id, row_number() OVER (ORDER BY updated_at DESC, id DESC) AS n
          FROM contacts
          WHERE organization_id = ${ours}
        ), tagged AS (
          INSERT INTO contact_tags (organization_id, contact_id, tag_id)
          SELECT ${ours}, numbered.id, tag.id
          FROM numbered,
            LATERAL (VALUES
              (${frequent?.id}::uuid, n % 4 = 0), (${old?.id}::uuid, n > 4400), (${rare?.id}::uuid, n % 1000 = 0)
            ) AS tag (id, holds)
          WHERE holds
          RETURNING contact_id, tag_id
        ), copies AS (
          SELECT contact_id AS id, jsonb_agg(jsonb_build_object('id', tag_id, 'name', 'tag', 'color', 'red')) AS tags
          FROM tagged
          GROUP BY contact_id
        )
        UPDATE contacts contact
        SET lifecycle_stage = CASE WHEN n % 3 = 0 THEN 'customer' ELSE 'lead' END,
          owner_user_id = CASE WHEN n % 2 = 0 THEN ${owner_user_id}::uuid END,
          tags = coalesce(copies.tags, '[]')
        FROM numbered
        LEFT JOIN copies ON copies.id = numbered.id
        WHERE contact.organization_id = ${ours} AND contact.id = numbered.id
      `
      // As the worker does when tables have grown.
      yield* sql`ANALYZE contacts, contact_tags`
      const cases = [frequent, old, rare].flatMap((tag) =>
        [{ lifecycle_stage: "customer" }, { owner_user_id }, { lifecycle_stage: "lead", owner_user_id }].flatMap(
          (place) =>
            [null, Fixtures.afterNoon(-2000)].map((updated_since) =>
              ({ ...place, tag_id: tag?.id, updated_since }) as Partial<ContactCriteria>
            )
        )
      )
      for (const criteria of cases) {
        const { lifecycle_stage, owner_user_id, tag_id, updated_since } = { ...Fixtures.everyone, ...criteria }
        const rows = yield* sql<{ readonly id: string }>`
          SELECT id
          FROM contacts
          WHERE organization_id = ${ours} AND id IN (
              SELECT contact_id FROM contact_tags WHERE organization_id = ${ours} AND tag_id = ${tag_id}
            )
            AND (${lifecycle_stage}::text IS NULL OR lifecycle_stage = ${lifecycle_stage})
            AND (${owner_user_id}::uuid IS NULL OR owner_user_id = ${owner_user_id})
            AND (updated_at >= ${updated_since === null ? null : DateTime.toDateUtc(updated_since)}) IS NOT FALSE
          ORDER BY updated_at DESC, id DESC
        `
        for (const size of [7, 51]) {
          const found = yield* firstPages(ours, criteria, size)
          assert.deepStrictEqual(
            found,
            rows.slice(0, 9 * size).map(({ id }) => id),
            JSON.stringify({ ...criteria, size })
          )
        }
      }
    }))
})
