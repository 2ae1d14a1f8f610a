import type { Move, MoveState } from "@messaging-crm/adapter-postgres/Moves"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { assert, it } from "vitest"
import { unfinishedMoves } from "../../src/cli/UnfinishedMoves.ts"

const organization_id = OrganizationId.make("01990000-0000-7000-8000-000000000001")

const move = (other: string, state: MoveState): Move => ({ organization_id, other, state })

const inCells = (leaving: MoveState | null, arriving: MoveState | null) =>
  unfinishedMoves([
    { cell: "old", moves: leaving === null ? [] : [move("new", leaving)] },
    { cell: "new", moves: arriving === null ? [] : [move("old", arriving)] }
  ])

it("a move is reported once, as closed until it has arrived, with the commands that end it", () => {
  const proceed =
    `Unless the command still runs, continue with \`messaging-crm organizations move ${organization_id} --to new\``
  const either = `${proceed}, or undo with \`messaging-crm organizations move ${organization_id} --undo\`.`
  for (
    const [leaving, arriving, is_closed, state, advice] of [
      [null, "arriving", false, "in progress", either],
      ["open", "arriving", false, "in progress", either],
      ["draining", "arriving", false, "in progress", either],
      ["closed", "arriving", true, "closed for writes", either],
      ["departed", "arriving", true, "closed for writes", either],
      ["departed", "arrived", false, "arrived", `${proceed}.`],
      [null, "arrived", false, "arrived", `${proceed}.`],
      // The new cell cannot be read.
      ["closed", null, true, "closed for writes", either],
      ["departed", null, true, "closed for writes", either]
    ] as const
  ) {
    assert.deepStrictEqual(
      inCells(leaving, arriving),
      [{ organization_id, is_closed, detail: `${organization_id} from old to new: ${state}`, advice }],
      `${leaving}, ${arriving}`
    )
  }
  assert.deepStrictEqual(inCells(null, null), [])
})
