-- Fails if the database accepts no writes: it is read-only, or less than a megabyte of its disk is free.
--
-- A full disk still accepts a row that fits into a page. So the function also writes a temporary file of a megabyte, which
-- PostgreSQL makes of a result that exceeds `work_mem`, and removes afterwards. `local`: the check concerns only this
-- server's disk, and does not wait for a standby.
CREATE OR REPLACE FUNCTION require_writable() RETURNS void
LANGUAGE plpgsql
SET work_mem = '64kB'
AS $$
BEGIN
  PERFORM set_config('synchronous_commit', 'local', true);
  PERFORM count(*) FROM generate_series(1, 30000);
  INSERT INTO write_probes VALUES (true, clock_timestamp())
  ON CONFLICT (id) DO UPDATE SET written_at = excluded.written_at;
END
$$;
