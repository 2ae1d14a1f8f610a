-- Prevents changes of audit records.
CREATE OR REPLACE FUNCTION reject_update() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
  RAISE EXCEPTION 'records of % cannot be changed', TG_TABLE_NAME;
END
$$;

CREATE OR REPLACE TRIGGER audit_records_are_final
BEFORE UPDATE ON audit_records
FOR EACH STATEMENT EXECUTE FUNCTION reject_update();
