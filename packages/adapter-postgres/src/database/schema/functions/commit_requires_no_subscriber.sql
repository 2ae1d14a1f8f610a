-- Unused: commits of the previous version, which can run on the same database during an upgrade, still call it.
-- Raises an error that rolls back its statement: `MC002` if a webhook subscribes to an event that the statement stores alone.
CREATE OR REPLACE FUNCTION commit_requires_no_subscriber(holds boolean) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
  IF NOT holds THEN
    RAISE EXCEPTION 'a webhook subscribes to the event' USING ERRCODE = 'MC002';
  END IF;
END
$$;
