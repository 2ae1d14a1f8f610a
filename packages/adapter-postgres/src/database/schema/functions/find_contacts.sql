-- Returns a page of contacts that match the filters, in the list's order. No term is empty.
--
-- The order changes with every message, the filtered values rarely, so no index has both. There are two ways to find a
-- page: look up all contacts that match one filter, or read contacts in the list's order and check each. The first is
-- fast if few match, the second if many do. The function takes turns between the two, with twenty times as many
-- contacts each time, so that it costs at most a few times as much as the better one. Each turn reads from the start of
-- the page.
--
-- One generic plan serves all values. It looks contacts up one by one (`OFFSET 0`), because a table that was small when
-- the plan was made would be read whole for a join. Text is compared by `strpos`: `LIKE` backtracks, which takes seconds
-- for a maliciously crafted text.
CREATE OR REPLACE FUNCTION find_contacts(
  organization uuid, from_at timestamptz, from_id uuid, size bigint,
  owner uuid, stage text, tag uuid, channel text, terms text[]
) RETURNS SETOF contacts
LANGUAGE plpgsql STABLE ROWS 50
AS $$
DECLARE
  tagged CONSTANT jsonb := CASE WHEN tag IS NOT NULL THEN jsonb_build_array(jsonb_build_object('id', tag)) END;
  channel_filter CONSTANT jsonb := jsonb_build_array(jsonb_build_object('channel_type', channel));
  -- How many contacts a turn looks up at most, and how many it reads.
  lookup_max bigint := 100;
  read_max bigint := 1500;
  found_ids uuid[];
  returned bigint := 0;
  added bigint := 0;
BEGIN
  LOOP
    -- No contact is looked up if reading will probably fill the page. This turn reads 20 times as many contacts as the last
    -- one, so it probably does if that one found at least a tenth of the missing contacts.
    IF 10 * added < size - returned THEN
      -- The smallest of up to four lists: each has all contacts that match one filter, or is too long.
      SELECT ids INTO found_ids
      FROM (VALUES
        -- The contacts with the tag.
        (CASE WHEN tag IS NOT NULL THEN ARRAY(
          SELECT contact_id FROM contact_tags WHERE organization_id = organization AND tag_id = tag LIMIT lookup_max + 1
        ) END),
        -- The contacts with an identity on the channel. A phone number is one on phone messaging.
        (CASE WHEN channel IS NOT NULL THEN ARRAY(
          SELECT contact_id FROM identities WHERE organization_id = organization AND channel_type = channel
          UNION ALL
          SELECT id FROM contacts
          WHERE organization_id = organization AND channel = 'phone_messaging' AND primary_phone IS NOT NULL
          LIMIT lookup_max + 1
        ) END),
        -- The contacts in the stage. Without an owner, an index has them in the list's order.
        (CASE WHEN stage IS NOT NULL AND owner IS NOT NULL THEN ARRAY(
          SELECT id FROM contacts WHERE organization_id = organization AND lifecycle_stage = stage LIMIT lookup_max + 1
        ) END),
        -- The contacts whose text may contain a term. The index of texts returns all of them at once, so a sample of one in
        -- 256 first shows how many there are.
        (CASE WHEN terms IS NOT NULL AND NOT EXISTS (
          SELECT FROM contact_texts
          WHERE text_keys(organization_id, contact_id, search_text) @> term_keys(organization, terms[1], 1)
            OR text_keys(organization_id, contact_id, search_text) @> term_keys(organization, terms[2], 1)
          OFFSET 1 + lookup_max / 256
        ) THEN ARRAY(
          SELECT contact_id FROM contact_texts
          WHERE text_keys(organization_id, contact_id, search_text) @> term_keys(organization, terms[1], 0)
            OR text_keys(organization_id, contact_id, search_text) @> term_keys(organization, terms[2], 0)
        ) END)
      ) AS lookups (ids)
      WHERE cardinality(ids) <= lookup_max
      ORDER BY cardinality(ids)
      LIMIT 1;
    END IF;

    -- One of the four parts has rows: those that were looked up, or the next ones of the owner, the stage, or all. A limit
    -- of 0 skips a part. A condition would do so too, but PostgreSQL then reads all columns of each row.
    RETURN QUERY
    SELECT contact.*
    FROM (
      SELECT contact.*
      FROM (SELECT DISTINCT unnest(found_ids) AS id ORDER BY id) AS found
      CROSS JOIN LATERAL (SELECT * FROM contacts WHERE organization_id = organization AND id = found.id OFFSET 0) AS contact
      WHERE (contact.updated_at, contact.id) < (from_at, from_id)
      UNION ALL
      (
        SELECT * FROM contacts
        WHERE organization_id = organization AND owner_user_id = owner AND (updated_at, id) < (from_at, from_id)
        ORDER BY updated_at DESC, id DESC
        LIMIT read_max * (found_ids IS NULL)::integer
      )
      UNION ALL
      (
        SELECT * FROM contacts
        WHERE organization_id = organization AND lifecycle_stage = stage AND (updated_at, id) < (from_at, from_id)
        ORDER BY updated_at DESC, id DESC
        LIMIT read_max * (found_ids IS NULL AND owner IS NULL)::integer
      )
      UNION ALL
      (
        SELECT * FROM contacts
        WHERE organization_id = organization AND (updated_at, id) < (from_at, from_id)
        ORDER BY updated_at DESC, id DESC
        LIMIT read_max * (found_ids IS NULL AND owner IS NULL AND stage IS NULL)::integer
      )
    ) AS contact
    WHERE (owner IS NULL OR contact.owner_user_id = owner)
      AND (stage IS NULL OR contact.lifecycle_stage = stage)
      AND (tag IS NULL OR contact.tags @> tagged)
      AND (
        channel IS NULL
        OR (channel = 'phone_messaging' AND contact.primary_phone IS NOT NULL)
        OR contact.identities @> channel_filter
      )
      AND (terms IS NULL OR strpos(contact.search_text, terms[1]) > 0 OR strpos(contact.search_text, terms[2]) > 0)
    ORDER BY contact.updated_at DESC, contact.id DESC
    OFFSET returned
    LIMIT size - returned;

    GET DIAGNOSTICS added = ROW_COUNT;
    returned := returned + added;
    EXIT WHEN found_ids IS NOT NULL OR returned = size;
    -- Nothing is left if the turn could read all contacts of the owner, of the stage, or of the organization.
    EXIT WHEN NOT EXISTS (
      SELECT FROM contacts WHERE organization_id = organization AND owner_user_id = owner
      UNION ALL
      SELECT FROM contacts WHERE organization_id = organization AND owner IS NULL AND lifecycle_stage = stage
      UNION ALL
      SELECT FROM contacts WHERE organization_id = organization AND owner IS NULL AND stage IS NULL
      OFFSET read_max
    );
    read_max := 20 * read_max;
    lookup_max := read_max;
  END LOOP;
END
$$;
