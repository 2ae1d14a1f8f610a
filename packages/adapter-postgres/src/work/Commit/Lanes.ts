/** The lanes that a commit opens, throttles, and inserts, in the order of its steps. `../WorkQueue.ts` describes lanes. */
import { isThrottled, type Settlement, type Throttle } from "@messaging-crm/core/Changes"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { lanes, type Work } from "@messaging-crm/core/WorkQueue"
import type { Owned, Part, Values } from "./Part.ts"

/** Returns the name of a lane, which begins with its kind. */
export const nameOf = ({ kind, lane }: Pick<Work, "kind" | "lane">): string => `${kind}:${lane}`

/** How a settlement or a throttle changes a lane. Both open it. */
interface LaneChange {
  readonly organization_id: OrganizationId
  readonly name: string
  /** Whether the lane is inserted if it does not exist. */
  readonly inserts: boolean
  /** When an item that is released in this lane is due; null without such an item. */
  readonly due_at?: unknown
  readonly cap?: Throttle["cap"]
  readonly until?: Throttle["until"]
}

const changesOfSettlement = (settlement: Settlement): ReadonlyArray<LaneChange> => {
  const { claimed, outcome } = settlement
  if (outcome === "hold") return []
  const released = outcome === "release" ? "-infinity" : null
  return [{
    organization_id: claimed.organization_id,
    name: nameOf(claimed),
    inserts: false,
    due_at: "due_at" in settlement ? settlement.due_at : released
  }]
}

const changeOfThrottle = ({ cap, kind, lane, organization_id, until }: Owned<Throttle>): LaneChange => ({
  organization_id,
  name: nameOf({ kind, lane }),
  inserts: isThrottled({ cap, kind, until }),
  cap,
  until
})

/** The changes of the lanes of inserted work, in addition to others. */
const of_inserted_work = `
      UNION ALL
      SELECT organization_id, lane_name, true, due_at, NULL, NULL, false
      FROM work_inserted`

/** Gathers the changes of each lane in one row: `cap` is null without a throttle, `due_at` without a new or released item. */
const gatherChanges = ({ json }: Values, changes: ReadonlyArray<LaneChange>, hasWork: boolean): Part => ({
  name: "lane_changes",
  body: `
    SELECT organization_id, name, bool_or(opens) AS opens, bool_or(inserts) AS inserts, min(due_at) AS due_at,
      max(cap) AS cap, max(until) AS until
    FROM (
      SELECT *, true AS opens
      FROM jsonb_to_recordset(${json(changes)}) AS given (
        organization_id uuid, name text, inserts boolean, due_at timestamptz, cap integer, until timestamptz
      )${hasWork ? of_inserted_work : ""}
    ) all_changes
    GROUP BY organization_id, name`
})

/**
 * Locks the lanes whose row must change: those that are throttled, closed or fifo lanes of settled items, and lanes of new
 * or released items that are empty or would be checked too late. All statements lock lanes in the same order.
 *
 * The lanes are named twice, in a join and in an array, so that no estimate of the
 * planner makes it read all lanes.
 */
const lanes_locked: Part = {
  name: "lanes_locked",
  body: `
    SELECT l.name, c.opens, c.due_at, c.cap, c.until
    FROM work_lanes l
    JOIN lane_changes c ON c.name = l.name
    WHERE l.name = ANY(ARRAY(SELECT name FROM lane_changes))
      AND (
        c.cap IS NOT NULL
        OR (c.opens AND (l.closed OR l.fifo))
        OR (
          c.due_at IS NOT NULL AND NOT l.closed
          AND (l.emptied_at IS NOT NULL OR l.next_due > greatest(l.paused_until, c.due_at))
        )
      )
    ORDER BY l.name
    FOR UPDATE OF l`
}

/** Opens and throttles the locked lanes. */
const lanes_written: Part = {
  name: "lanes_written",
  body: `
    UPDATE work_lanes l
    SET
      allowed = CASE WHEN c.cap IS NULL THEN l.allowed ELSE least(l.cap, c.cap) END,
      paused_until = CASE WHEN c.cap IS NULL THEN l.paused_until ELSE c.until END,
      closed = l.closed AND NOT c.opens,
      emptied_at = CASE WHEN c.due_at IS NULL THEN l.emptied_at END,
      next_due = greatest(
        CASE WHEN c.cap IS NULL THEN l.paused_until END,
        l.served_at,
        CASE
          WHEN c.opens THEN '-infinity'
          WHEN l.closed THEN l.next_due
          ELSE least(l.next_due, c.due_at)
        END
      )
    FROM lanes_locked c
    WHERE l.name = c.name AND l.name = ANY(ARRAY(SELECT name FROM lanes_locked))
    RETURNING l.name`
}

const kinds = Object.entries(lanes).map(([kind, { cap, fifo }]) => `('${kind}', ${cap}, ${fifo})`).join(", ")

/** Inserts the lanes that do not exist. It runs after the locks, so a lane that was deleted meanwhile is inserted again. */
const lanes_inserted: Part = {
  name: "lanes_inserted",
  body: `
    INSERT INTO work_lanes (organization_id, name, cap, allowed, fifo, next_due, paused_until)
    SELECT c.organization_id, c.name, k.cap, coalesce(least(k.cap, c.cap), k.cap), k.fifo,
      coalesce(greatest(c.due_at, c.until), '-infinity'), c.until
    FROM lane_changes c
    JOIN (VALUES ${kinds}) AS k (kind, cap, fifo) ON k.kind = split_part(c.name, ':', 1)
    WHERE c.inserts AND (SELECT count(*) FROM lanes_written) >= 0
    ORDER BY c.name
    ON CONFLICT (name) DO NOTHING
    RETURNING name`
}

/** The same with throttles: a lane that another commit inserted meanwhile, without the throttle, is a conflict. */
const throttled_lanes_inserted: Part = {
  ...lanes_inserted,
  requires: `(SELECT count(*) FROM lanes_inserted) >= 0 AND NOT EXISTS (
    SELECT FROM lane_changes c
    WHERE c.inserts AND c.cap IS NOT NULL
      AND NOT EXISTS (SELECT FROM lanes_locked l WHERE l.name = c.name)
      AND NOT EXISTS (SELECT FROM lanes_inserted i WHERE i.name = c.name)
  )`
}

/** Changes the lanes of the settled and inserted work, and the throttled ones. */
export const changeLanes = (
  values: Values,
  { hasWork, settle, throttle }: {
    /** Whether the commit inserts work. */
    readonly hasWork: boolean
    readonly settle: ReadonlyArray<Settlement>
    readonly throttle: ReadonlyArray<Owned<Throttle>>
  }
): ReadonlyArray<Part> => {
  const throttles = new Map(throttle.map((each) => [nameOf(each), changeOfThrottle(each)]))
  const changes = [...settle.flatMap(changesOfSettlement), ...throttles.values()]
  if (!hasWork && changes.length === 0) return []
  return [
    gatherChanges(values, changes, hasWork),
    lanes_locked,
    lanes_written,
    ...(hasWork || changes.some(({ inserts }) => inserts)
      ? [throttles.size > 0 ? throttled_lanes_inserted : lanes_inserted]
      : [])
  ]
}
