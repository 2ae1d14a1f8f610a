import { Contact, type ContactMatch, ContactStore, searchText } from "@messaging-crm/core/Contacts"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { ContactId } from "@messaging-crm/core/Ids"
import type { PageRequest } from "@messaging-crm/core/Page"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { Effect, Layer, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import { At, date, json, OptionalAt, optionalDate } from "./Columns.ts"
import * as Identities from "./Contacts/Identities.ts"
import * as Search from "./Contacts/Search.ts"
import { findAndLock } from "./Reads.ts"

const Row = Schema.Struct({ ...Contact.fields, last_activity_at: OptionalAt, updated_at: At })

const Inserted = Schema.Array(Schema.Struct({ id: ContactId }))

/** Returns the columns of a contact. Its identities and tags are rows of their own. */
const toRow = (organization_id: OrganizationId, contact: Contact) => ({
  ...Struct.omit(contact, ["identities", "tags"]),
  organization_id,
  custom_values: json(contact.custom_values),
  last_activity_at: optionalDate(contact.last_activity_at),
  updated_at: date(contact.updated_at)
})

/** Columns that an update of a contact leaves alone. */
const kept = ["id", "organization_id", "last_activity_at", "last_activity_preview", "last_conversation_id"] as const

/** Layer that keeps contacts and their identities in PostgreSQL. */
export const layer = Layer.effect(
  ContactStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const { transact } = yield* UnitOfWork

    /** Every column of a contact, with its identities and tags, so that no list asks again for each row. */
    const columns = sql.literal(`
      c.id, c.first_name, c.last_name, c.primary_email, c.primary_phone, c.company, c.job_title, c.birthday, c.city,
      c.region, c.country, c.street_address, c.postal_code, c.website_url, c.network_url, c.source, c.notes,
      c.owner_user_id, c.lead_status, c.lifecycle_stage, c.custom_values, c.last_activity_at, c.last_activity_preview,
      c.last_conversation_id, c.updated_at,
      coalesce((
        SELECT jsonb_agg(
          jsonb_build_object(
            'id', i.id, 'channel_type', i.channel_type, 'external_id', i.external_id,
            'display_name', i.display_name, 'username', i.username
          )
          ORDER BY i.id
        )
        FROM identities i
        WHERE i.organization_id = c.organization_id AND i.contact_id = c.id
      ), '[]') AS identities,
      coalesce((
        SELECT jsonb_agg(jsonb_build_object('id', t.id, 'name', t.name, 'color', t.color) ORDER BY t.name_key)
        FROM contact_tags ct
        JOIN tags t ON t.organization_id = ct.organization_id AND t.id = ct.tag_id
        WHERE ct.organization_id = c.organization_id AND ct.contact_id = c.id
      ), '[]') AS tags
    `)

    const { find, lock } = findAndLock(sql, {
      Result: Row,
      locking: "FOR UPDATE OF c",
      execute: ({ id, organization_id }, locking) =>
        sql`
          SELECT ${columns}
          FROM contacts c
          WHERE c.organization_id = ${organization_id} AND c.id = ${id}
          ${locking}
        `
    })

    const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))

    // Planned for its values: what is looked for decides how it is found, and one plan for all would be wrong for most.
    const list = (organization_id: OrganizationId, match: ContactMatch, request: PageRequest) =>
      sql`
        SELECT ${columns}
        FROM (${Search.idsOf(sql, organization_id, match, request)}) page
        JOIN contacts c ON c.organization_id = ${organization_id} AND c.id = page.id
        ORDER BY c.updated_at DESC, c.id DESC
        LIMIT ${request.size}
      `.unprepared.pipe(Effect.flatMap(decodeRows), Effect.orDie)

    const insert = (organization_id: OrganizationId, contact: Contact) =>
      sql`
        WITH inserted AS (
          INSERT INTO contacts ${sql.insert(toRow(organization_id, contact))}
          RETURNING organization_id, id
        ), found_by AS (
          INSERT INTO contact_texts (organization_id, contact_id, search_text)
          SELECT organization_id, id, ${searchText(contact)}
          FROM inserted
        )
        INSERT INTO contact_tags (organization_id, contact_id, tag_id)
        SELECT inserted.organization_id, inserted.id, tag_id
        FROM inserted, unnest(${contact.tags.map((tag) => tag.id)}::uuid[]) AS tag_id
      `.pipe(Effect.orDie, Effect.asVoid)

    const decodeInserted = Schema.decodeUnknownEffect(Inserted)

    // One order for all, so that concurrent calls that share contacts never wait for each other in a circle.
    const insertNew = (organization_id: OrganizationId, contacts: ReadonlyArray<Contact>) => {
      const rows = contacts.map((contact) => ({
        ...toRow(organization_id, contact),
        custom_values: contact.custom_values
      }))
      const beside = contacts.map((contact) => ({
        contact_id: contact.id,
        search_text: searchText(contact),
        tag_ids: contact.tags.map((tag) => tag.id)
      }))
      return sql`
        WITH inserted AS (
          INSERT INTO contacts (
            organization_id, id, first_name, last_name, primary_email, primary_phone, company, job_title, birthday,
            city, region, country, street_address, postal_code, website_url, network_url, source, notes, owner_user_id,
            lead_status, lifecycle_stage, custom_values, last_activity_at, last_activity_preview, last_conversation_id,
            updated_at
          )
          SELECT
            organization_id, id, first_name, last_name, primary_email, primary_phone, company, job_title, birthday,
            city, region, country, street_address, postal_code, website_url, network_url, source, notes, owner_user_id,
            lead_status, lifecycle_stage, custom_values, last_activity_at, last_activity_preview, last_conversation_id,
            updated_at
          FROM jsonb_populate_recordset(NULL::contacts, ${json(rows)})
          ORDER BY id
          ON CONFLICT DO NOTHING
          RETURNING organization_id, id
        ), described AS (
          SELECT inserted.organization_id, inserted.id, beside.search_text, beside.tag_ids
          FROM inserted
          JOIN jsonb_to_recordset(${json(beside)}) AS beside (contact_id uuid, search_text text, tag_ids uuid[])
            ON beside.contact_id = inserted.id
        ), found_by AS (
          INSERT INTO contact_texts (organization_id, contact_id, search_text)
          SELECT organization_id, id, search_text
          FROM described
        ), tagged AS (
          INSERT INTO contact_tags (organization_id, contact_id, tag_id)
          SELECT organization_id, id, tag_id
          FROM described, unnest(tag_ids) AS tag_id
        )
        SELECT id
        FROM inserted
      `.pipe(
        Effect.flatMap(decodeInserted),
        Effect.orDie,
        Effect.map((inserted) => inserted.map(({ id }) => id))
      )
    }

    return ContactStore.of({
      insert,
      insertNew,
      find,
      lock,
      list,
      update: (organization_id, contact) => {
        const search_text = searchText(contact)
        const tag_ids = contact.tags.map((tag) => tag.id)
        const { updated_at, ...row } = Struct.omit(toRow(organization_id, contact), kept)
        return sql`
          WITH removed AS (
            DELETE FROM contact_tags
            WHERE organization_id = ${organization_id}
              AND contact_id = ${contact.id}
              AND tag_id <> ALL(${tag_ids}::uuid[])
          ), added AS (
            INSERT INTO contact_tags (organization_id, contact_id, tag_id)
            SELECT c.organization_id, c.id, tag_id
            FROM contacts c, unnest(${tag_ids}::uuid[]) AS tag_id
            WHERE c.organization_id = ${organization_id} AND c.id = ${contact.id}
            ON CONFLICT DO NOTHING
          ), found_by AS (
            UPDATE contact_texts
            SET search_text = ${search_text}
            WHERE organization_id = ${organization_id}
              AND contact_id = ${contact.id}
              AND search_text <> ${search_text}
          )
          UPDATE contacts
          SET ${sql.update(row)}, updated_at = greatest(updated_at, ${updated_at})
          WHERE organization_id = ${organization_id} AND id = ${contact.id}
        `.pipe(Effect.orDie, Effect.asVoid)
      },
      setOwner: (organization_id, id, owner_user_id, now) =>
        sql`
          UPDATE contacts
          SET owner_user_id = ${owner_user_id}, updated_at = greatest(updated_at, ${date(now)})
          WHERE organization_id = ${organization_id} AND id = ${id}
        `.pipe(Effect.orDie, Effect.asVoid),
      ...Identities.make(sql, { insert, transact }),
      recordActivity: (organization_id, id, { at, conversation_id, preview }) => {
        const moment = date(at)
        return sql`
          UPDATE contacts
          SET
            last_activity_at = greatest(last_activity_at, ${moment}),
            last_activity_preview = CASE
              WHEN last_activity_at > ${moment} THEN last_activity_preview
              ELSE ${preview}
            END,
            last_conversation_id = CASE
              WHEN last_activity_at > ${moment} THEN last_conversation_id
              ELSE ${conversation_id}::uuid
            END,
            updated_at = greatest(updated_at, ${moment})
          WHERE organization_id = ${organization_id} AND id = ${id}
        `.pipe(Effect.orDie, Effect.asVoid)
      },
      replacePreview: (organization_id, id, at, preview) =>
        sql`
          UPDATE contacts
          SET last_activity_preview = ${preview}
          WHERE organization_id = ${organization_id} AND id = ${id} AND last_activity_at = ${date(at)}
        `.pipe(Effect.orDie, Effect.asVoid)
    })
  })
)
