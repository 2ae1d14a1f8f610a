-- Claims items of locked lanes, at most `most`: a step of `claim_work.sql`, which explains the parameters.
--
-- The first are those of the organization of which the caller holds the fewest, and of an organization those of the lane
-- with the fewest claimed items (`round`). SKIP LOCKED: a settlement locks its item before the lane, even if its lease has
-- ended, so waiting for the item here could be a deadlock.
CREATE OR REPLACE FUNCTION claim_items(
  names text[],
  most integer,
  at timestamptz,
  lease_end timestamptz,
  claim uuid,
  holders uuid[],
  held integer[],
  organization_most integer
) RETURNS SETOF work
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH due AS (
    SELECT
      item.id,
      lane.organization_id,
      lane.next_due,
      lane.allowed,
      leased.items + row_number() OVER (PARTITION BY lane.name ORDER BY item.due_at, item.seq) AS round
    FROM work_lanes lane
    CROSS JOIN LATERAL leased_items(lane.name) leased
    CROSS JOIN LATERAL waiting_items(lane.name, lane.fifo, greatest(0, lane.allowed - leased.items)) item
    WHERE lane.name = ANY(names) AND coalesce(lane.paused_until <= at, true) AND item.due_at <= at
  ), turns AS (
    SELECT
      due.id,
      due.next_due,
      due.round,
      coalesce(holder.items, 0) + row_number() OVER (PARTITION BY due.organization_id ORDER BY round, next_due) AS turn,
      (organization_most + coalesce(holder.items, 0) + 1) / 2 AS share
    FROM due
    LEFT JOIN unnest(holders, held) AS holder (id, items) ON holder.id = due.organization_id
    WHERE due.round <= due.allowed
  ), next AS (
    SELECT id
    FROM turns
    -- An organization leaves as many free as it holds, and a lane of it as many of the organization's as the lane holds.
    WHERE round <= share - turn + 1
    ORDER BY turn, next_due
    LIMIT most
  ), free AS (
    -- No other claim has taken one of them: its lane is locked.
    SELECT ctid AS id
    FROM work
    WHERE ctid = ANY(ARRAY(SELECT id FROM next))
    FOR UPDATE SKIP LOCKED
  )
  UPDATE work
  SET leased_until = lease_end, token = claim, attempt = work.attempt + 1
  WHERE ctid = ANY(ARRAY(SELECT id FROM free))
  RETURNING work.*;
END
$$;
