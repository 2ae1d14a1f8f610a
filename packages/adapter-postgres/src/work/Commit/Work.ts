/** The work that changes settle, add and throttle. */
import type { Changes, Settlement } from "@messaging-crm/core/Changes"
import { DateTime } from "effect"
import { date } from "../../database/Columns.ts"
import * as Lanes from "../Lanes.ts"
import { anyNumber, exactly, type Part, type Values } from "./Statement.ts"

export const settled = ({ parameter }: Values, { claimed, ...settlement }: Settlement): Part => {
  const isHeld = `kind = ${parameter(claimed.kind)} AND ref = ${parameter(claimed.ref)}::uuid AND token = ${
    parameter(claimed.token)
  }::uuid`
  const bodies = {
    hold: () => `SELECT 1 FROM work WHERE ${isHeld} FOR SHARE`,
    finish: () => `DELETE FROM work WHERE ${isHeld} RETURNING 1`,
    finish_if_held: () => `DELETE FROM work WHERE ${isHeld} RETURNING 1`,
    postpone: () => `
      UPDATE work
      SET due_at = ${"due_at" in settlement ? parameter(date(settlement.due_at)) : "due_at"},
        leased_until = NULL, token = NULL
      WHERE ${isHeld}
      RETURNING 1`
  }
  const mayBeGone = settlement.outcome === "finish_if_held"
  return {
    name: "settled",
    body: bodies[settlement.outcome](),
    requires: mayBeGone ? anyNumber("settled") : exactly("settled", 1),
    isLease: !mayBeGone
  }
}

/** The work of the changes and of the events, and what becomes of its lanes. */
export const queued = (
  { json, parameter }: Values,
  { enqueue = [], raise = [], settle, throttle = [] }: Changes,
  trace: string | null
): ReadonlyArray<Part> => {
  const sources = [
    ...(enqueue.length === 0 ? [] : [
      `SELECT kind, lane, ref, due_at FROM jsonb_to_recordset(${
        json(enqueue)
      }) AS g (kind text, lane uuid, ref uuid, due_at timestamptz)`
    ]),
    ...(raise.length === 0
      ? []
      : [
        "SELECT 'webhook_delivery' AS kind, webhook_id AS lane, delivery_id AS ref, created_at AS due_at FROM events_raised"
      ])
  ]
  const lane = settle === undefined || settle.outcome === "hold" ? [] : [Lanes.settled(
    settle.claimed,
    settle.outcome === "postpone" ? DateTime.formatIso(settle.due_at) : null
  )]
  const laneChanges = Lanes.folded([...lane, ...throttle.map(Lanes.throttled)])
  if (sources.length === 0 && laneChanges.length === 0) return []
  const hasWork = sources.length > 0
  const ctes = [
    ...(hasWork ? [Lanes.insertWork(sources.join(" UNION ALL "), "$1", parameter(trace))] : []),
    ...Lanes.writeLanes(hasWork, laneChanges, parameter)
  ]
  return ctes.map(({ body, name }): Part => ({ name, body, requires: anyNumber(name) }))
}
