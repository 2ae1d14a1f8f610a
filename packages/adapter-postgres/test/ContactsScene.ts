/** Many contacts to list and search. */
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { type Contact, type ContactCriteria, positionOf } from "@messaging-crm/core/Contacts"
import type { MemberId, OrganizationId, TagId } from "@messaging-crm/core/Ids"
import type { PageRequest } from "@messaging-crm/core/Page"
import { DateTime, Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { unlimited } from "../src/database/TimeLimits.ts"

/** The SQL condition that the sample of a search does not have the contact `id` (`text_keys.sql`). */
export const unsampled = "uuid_hash(id) & 255 <> 0"

/**
 * Inserts contacts by their number `n`, counted from 1, and their `id`: the SQL of a contact's text, and of how long ago it was
 * updated. The IDs follow from `seed`. They determine which contacts are in the sample of a search.
 */
export const insertMany = Effect.fnUntraced(function*(
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
  // A busy machine must not reach the limit of a statement.
  yield* unlimited(sql)(sql`
    WITH inserted AS (
      INSERT INTO contacts (organization_id, id, custom_values, search_text, updated_at)
      SELECT ${organization_id}::uuid, id, '{}', ${search_text}, ${newest}::timestamptz - (${age})
      FROM (
        SELECT n, overlay(overlay(md5(${seed}::text || n) PLACING '7' FROM 13) PLACING '8' FROM 17)::uuid AS id
        FROM generate_series(1, ${count}::int) AS n
      ) AS numbered
      RETURNING organization_id, id, search_text
    )
    INSERT INTO contact_texts (organization_id, contact_id, search_text)
    SELECT *
    FROM inserted
  `)
})

/** Returns the IDs of the first nine pages of a list. */
export const firstPages = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  criteria: Partial<ContactCriteria>,
  size: number
) {
  const ids: Array<string> = []
  let after: PageRequest["after"] = null
  for (let page = 0; page < 9; page++) {
    const found: ReadonlyArray<Contact> = yield* Fixtures.contacts(organization_id, criteria, { after, size })
    ids.push(...found.map(({ id }) => id))
    const last = found.at(-1)
    if (found.length < size || last === undefined) break
    after = positionOf(last)
  }
  return ids
})

/** Tags contacts, and gives them stages and an owner, by their number in the list's order. */
export const tagAndAssign = Effect.fnUntraced(function*(
  ours: OrganizationId,
  tags: Readonly<Record<"frequent" | "old" | "rare", { readonly id: TagId }>>,
  owner_user_id: MemberId
) {
  const sql = yield* SqlClient.SqlClient
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
          (${tags.frequent.id}::uuid, n % 4 = 0), (${tags.old.id}::uuid, n > 4400), (${tags.rare.id}::uuid, n % 1000 = 0)
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
})

/** Returns the IDs of the contacts with a tag that meet some criteria, in the list's order, by one check of each contact. */
export const idsWithTag = Effect.fnUntraced(function*(ours: OrganizationId, criteria: Partial<ContactCriteria>) {
  const sql = yield* SqlClient.SqlClient
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
  return rows.map(({ id }) => id)
})
