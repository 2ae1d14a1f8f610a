-- Returns the keys of a text in the index of all texts: the hash of every sequence of one, two, or three characters.
--
-- The organization seeds the hash, so that the entries of an organization are its own. For a sample of one contact in 256,
-- each key is stored a second time with its last bit flipped: counting the flipped keys estimates how frequent a key is.
CREATE OR REPLACE FUNCTION text_keys(organization uuid, contact uuid, whole text) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
  seed bigint := uuid_hash_extended(organization, 0);
  keys bigint[] := '{}';
  first text := '';
  second text := '';
  third text;
BEGIN
  FOREACH third IN ARRAY string_to_array(whole, NULL) LOOP
    keys := keys || ARRAY[
      hashtextextended(third, seed),
      hashtextextended(second || third, seed),
      hashtextextended(first || second || third, seed)
    ];
    first := second;
    second := third;
  END LOOP;
  IF uuid_hash(contact) & 255 = 0 THEN
    keys := keys || ARRAY(SELECT key # 1 FROM unnest(keys) AS key);
  END IF;
  RETURN keys;
END
$$;

-- A function that returns other keys needs a migration that drops this index. A small pending list: every search reads
-- all of it, and one writer has to merge all of it at once.
CREATE INDEX IF NOT EXISTS contact_texts_keys ON contact_texts
USING gin (text_keys(organization_id, contact_id, search_text))
WITH (gin_pending_list_limit = 256);
-- Analyzing the keys would take seconds, and no plan depends on them.
ALTER INDEX contact_texts_keys ALTER COLUMN 1 SET STATISTICS 0;
