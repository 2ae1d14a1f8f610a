-- Raises an error that rolls back its statement: `MC001` if the lease of the claimed item has ended (not `held`), otherwise
-- `serialization_failure` if another condition of the commit is not met (not `stands`).
CREATE OR REPLACE FUNCTION commit_requires(held boolean, stands boolean) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
  IF NOT held THEN
    RAISE EXCEPTION 'the lease of the claimed item has ended' USING ERRCODE = 'MC001';
  END IF;
  IF NOT stands THEN
    RAISE EXCEPTION 'a row has changed since it was loaded' USING ERRCODE = 'serialization_failure';
  END IF;
END
$$;
