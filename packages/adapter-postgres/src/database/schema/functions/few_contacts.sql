-- Returns the IDs of all contacts that match one filter, of the filter that the fewest match; null if more than `most` match
-- each. An ID may occur twice. `find_contacts.sql` explains the parameters.
CREATE OR REPLACE FUNCTION few_contacts(
  organization uuid, owner uuid, stage text, tag uuid, channel text, terms text[], most bigint
) RETURNS uuid[]
LANGUAGE plpgsql STABLE
AS $$
DECLARE
  -- The keys of each term, and the same keys with the flipped last bit that `text_keys.sql` adds for its sample.
  first_keys bigint[];
  first_sample_keys bigint[];
  second_keys bigint[];
  second_sample_keys bigint[];
BEGIN
  -- Keys that the text of every contact with a term has (`text_keys.sql`): those of all sequences of three characters in the
  -- selective part of the term. That part has no domain of an email address and no beginning of a phone number, because
  -- these are frequent: it is the last nine characters before an @, or of the whole term if nothing precedes an @. Every
  -- third sequence would do, but then two frequent ones can have many contacts in common that lack the term.
  IF terms IS NOT NULL THEN
    SELECT array_agg(key) FILTER (WHERE number = 1), array_agg(key # 1) FILTER (WHERE number = 1),
      array_agg(key) FILTER (WHERE number = 2), array_agg(key # 1) FILTER (WHERE number = 2)
    INTO first_keys, first_sample_keys, second_keys, second_sample_keys
    FROM unnest(terms) WITH ORDINALITY AS given (term, number),
      right(coalesce(nullif(split_part(term, '@', 1), ''), term), 9) AS ending,
      generate_series(1, greatest(1, char_length(ending) - 2)) AS place,
      hashtextextended(substr(ending, place, 3), uuid_hash_extended(organization, 0)) AS key;
  END IF;

  RETURN (
    SELECT ids
    FROM (VALUES
      -- The index returns all contacts with the keys at once, so their number is estimated first, from the sample of one
      -- contact in 256.
      (CASE WHEN terms IS NOT NULL AND NOT EXISTS (
        SELECT FROM contact_texts
        WHERE text_keys(organization_id, contact_id, search_text) @> first_sample_keys
          OR text_keys(organization_id, contact_id, search_text) @> second_sample_keys
        OFFSET 1 + most / 256
      ) THEN ARRAY(
        SELECT contact_id FROM contact_texts
        WHERE text_keys(organization_id, contact_id, search_text) @> first_keys
          OR text_keys(organization_id, contact_id, search_text) @> second_keys
      ) END),
      (CASE WHEN tag IS NOT NULL THEN ARRAY(
        SELECT contact_id FROM contact_tags WHERE organization_id = organization AND tag_id = tag LIMIT most + 1
      ) END),
      -- A phone number is an identity on phone messaging.
      (CASE WHEN channel IS NOT NULL THEN ARRAY(
        SELECT contact_id FROM identities WHERE organization_id = organization AND channel_type = channel
        UNION ALL
        SELECT id FROM contacts
        WHERE organization_id = organization AND channel = 'phone_messaging' AND primary_phone IS NOT NULL
        LIMIT most + 1
      ) END),
      -- Without an owner, an index has the contacts in the stage in the list's order.
      (CASE WHEN stage IS NOT NULL AND owner IS NOT NULL THEN ARRAY(
        SELECT id FROM contacts WHERE organization_id = organization AND lifecycle_stage = stage LIMIT most + 1
      ) END)
    ) AS lookups (ids)
    WHERE cardinality(ids) <= most
    ORDER BY cardinality(ids)
    LIMIT 1
  );
END
$$;
