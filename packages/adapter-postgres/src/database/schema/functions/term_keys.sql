-- Returns keys that the text of every contact with a term has (`text_keys`): those of all sequences of three characters in
-- the selective part of the term. That part has no domain of an email address and no beginning of a phone number, because
-- these are frequent: it is the last nine characters before an @, or of the whole term if nothing precedes an @. Every third
-- sequence would do, but then two frequent ones can have many contacts in common that lack the term.
--
-- With `last_bit` 1, they are the flipped keys, which only one contact in 256 has.
CREATE OR REPLACE FUNCTION term_keys(organization uuid, term text, last_bit bigint) RETURNS bigint[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ARRAY(
  SELECT hashtextextended(substr(ending, place, 3), uuid_hash_extended(organization, 0)) # last_bit
  FROM right(coalesce(nullif(split_part(term, '@', 1), ''), term), 9) AS ending,
    generate_series(1, greatest(1, char_length(ending) - 2)) AS place
);
