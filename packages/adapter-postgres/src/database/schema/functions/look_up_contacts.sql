-- Returns the IDs of all contacts that match one of the filters, the one with the fewest: a step of `find_contacts.sql`.
-- Null if each filter has more than `most`. Most of them need not match the other filters, nor be on the page.
CREATE OR REPLACE FUNCTION look_up_contacts(
  organization uuid, owner uuid, stage text, tag uuid, channel text, terms text[], most bigint
) RETURNS uuid[]
LANGUAGE plpgsql STABLE
AS $$
BEGIN
  RETURN (
    SELECT ids
    FROM (VALUES
      -- The contacts with the tag.
      (CASE WHEN tag IS NOT NULL THEN ARRAY(
        SELECT contact_id FROM contact_tags WHERE organization_id = organization AND tag_id = tag LIMIT most + 1
      ) END),
      -- The contacts with an identity on the channel. A phone number is one on phone messaging.
      (CASE WHEN channel IS NOT NULL THEN ARRAY(
        SELECT contact_id FROM identities WHERE organization_id = organization AND channel_type = channel
        UNION ALL
        SELECT id FROM contacts
        WHERE organization_id = organization AND channel = 'phone_messaging' AND primary_phone IS NOT NULL
        LIMIT most + 1
      ) END),
      -- The contacts in the stage. Without an owner, `newest_contacts` reads them in order.
      (CASE WHEN stage IS NOT NULL AND owner IS NOT NULL THEN ARRAY(
        SELECT id FROM contacts WHERE organization_id = organization AND lifecycle_stage = stage LIMIT most + 1
      ) END),
      -- The contacts whose text may contain a term. The index of texts returns all of them at once, so a sample of one in
      -- 256 first shows how many there are.
      (CASE WHEN terms IS NOT NULL AND NOT EXISTS (
        SELECT FROM contact_texts
        WHERE text_keys(organization_id, contact_id, search_text) @> term_keys(organization, terms[1], 1)
          OR text_keys(organization_id, contact_id, search_text) @> term_keys(organization, terms[2], 1)
        OFFSET 1 + most / 256
      ) THEN ARRAY(
        SELECT contact_id FROM contact_texts
        WHERE text_keys(organization_id, contact_id, search_text) @> term_keys(organization, terms[1], 0)
          OR text_keys(organization_id, contact_id, search_text) @> term_keys(organization, terms[2], 0)
      ) END)
    ) AS lookups (ids)
    WHERE cardinality(ids) <= most
    ORDER BY cardinality(ids)
    LIMIT 1
  );
END
$$;
