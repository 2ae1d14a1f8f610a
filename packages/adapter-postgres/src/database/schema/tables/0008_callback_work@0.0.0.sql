-- Stored callbacks are work of the queue. `due_at`, `attempt`, and `token` serve earlier versions only: they claim a body that a
-- later version has stored if it is not processed after a minute, as after a rollback.
ALTER TABLE provider_callbacks
ALTER COLUMN due_at SET DEFAULT now() + interval '1 minute',
ADD COLUMN version integer NOT NULL DEFAULT 1;
DROP INDEX provider_callbacks_due;
-- Commits lock rows in the order of this index.
CREATE UNIQUE INDEX provider_callbacks_key ON provider_callbacks (organization_id, id);

-- Enqueues a body that an earlier version has stored.
CREATE FUNCTION enqueue_callback() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
  INSERT INTO work (organization_id, lane_name, kind, lane, ref, due_at)
  VALUES (
    NEW.organization_id, 'callback:' || NEW.organization_id, 'callback', NEW.organization_id, NEW.id, NEW.received_at
  )
  ON CONFLICT DO NOTHING;
  INSERT INTO work_lanes AS lane (organization_id, name, cap, allowed, fifo, next_due)
  VALUES (NEW.organization_id, 'callback:' || NEW.organization_id, 32, 32, false, NEW.received_at)
  ON CONFLICT (name) DO UPDATE SET next_due = least(lane.next_due, excluded.next_due), emptied_at = NULL;
  RETURN NULL;
END
$$;

CREATE TRIGGER provider_callbacks_enqueued
AFTER INSERT ON provider_callbacks
FOR EACH ROW WHEN (NEW.due_at <= NEW.received_at)
EXECUTE FUNCTION enqueue_callback();

-- Deletes the work of a body that an earlier version has processed. SKIP LOCKED: a commit locks work before bodies.
CREATE FUNCTION finish_callback() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
  DELETE FROM work
  WHERE kind = 'callback' AND ref = ANY(ARRAY(
    SELECT ref FROM work WHERE kind = 'callback' AND ref = OLD.id AND leased_until IS NULL FOR UPDATE SKIP LOCKED
  ));
  RETURN NULL;
END
$$;

CREATE TRIGGER provider_callbacks_finished
AFTER DELETE ON provider_callbacks
FOR EACH ROW WHEN (OLD.token IS NOT NULL)
EXECUTE FUNCTION finish_callback();

-- The bodies that are stored now.
INSERT INTO work (organization_id, lane_name, kind, lane, ref, due_at)
SELECT organization_id, 'callback:' || organization_id, 'callback', organization_id, id, received_at
FROM provider_callbacks
ORDER BY id;
INSERT INTO work_lanes (organization_id, name, cap, allowed, fifo, next_due)
SELECT organization_id, 'callback:' || organization_id, 32, 32, false, min(received_at)
FROM provider_callbacks
GROUP BY organization_id;
