-- Prevents changes of audit records.
CREATE OR REPLACE FUNCTION refuse_update() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
  RAISE EXCEPTION 'records of % are never changed', TG_TABLE_NAME;
END
$$;

CREATE OR REPLACE TRIGGER audit_records_are_final
BEFORE UPDATE ON audit_records
FOR EACH STATEMENT EXECUTE FUNCTION refuse_update();
