-- The trigger of each row of an organization that is being moved. Only its move creates such triggers, so other organizations
-- and times have none. The argument is the organization's ID.
--
-- While the organization is closed, it rejects writes (`MC002`), except for those of statements that also write other
-- organizations: a purge and a sweep skip its rows.
--
-- A writer locks the organization's row, so that the move can wait until all writers that have not seen `closed` have ended.
CREATE OR REPLACE FUNCTION guard_organization() RETURNS trigger
LANGUAGE plpgsql
AS $$
DECLARE
  organization CONSTANT uuid := TG_ARGV[0];
  is_work CONSTANT boolean := TG_TABLE_NAME IN ('work', 'work_lanes');
  current text;
BEGIN
  SELECT state INTO current FROM organization_moves WHERE organization_id = organization;
  IF current IN ('open', 'draining') THEN
    PERFORM FROM organizations WHERE id = organization FOR KEY SHARE;
    SELECT state INTO current FROM organization_moves WHERE organization_id = organization;
  END IF;
  IF current IN ('closed', 'departed', 'arriving') THEN
    IF TG_OP <> 'INSERT' AND is_work OR TG_OP = 'DELETE' AND TG_TABLE_NAME IN (
      'audit_records', 'idempotency_keys', 'media', 'messages', 'provider_messages', 'sends', 'storage_use', 'webhook_events'
    ) THEN
      RETURN NULL;
    END IF;
    RAISE EXCEPTION 'the organization is closed for writes' USING ERRCODE = 'MC002';
  END IF;
  IF TG_OP = 'DELETE' THEN
    RETURN OLD;
  END IF;
  -- No claim finds a lane of an organization whose work must end.
  IF current = 'draining' AND TG_TABLE_NAME = 'work_lanes' THEN
    NEW.next_due := 'infinity';
  END IF;
  RETURN NEW;
END
$$;
