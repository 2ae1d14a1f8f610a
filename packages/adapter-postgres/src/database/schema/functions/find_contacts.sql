-- Returns a page of contacts that match the filters, in the list's order. No term is empty.
--
-- The order changes with every message, the filtered values rarely, so no index has both. There are two ways to find a
-- page: look up all contacts that match one filter, or read contacts in the list's order and check each. The first is
-- fast if few match, the second if many do. Each turn of the function looks contacts up if few enough match, and otherwise
-- reads four times as many as the turn before, from where that one ended.
--
-- The fourth turn is the last, even if the page is not full, so that every search is short. It then also returns the last
-- contact that it read, without its `search_text`. The next page starts after that contact.
--
-- One generic plan serves all values. `OFFSET 0` keeps the order of the page out of a lookup: otherwise, PostgreSQL would
-- read the whole index of that order. Text is compared by `strpos`: `LIKE` backtracks, which takes seconds for a maliciously
-- crafted text.
CREATE OR REPLACE FUNCTION find_contacts(
  organization uuid, from_at timestamptz, from_id uuid, size bigint,
  owner uuid, stage text, tag uuid, channel text, has_phones boolean, terms text[], since timestamptz
) RETURNS SETOF contacts
LANGUAGE plpgsql STABLE ROWS 50
AS $$
DECLARE
  tagged CONSTANT jsonb := CASE WHEN tag IS NOT NULL THEN jsonb_build_array(jsonb_build_object('id', tag)) END;
  channel_filter CONSTANT jsonb := jsonb_build_array(jsonb_build_object('channel_type', channel));
  -- How many contacts the turn looks up at most, and how many it reads otherwise.
  lookup_max bigint := 100;
  read_max bigint := 500;
  -- The last `lookup_max` that was too low.
  exceeded_max bigint := 0;
  found_ids uuid[];
  missing bigint := size;
  added bigint;
  last_read contacts;
BEGIN
  LOOP
    -- A lower maximum would be exceeded again, and a slightly higher one probably, too.
    IF lookup_max >= 1.5 * exceeded_max THEN
      -- The smallest of up to three lists: each has all contacts that match one filter, or is too long.
      SELECT ids INTO found_ids
      FROM (VALUES
        -- The contacts with the tag.
        (CASE WHEN tag IS NOT NULL THEN ARRAY(
          SELECT contact_id FROM contact_tags WHERE organization_id = organization AND tag_id = tag LIMIT lookup_max + 1
        ) END),
        -- The contacts in the stage. Without an owner, an index has them in the list's order.
        (CASE WHEN stage IS NOT NULL AND owner IS NOT NULL THEN ARRAY(
          SELECT id FROM contacts WHERE organization_id = organization AND lifecycle_stage = stage LIMIT lookup_max + 1
        ) END),
        -- The contacts whose text contains a term. The index of texts returns all that may contain it at once, so a sample of
        -- one in 256 first shows about how many there are.
        (CASE WHEN terms IS NOT NULL AND NOT EXISTS (
          SELECT FROM contact_texts
          WHERE text_keys(organization_id, contact_id, search_text) @> term_keys(organization, terms[1], 1)
            OR text_keys(organization_id, contact_id, search_text) @> term_keys(organization, terms[2], 1)
          OFFSET lookup_max / 256
        ) THEN ARRAY(
          SELECT contact_id FROM contact_texts
          WHERE (
              text_keys(organization_id, contact_id, search_text) @> term_keys(organization, terms[1], 0)
              OR text_keys(organization_id, contact_id, search_text) @> term_keys(organization, terms[2], 0)
            )
            AND (strpos(search_text, terms[1]) > 0 OR strpos(search_text, terms[2]) > 0)
          LIMIT lookup_max + 1
        ) END)
      ) AS lookups (ids)
      WHERE cardinality(ids) <= lookup_max
      ORDER BY cardinality(ids)
      LIMIT 1;

      -- Otherwise, the contacts with an identity on the channel. If it has phones, a phone number counts as one. No index has
      -- their IDs, so this list takes the longest, and is made only if no other is short enough.
      IF channel IS NOT NULL AND found_ids IS NULL THEN
        SELECT coalesce(array_agg(id), '{}') INTO found_ids
        FROM (
          SELECT contact_id AS id FROM identities WHERE organization_id = organization AND channel_type = channel
          UNION ALL
          SELECT id FROM contacts
          WHERE organization_id = organization AND has_phones AND primary_phone IS NOT NULL
          LIMIT lookup_max + 1
        ) AS identified
        HAVING count(*) <= lookup_max;
      END IF;
      exceeded_max := lookup_max;
    END IF;

    -- One of the four parts has rows: those that were looked up, or the next ones of the owner, the stage, or all. A limit
    -- of 0 skips a part. A condition would do so too, but PostgreSQL then reads all columns of each row.
    RETURN QUERY
    SELECT contact.*
    FROM (
      SELECT contact.*
      FROM (SELECT * FROM contacts WHERE organization_id = organization AND id = ANY(found_ids) OFFSET 0) AS contact
      WHERE (contact.updated_at, contact.id) < (from_at, from_id) AND contact.updated_at >= since
      UNION ALL
      (
        SELECT * FROM contacts
        WHERE organization_id = organization AND owner_user_id = owner
          AND (updated_at, id) < (from_at, from_id) AND updated_at >= since
        ORDER BY updated_at DESC, id DESC
        LIMIT read_max * (found_ids IS NULL)::integer
      )
      UNION ALL
      (
        SELECT * FROM contacts
        WHERE organization_id = organization AND lifecycle_stage = stage
          AND (updated_at, id) < (from_at, from_id) AND updated_at >= since
        ORDER BY updated_at DESC, id DESC
        LIMIT read_max * (found_ids IS NULL AND owner IS NULL)::integer
      )
      UNION ALL
      (
        SELECT * FROM contacts
        WHERE organization_id = organization AND (updated_at, id) < (from_at, from_id) AND updated_at >= since
        ORDER BY updated_at DESC, id DESC
        LIMIT read_max * (found_ids IS NULL AND owner IS NULL AND stage IS NULL)::integer
      )
    ) AS contact
    WHERE (owner IS NULL OR contact.owner_user_id = owner)
      AND (stage IS NULL OR contact.lifecycle_stage = stage)
      AND (tag IS NULL OR contact.tags @> tagged)
      AND (
        channel IS NULL
        OR (has_phones AND contact.primary_phone IS NOT NULL)
        OR contact.identities @> channel_filter
      )
      AND (terms IS NULL OR strpos(contact.search_text, terms[1]) > 0 OR strpos(contact.search_text, terms[2]) > 0)
    ORDER BY contact.updated_at DESC, contact.id DESC
    LIMIT missing;

    GET DIAGNOSTICS added = ROW_COUNT;
    missing := missing - added;
    EXIT WHEN found_ids IS NOT NULL OR missing = 0;
    -- The next turn continues after the last contact that this one read. If this one read fewer than `read_max`, none is left.
    -- These reads have the conditions and the order of those above, or the next page would omit contacts.
    SELECT updated_at, id INTO from_at, from_id
    FROM (
      (
        SELECT updated_at, id FROM contacts
        WHERE organization_id = organization AND owner_user_id = owner
          AND (updated_at, id) < (from_at, from_id) AND updated_at >= since
        ORDER BY updated_at DESC, id DESC
        OFFSET read_max - 1 LIMIT 1
      )
      UNION ALL
      (
        SELECT updated_at, id FROM contacts
        WHERE organization_id = organization AND owner IS NULL AND lifecycle_stage = stage
          AND (updated_at, id) < (from_at, from_id) AND updated_at >= since
        ORDER BY updated_at DESC, id DESC
        OFFSET read_max - 1 LIMIT 1
      )
      UNION ALL
      (
        SELECT updated_at, id FROM contacts
        WHERE organization_id = organization AND owner IS NULL AND stage IS NULL
          AND (updated_at, id) < (from_at, from_id) AND updated_at >= since
        ORDER BY updated_at DESC, id DESC
        OFFSET read_max - 1 LIMIT 1
      )
    ) AS next_start;
    EXIT WHEN NOT FOUND;
    IF read_max >= 32000 THEN
      SELECT * INTO last_read FROM contacts WHERE organization_id = organization AND id = from_id;
      last_read.search_text := NULL;
      RETURN NEXT last_read;
      EXIT;
    END IF;
    -- To fill the page, about `missing * read_max / added` more contacts have to be read. Looking a contact up takes about twice
    -- as long as reading it. Looking 100,000 up takes about a quarter of a second. Looking up as many for a small page as for one
    -- of 25 contacts saves it from many empty pages.
    lookup_max := least(100000, greatest(missing, 25) * read_max / (1 + added) / 2);
    read_max := 4 * read_max;
  END LOOP;
END
$$;
