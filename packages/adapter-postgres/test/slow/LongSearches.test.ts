import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { type Contact, type ContactCriteria, ContactStore } from "@messaging-crm/core/Contacts"
import type { MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import type { Found, Position } from "@messaging-crm/core/Page"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { unlimited } from "../../src/database/TimeLimits.ts"
import * as Processes from "../Processes.ts"

/** How many contacts a search reads for a page, and how many it looks up at most. */
const read_max = 500 + 2000 + 8000 + 32_000
const lookup_max = 100_000

/** A search that looks nothing up reads those before this place for two pages. */
const old = 2 * read_max + 1

const last = old + lookup_max

/**
 * Inserts contacts by their place in the list, counted from 1, two of each moment. Customers are four of those that a search
 * reads for the first page, and all old ones, which are too many to look up. The oldest are few enough. The newest 45,000 have
 * the same email address.
 */
const insertCrowd = Effect.fnUntraced(function*(organization_id: OrganizationId, owner_user_id: MemberId) {
  const sql = yield* SqlClient.SqlClient
  const newest = DateTime.toDateUtc(Fixtures.afterNoon(0))
  const isCustomer = sql`(place IN (1, 500, 501, ${read_max}::int) OR place BETWEEN ${old}::int AND ${last}::int)`
  yield* sql`
    INSERT INTO contacts (
      organization_id, id, custom_values, search_text, updated_at, owner_user_id, lifecycle_stage, primary_phone,
      email_key
    )
    SELECT
      ${organization_id},
      ('00000000-0000-7000-8000-' || lpad((1000000 - place)::text, 12, '0'))::uuid,
      '{}',
      '',
      ${newest}::timestamptz - interval '1 ms' * (place / 2),
      ${owner_user_id},
      CASE WHEN ${isCustomer} THEN 'customer' WHEN place > ${last}::int THEN 'evangelist' ELSE 'lead' END,
      CASE WHEN ${isCustomer} THEN '+49' || 1000000 + place END,
      CASE WHEN place <= 45000 THEN 'none@shop.example' END
    FROM generate_series(1, ${last + 20_000}::int) AS place
  `
  yield* sql`ANALYZE contacts`
})

/** Returns the places of the contacts on the first pages of a search, up to the first that is full, or the last. */
const pagesOf = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  criteria: Partial<ContactCriteria>,
  size: number
) {
  const store = yield* ContactStore
  const pages: Array<ReadonlyArray<number>> = []
  let after: Position | null = null
  do {
    const found: Found<Contact> = yield* store.list(
      organization_id,
      { ...Fixtures.everyone, ...criteria },
      { after, size }
    )
    pages.push(found.rows.map(({ id }) => 1_000_000 - Number(id.slice(-12))))
    after = found.stopped_at
  } while (after !== null)
  return pages
})

it.layer(Processes.database, { excludeTestServices: true, timeout: "3 minutes" })("A search", (it) => {
  const endsEarly = Effect.gen(function*() {
    const ours = yield* Fixtures.organization
    const { id: owner_user_id } = yield* Fixtures.member(ours)
    yield* insertCrowd(ours, owner_user_id)
    const few = [1, 500, 501, read_max]
    const customers = { lifecycle_stage: "customer", owner_user_id } as const
    const full = Array.from({ length: 51 }, (_, index) => old + index)
    assert.deepStrictEqual(yield* pagesOf(ours, customers, 51), [few, [], full])
    assert.deepStrictEqual(yield* pagesOf(ours, { channel: "phone_messaging" }, 51), [few, [], full])
    const leads = { lifecycle_stage: "lead", channel: "phone_messaging" } as const
    assert.deepStrictEqual(yield* pagesOf(ours, leads, 51), [[], []])
    const evangelists = { lifecycle_stage: "evangelist", owner_user_id } as const
    assert.deepStrictEqual(yield* pagesOf(ours, evangelists, 2), [[last + 1, last + 2]])
    const shared = { email_key: "none@shop.example", owner_user_id } as const
    assert.deepStrictEqual(
      yield* pagesOf(ours, { ...shared, lifecycle_stage: "customer" }, 51),
      [[1, 500, 501], [read_max]]
    )
    const byPhone = { email_key: "none@shop.example", phones: ["+4915112345678"] } as const
    assert.deepStrictEqual(yield* pagesOf(ours, byPhone, 51), [[], []])
    const newest = Array.from({ length: 51 }, (_, index) => 2 + index)
    assert.deepStrictEqual(yield* pagesOf(ours, { ...shared, lifecycle_stage: "lead" }, 51), [newest])
    const recent = { ...customers, updated_since: Fixtures.afterNoon(-read_max / 2 + 1) }
    assert.deepStrictEqual(yield* pagesOf(ours, recent, 51), [[1, 500, 501]])
  })

  it.effect("that would read many contacts ends the page after some, and continues with the next page", () =>
    // A busy machine must not reach the limits.
    SqlClient.SqlClient.use((sql) => unlimited(sql)(endsEarly)))
})
