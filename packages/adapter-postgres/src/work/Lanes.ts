/**
 * Lanes of the work queue in PostgreSQL: how a write wakes them.
 *
 * Only claims decide which items of a lane are given out, while they hold the lock
 * of its row. Writers do not change the row if the lane will be checked anyway. That
 * is so if it is already due, or if it is `closed`: then settling one of its items
 * opens it again (the first item of a fifo lane, or one of those that fill it).
 *
 * A settlement of the first item of a fifo lane always locks the lane, so it waits
 * for a claim that is checking it: that claim may be about to close the lane because
 * of this item.
 *
 * A writer decides by its snapshot, while a concurrent claim may find no waiting item
 * and make the lane idle (`emptied_at`). So an empty lane is checked again after 100
 * ms and after one second. A writer that adds an item after the first of these checks
 * wakes the lane. A lane is deleted only after it has been empty for longer than any
 * statement runs.
 */
import type { Throttle } from "@messaging-crm/core/Changes"
import { lanes, type Work } from "@messaging-crm/core/WorkQueue"
import { DateTime } from "effect"

/** Adds a parameter to a statement, and returns its placeholder. */
export type Parameter = (value: unknown) => string

export const laneName = ({ kind, lane }: Pick<Work, "kind" | "lane">): string => `${kind}:${lane}`

const rules = Object.entries(lanes).map(([kind, { cap, fifo }]) => `('${kind}', ${cap}, ${fifo})`).join(", ")

/** What a statement changes in a lane, besides the items that it adds. */
export interface LaneChange {
  readonly name: string
  /** How an item of the lane was settled; null if none was. */
  readonly outcome: "finish" | "postpone" | null
  readonly due_at: string | null
  readonly cap: number | null
  readonly until: string | null
}

export const settled = (lane: Pick<Work, "kind" | "lane">, due_at: string | null): LaneChange => ({
  name: laneName(lane),
  outcome: due_at === null ? "finish" : "postpone",
  due_at,
  cap: null,
  until: null
})

export const throttled = ({ cap, kind, lane, until }: Throttle): LaneChange => ({
  name: laneName({ kind, lane }),
  outcome: null,
  due_at: null,
  cap,
  until: until === null ? null : DateTime.formatIso(until)
})

/** A common table expression. */
export interface Cte {
  readonly name: string
  readonly body: string
}

/** Merges the changes of each lane into one. */
export const folded = (changes: ReadonlyArray<LaneChange>): ReadonlyArray<LaneChange> =>
  Array.from(Map.groupBy(changes, ({ name }) => name), ([name, same]) => ({
    name,
    outcome: same.find(({ outcome }) => outcome !== null)?.outcome ?? null,
    due_at: same.find(({ due_at }) => due_at !== null)?.due_at ?? null,
    cap: same.find(({ cap }) => cap !== null)?.cap ?? null,
    until: same.find(({ until }) => until !== null)?.until ?? null
  }))

/** The common table expression that inserts what `source` selects as work, as `work_written`. */
export const insertWork = (source: string): Cte => ({
  name: "work_written",
  body: `
    INSERT INTO work (organization_id, lane_name, kind, lane, ref, due_at, trace)
    SELECT organization_id, kind || ':' || lane, kind, lane, ref, due_at, trace
    FROM (${source}) AS given
    ON CONFLICT (kind, ref) DO NOTHING
    RETURNING organization_id, lane_name, kind, due_at`
})

/** Inserts the lanes that do not exist. It runs after the locks, so a lane that was deleted meanwhile is inserted again. */
const openLanes: Cte = {
  name: "lanes_opened",
  body: `
    INSERT INTO work_lanes (organization_id, name, cap, allowed, fifo, next_due, paused_until)
    SELECT w.organization_id, g.name, k.cap, coalesce(least(k.cap, g.cap), k.cap), k.fifo,
      greatest(g.due_at, g.until), g.until
    FROM lanes_given g
    JOIN (SELECT DISTINCT organization_id, lane_name FROM work_written) w ON w.lane_name = g.name
    JOIN (VALUES ${rules}) AS k (kind, cap, fifo) ON k.kind = split_part(g.name, ':', 1)
    WHERE g.due_at IS NOT NULL AND (SELECT count(*) FROM lanes_written) >= 0
    ORDER BY g.name
    ON CONFLICT (name) DO NOTHING
    RETURNING name`
}

/**
 * The common table expressions that wake the lanes of `work_written` (if `hasWork`)
 * and apply the given changes. All statements lock lanes in the same order.
 *
 * Settling an item opens its lane, which is then due at once. If the postponed first
 * item of a fifo lane is settled, the lane is due at that item's time.
 *
 * The lanes are named twice, in a join and in an array, so that no estimate of the
 * planner makes it read all lanes.
 */
export const writeLanes = (
  hasWork: boolean,
  changes: ReadonlyArray<LaneChange>,
  parameter: Parameter
): ReadonlyArray<Cte> => {
  const none = "NULL::text AS outcome, due_at, NULL::integer AS cap, NULL::timestamptz AS until"
  const sources = [
    ...(hasWork ? [`SELECT lane_name AS name, ${none} FROM work_written`] : []),
    ...(changes.length === 0 ? [] : [`
      SELECT name, outcome, due_at, cap, until
      FROM jsonb_to_recordset(${parameter(JSON.stringify(changes))}::jsonb)
        AS given (name text, outcome text, due_at timestamptz, cap integer, until timestamptz)
    `])
  ]
  return [
    {
      name: "lanes_given",
      body: `
    SELECT name, max(outcome) AS outcome, min(due_at) AS due_at, max(cap) AS cap, max(until) AS until
    FROM (${sources.join(" UNION ALL ")}) AS given
    GROUP BY name`
    },
    {
      name: "lanes_locked",
      body: `
    SELECT l.name, g.outcome, g.due_at, g.cap, g.until
    FROM work_lanes l
    JOIN lanes_given g ON g.name = l.name
    WHERE l.name = ANY(ARRAY(SELECT name FROM lanes_given))
      AND (
        g.cap IS NOT NULL
        OR ((l.closed OR l.fifo) AND g.outcome IS NOT NULL)
        OR (
          NOT l.closed AND g.due_at IS NOT NULL
          AND (l.emptied_at IS NOT NULL OR l.next_due > greatest(l.paused_until, g.due_at))
        )
      )
    ORDER BY l.name
    FOR UPDATE OF l`
    },
    {
      name: "lanes_written",
      body: `
    UPDATE work_lanes l
    SET
      allowed = CASE WHEN g.cap IS NULL THEN l.allowed ELSE least(l.cap, g.cap) END,
      paused_until = CASE WHEN g.cap IS NULL THEN l.paused_until ELSE g.until END,
      closed = l.closed AND g.cap IS NULL AND (g.outcome IS NULL OR (g.outcome = 'postpone' AND l.fifo)),
      emptied_at = CASE WHEN g.due_at IS NULL THEN l.emptied_at END,
      next_due = greatest(
        CASE WHEN g.cap IS NULL THEN l.paused_until END,
        l.served_at,
        CASE
          WHEN g.cap IS NOT NULL THEN '-infinity'
          WHEN l.closed AND l.fifo AND g.outcome = 'postpone' THEN g.due_at
          WHEN l.closed AND g.outcome IS NOT NULL THEN '-infinity'
          WHEN l.closed THEN l.next_due
          ELSE least(l.next_due, g.due_at)
        END
      )
    FROM lanes_locked g
    WHERE l.name = g.name AND l.name = ANY(ARRAY(SELECT name FROM lanes_locked))
    RETURNING l.name`
    },
    ...(hasWork ? [openLanes] : [])
  ]
}
