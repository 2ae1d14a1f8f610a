/** The moves of organizations that have not ended, and the commands that end them. */
import * as Moves from "@messaging-crm/adapter-postgres/Moves"
import type { OrganizationId } from "@messaging-crm/core/Ids"

/** The moves that a cell has stored. Its name is null with `DATABASE_URL`. */
export interface CellMoves {
  readonly cell: string | null
  readonly moves: ReadonlyArray<Moves.Move>
}

/** A move that has not ended. */
export interface UnfinishedMove {
  readonly organization_id: OrganizationId
  /** Whether the organization's writes are rejected until the move is continued or undone. */
  readonly is_closed: boolean
  readonly detail: string
  readonly advice: string
}

const command = "messaging-crm organizations move"

/** Returns the moves that have not ended, each once, from those of all cells that can be read. */
export const unfinishedMoves = (cells: ReadonlyArray<CellMoves>): ReadonlyArray<UnfinishedMove> => {
  const all = cells.flatMap(({ cell, moves }) => moves.map((move) => ({ ...move, cell })))
  const byOrganization = Map.groupBy(all, ({ organization_id }) => organization_id)
  return Array.from(byOrganization, ([organization_id, moves]) => {
    const leaving = moves.find(({ state }) => Moves.isLeaving(state))
    const arriving = moves.find(({ state }) => !Moves.isLeaving(state))
    const [from, to] = [leaving?.cell ?? arriving?.other, arriving?.cell ?? leaving?.other]
    const has_arrived = arriving?.state === "arrived"
    const is_closed = !has_arrived && (leaving?.state === "closed" || leaving?.state === "departed")
    const toward = `${organization_id} from ${from} to ${to}`
    const proceed = `Unless the command still runs, continue with \`${command} ${organization_id} --to ${to}\``
    return {
      organization_id,
      is_closed,
      detail: is_closed ? `${toward}: closed for writes` : `${toward}: ${has_arrived ? "arrived" : "in progress"}`,
      advice: has_arrived ? `${proceed}.` : `${proceed}, or undo with \`${command} ${organization_id} --undo\`.`
    }
  })
}
