-- Returns the `most` newest contacts of an owner, or else of a stage, or else of the organization, from the start of a page
-- on: a step of `find_contacts.sql`, into whose plans PostgreSQL inlines the function.
--
-- One of the three queries has rows. A limit of 0 skips the others: a condition would do so too, but PostgreSQL then reads all
-- columns of each row.
CREATE OR REPLACE FUNCTION newest_contacts(
  organization uuid, from_at timestamptz, from_id uuid, most bigint, owner uuid, stage text
) RETURNS SETOF contacts
LANGUAGE sql STABLE
AS $$
  (
    SELECT * FROM contacts
    WHERE organization_id = organization AND owner_user_id = owner AND (updated_at, id) < (from_at, from_id)
    ORDER BY updated_at DESC, id DESC
    LIMIT most
  )
  UNION ALL
  (
    SELECT * FROM contacts
    WHERE organization_id = organization AND lifecycle_stage = stage AND (updated_at, id) < (from_at, from_id)
    ORDER BY updated_at DESC, id DESC
    LIMIT most * (owner IS NULL)::integer
  )
  UNION ALL
  (
    SELECT * FROM contacts
    WHERE organization_id = organization AND (updated_at, id) < (from_at, from_id)
    ORDER BY updated_at DESC, id DESC
    LIMIT most * (owner IS NULL AND stage IS NULL)::integer
  )
$$;
