/** The run of `organizations move`, over the databases of all cells. */
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { type Duration, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { move, type MoveCell, MoveRejected, undo } from "../cells/Moving.ts"
import { reasonOf } from "../Database.ts"
import * as Layers from "../Layers.ts"
import { Rejected } from "./Admin.ts"
import { type ConfiguredDatabase, databases } from "./AdminOperations.ts"
import * as Print from "./Print.ts"

/** Opens the database of a cell. */
const open = Effect.fnUntraced(function*({ cell, url }: ConfiguredDatabase) {
  if (cell === null) {
    return yield* new MoveRejected({ message: "Organizations move between cells. Set CELLS instead of DATABASE_URL." })
  }
  const sql = yield* Effect.provide(SqlClient.SqlClient, yield* Layer.build(Layers.database(url)))
  return { name: cell, sql } satisfies MoveCell
})

/** Moves an organization to a cell, or undoes its move. Its steps appear on stderr. */
export const run = (organization_id: OrganizationId, to: Option.Option<string>, pause_max: Duration.Duration) =>
  Effect.gen(function*() {
    const cells = yield* Effect.forEach(yield* databases, open)
    const request = { organization_id, cells, onStep: (step: string) => Print.note(`${step}.`) }
    return Option.isSome(to)
      ? { cell: to.value, ...yield* move(request, to.value, pause_max) }
      : { cell: yield* undo(request), copied: null, closed_ms: null }
  }).pipe(
    Effect.scoped,
    Effect.catchTags({
      MoveRejected: ({ message }) => new Rejected({ message }),
      RowsDiffer: ({ message }) => new Rejected({ message: `${message}. The organization stays where it was.` }),
      TablesDiffer: ({ message }) => new Rejected({ message: `${message}.` }),
      OrganizationStored: ({ message }) => new Rejected({ message: `${message}.` }),
      MoveTakenOver: () => new Rejected({ message: "Another command continues this move. Wait for its end." }),
      SqlError: (error) =>
        new Rejected({
          message: `A database cannot be used: ${reasonOf(error)}. Run the command again to continue, or with --undo.`
        })
    })
  )
