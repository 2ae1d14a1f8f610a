-- Returns the keys that every text with a term has: of every sequence of three characters among the last nine before an
-- @. The beginnings of phone numbers and the domains of email addresses are frequent, so they are not selective. Every third
-- sequence would do, but then two frequent ones can have many contacts in common that lack the term.
--
-- With the last bit 1, they are the keys that only one contact in 256 has (`text_keys`).
CREATE OR REPLACE FUNCTION term_keys(organization uuid, term text, last_bit bigint) RETURNS bigint[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ARRAY(
  SELECT hashtextextended(substr(ending, place, 3), uuid_hash_extended(organization, 0)) # last_bit
  FROM right(coalesce(nullif(split_part(term, '@', 1), ''), term), 9) AS ending,
    generate_series(1, greatest(1, char_length(ending) - 2)) AS place
);
