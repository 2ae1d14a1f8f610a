-- Returns a page of contacts that match the filters, in the list's order. No term is empty.
--
-- The order changes with every message, the filtered values rarely, so no index has both. There are two ways to find a
-- page: look up all contacts that match one filter (`look_up_contacts.sql`), or read contacts in the list's order and check
-- each (`newest_contacts.sql`). The first is fast if few match, the second if many do. The function takes turns between the
-- two, with twenty times as many contacts each time, so that it costs at most a few times as much as the better one. Each
-- turn reads from the start of the page.
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
    -- A turn reads 20 times as many contacts as the last one. If that found at least a tenth of what is missing, this one
    -- fills the page, and no contact has to be looked up.
    IF 10 * added < size - returned THEN
      found_ids := look_up_contacts(organization, owner, stage, tag, channel, terms, lookup_max);
    END IF;

    -- Reads the contacts that were looked up, or else, with a limit above 0, the newest ones.
    RETURN QUERY
    SELECT c.*
    FROM (
      SELECT c.*
      FROM (SELECT DISTINCT unnest(found_ids) AS id ORDER BY id) AS found
      CROSS JOIN LATERAL (SELECT * FROM contacts WHERE organization_id = organization AND id = found.id OFFSET 0) AS c
      WHERE (c.updated_at, c.id) < (from_at, from_id)
      UNION ALL
      SELECT *
      FROM newest_contacts(organization, from_at, from_id, read_max * (found_ids IS NULL)::integer, owner, stage)
    ) AS c
    WHERE (owner IS NULL OR c.owner_user_id = owner)
      AND (stage IS NULL OR c.lifecycle_stage = stage)
      AND (tag IS NULL OR c.tags @> tagged)
      AND (channel IS NULL OR (channel = 'phone_messaging' AND c.primary_phone IS NOT NULL) OR c.identities @> channel_filter)
      AND (terms IS NULL OR strpos(c.search_text, terms[1]) > 0 OR strpos(c.search_text, terms[2]) > 0)
    ORDER BY c.updated_at DESC, c.id DESC
    OFFSET returned
    LIMIT size - returned;

    GET DIAGNOSTICS added = ROW_COUNT;
    returned := returned + added;
    EXIT WHEN found_ids IS NOT NULL OR returned = size;
    -- Nothing is left if the turn could read all contacts of the owner, of the stage, or of the organization.
    EXIT WHEN NOT EXISTS (
      SELECT FROM newest_contacts(organization, from_at, from_id, read_max + 1, owner, stage) OFFSET read_max
    );
    read_max := 20 * read_max;
    lookup_max := read_max;
  END LOOP;
END
$$;
