-- Returns whether a contact matches every filter but the owner. Its own row has copies of all filtered values.
--
-- `tagged` and `known` are what the lists of its tags and identities must contain. Text is compared by `strpos`: `LIKE`
-- backtracks, which takes seconds for a text that is made for it. PostgreSQL inlines this function.
CREATE OR REPLACE FUNCTION contact_matches(
  contact_stage text, tags jsonb, identities jsonb, primary_phone text, search_text text,
  stage text, tagged jsonb, channel text, known jsonb, terms text[]
) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (stage IS NULL OR contact_stage = stage)
  AND (tagged IS NULL OR tags @> tagged)
  AND (channel IS NULL OR (channel = 'phone_messaging' AND primary_phone IS NOT NULL) OR identities @> known)
  AND (terms IS NULL OR strpos(search_text, terms[1]) > 0 OR strpos(search_text, terms[2]) > 0);
