/** Work that a commit settles, expedites, and enqueues. `Lanes.ts` changes its lanes. */
import type { Enqueued, Settlement } from "@messaging-crm/core/Changes"
import { inOrder, isAmong, type Owned, type Part, type Traced, type Values } from "./Part.ts"

type Outcome = Settlement["outcome"]

/** The assignments of the outcomes that keep an item, in addition to those that end its lease. */
const assignments: Readonly<Record<Exclude<Outcome, "finish" | "finish_if_leased" | "keep">, string>> = {
  postpone: "due_at = claim.due_at",
  defect: "due_at = claim.due_at, defects = item.defects + 1",
  release: "attempt = item.attempt - 1"
}

/** Returns the text that gives an outcome to each `item` of a `claim`, under the condition that the claim still has it. */
const settleAs = (outcome: Outcome, claims: string, isLeased: string): string => {
  switch (outcome) {
    case "keep":
      return `SELECT 1 FROM work item, ${claims} WHERE ${isLeased} FOR SHARE OF item`
    case "finish":
    case "finish_if_leased":
      return `DELETE FROM work item USING ${claims} WHERE ${isLeased} RETURNING 1`
    default:
      return `UPDATE work item SET ${assignments[outcome]}, leased_until = NULL, token = NULL
    FROM ${claims} WHERE ${isLeased} RETURNING 1`
  }
}

/** Settles claims of one kind, all with the same outcome. */
export const settleItems = (
  { json, parameter }: Values,
  { claimed: { kind }, outcome }: Settlement,
  settlements: ReadonlyArray<Settlement>
): Part => {
  const given = json(settlements.map(({ claimed: { ref, token }, ...settlement }) => ({ ref, token, ...settlement })))
  const claims = `jsonb_to_recordset(${given}) AS claim (ref uuid, token uuid, due_at timestamptz)`
  const isKind = `item.kind = ${parameter(kind)}`
  const isItem = isAmong("item.ref", `${parameter(settlements.map(({ claimed }) => claimed.ref))}::uuid[]`)
  const body = settleAs(
    outcome,
    claims,
    `${isKind} AND ${isItem} AND item.ref = claim.ref AND item.token = claim.token`
  )
  return outcome === "finish_if_leased"
    ? { name: "settled", body }
    : { name: "settled", body, rows: settlements.length, failure: "lease lost" }
}

/**
 * Makes waiting items due at another time.
 *
 * SKIP LOCKED: a locked item is being claimed or settled. Its settlement may wait for the rows that this statement writes.
 */
export const expediteItems = (
  { json, parameter }: Values,
  work: ReadonlyArray<Owned<Enqueued>>
): ReadonlyArray<Part> => [
  {
    name: "work_waiting",
    body: `
    SELECT item.kind, item.ref, given.due_at
    FROM work item
    JOIN jsonb_to_recordset(${json(work)}) AS given (organization_id uuid, kind text, ref uuid, due_at timestamptz)
      ON item.organization_id = given.organization_id AND item.kind = given.kind AND item.ref = given.ref
    WHERE ${isAmong("item.ref", `${parameter(work.map(({ ref }) => ref))}::uuid[]`)} AND item.leased_until IS NULL
    FOR UPDATE OF item SKIP LOCKED`,
    rows: work.length
  },
  {
    name: "work_expedited",
    body: `
    UPDATE work item
    SET due_at = waiting.due_at
    FROM work_waiting waiting
    WHERE item.kind = waiting.kind AND item.ref = waiting.ref AND ${
      isAmong("item.ref", "ARRAY(SELECT ref FROM work_waiting)")
    }
    RETURNING item.organization_id, item.lane_name, item.due_at`
  }
]

/** Inserts what `source` selects as work. */
const insertItems = (source: string): Part => ({
  name: "work_inserted",
  body: `
    INSERT INTO work (organization_id, lane_name, kind, lane, ref, due_at, trace)
    SELECT organization_id, kind || ':' || lane, kind, lane, ref, due_at, trace
    FROM (${source}
    ) AS items
    ON CONFLICT (kind, ref) DO NOTHING
    RETURNING organization_id, lane_name, due_at`
})

const enqueuedItems = ({ json }: Values, enqueue: ReadonlyArray<Owned<Enqueued> & Traced>): string => `
      SELECT *
      FROM jsonb_to_recordset(${json(inOrder(enqueue, ({ kind, ref }) => `${kind}|${ref}`))}) AS enqueued (
        organization_id uuid, kind text, lane uuid, ref uuid, due_at timestamptz, trace text
      )`

/** Enqueues the work of the changes and of their events. Each of `selected` is a query of work from other parts of the statement. */
export const enqueueItems = (
  values: Values,
  enqueue: ReadonlyArray<Owned<Enqueued> & Traced>,
  selected: ReadonlyArray<string>
): ReadonlyArray<Part> => {
  const sources = enqueue.length === 0 ? selected : [enqueuedItems(values, enqueue), ...selected]
  return sources.length === 0 ? [] : [insertItems(sources.join("\n      UNION ALL"))]
}
