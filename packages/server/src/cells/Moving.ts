/**
 * Moves an organization from one cell to another.
 *
 * Each run of the command continues where an earlier one has stopped, and takes the move over from one that still runs. The steps
 * are those of `adapter-postgres/src/moves`.
 */
import * as Moves from "@messaging-crm/adapter-postgres/Moves"
import * as Steps from "@messaging-crm/adapter-postgres/MoveSteps"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Data, type Duration, Effect, Exit, Option } from "effect"

/** A cell with its database. */
export interface MoveCell {
  readonly name: string
  readonly sql: Steps.Database
}

/** The organization cannot be moved, or the move cannot be undone. The message is shown to the user. */
export class MoveRejected extends Data.TaggedError("MoveRejected")<{ readonly message: string }> {}

const reject = (message: string) => new MoveRejected({ message })

/** The state of an organization and of its move in one cell. */
interface Found {
  readonly cell: MoveCell
  readonly has_organization: boolean
  readonly move: Moves.Move | null
}

interface Request {
  readonly organization_id: OrganizationId
  readonly cells: ReadonlyArray<MoveCell>
  /** Called with a sentence about the step that begins. */
  readonly onStep: (step: string) => Effect.Effect<void>
}

/** The cells of a move, and the states in which an earlier command has left it. */
interface Planned {
  readonly source: MoveCell
  readonly target: MoveCell
  readonly leaving: Moves.MoveState | null
  readonly arriving: Moves.MoveState | null
}

/** Asks all cells at once. One that is down matters only if no other cell has the organization. */
const look = Effect.fnUntraced(function*({ cells, organization_id }: Request) {
  const asked = Effect.all([Steps.hasOrganization(organization_id), Moves.find(organization_id)])
  const exits = yield* Effect.forEach(cells, (cell) =>
    Effect.exit(Effect.map(
      Steps.on(cell.sql, asked),
      ([has_organization, move]): Found => ({ cell, has_organization, move: Option.getOrNull(move) })
    )), { concurrency: "unbounded" })
  const found = exits.flatMap((exit) => Exit.isSuccess(exit) ? [exit.value] : [])
  const failed = exits.find(Exit.isFailure)
  const isFound = found.some(({ has_organization, move }) => has_organization || move !== null)
  if (failed !== undefined && !isFound) return yield* Effect.failCause(failed.cause)
  return found
})

const isLeaving = ({ move }: Found): boolean => move !== null && Moves.isLeaving(move.state)
const isArriving = ({ move }: Found): boolean => move !== null && !Moves.isLeaving(move.state)

/** Returns the move that an earlier command has begun, or null if there is no move. */
const planned = Effect.fnUntraced(function*(request: Request, found: ReadonlyArray<Found>) {
  const source = found.find(isLeaving)
  const target = found.find(isArriving)
  if (source === undefined && target === undefined) return null
  const cellOf = (name: string | undefined) =>
    Effect.fromNullishOr(request.cells.find((cell) => cell.name === name)).pipe(
      Effect.mapError(() =>
        reject(`CELLS has no cell ${name}, to which the organization is being moved, or from which.`)
      )
    )
  const plan: Planned = {
    source: source?.cell ?? (yield* cellOf(target?.move?.other)),
    target: target?.cell ?? (yield* cellOf(source?.move?.other)),
    leaving: source?.move?.state ?? null,
    arriving: target?.move?.state ?? null
  }
  return plan
})

const transferOf = ({ organization_id }: Request, { source, target }: Planned): Steps.Transfer => ({
  run: { organization_id, run: globalThis.crypto.randomUUID() },
  source: source.sql,
  target: target.sql
})

/** Plans a move that no command has begun. */
const planNew = Effect.fnUntraced(function*({ cells }: Request, found: ReadonlyArray<Found>, to: string) {
  const names = cells.map(({ name }) => name).join(", ")
  const target = cells.find(({ name }) => name === to)
  if (target === undefined) return yield* reject(`CELLS has no cell ${to}. Choose another --to: ${names}.`)
  const source = found.find(({ has_organization }) => has_organization)?.cell
  if (source === undefined) {
    return yield* reject("No organization has this ID. Find the ID with: messaging-crm organizations list.")
  }
  if (source === target) return yield* reject(`The organization is in the cell ${to} already.`)
  const plan: Planned = { source, target, leaving: null, arriving: null }
  return plan
})

/** The copied rows, and for how many milliseconds writes waited; null if an earlier command copied them. */
export interface Moved {
  readonly copied: { readonly rows: number; readonly bytes: number } | null
  readonly closed_ms: number | null
}

/** Opens the organization in the old cell again, and removes the copied rows. Fails if it has arrived in the new cell. */
const runUndo = Effect.fnUntraced(function*(request: Request, plan: Planned) {
  const transfer = transferOf(request, plan)
  const { name } = plan.target
  yield* request.onStep("Undoing")
  const leaving = plan.leaving === null ? null : yield* Steps.track(transfer, name)
  // Only a departed organization can arrive. Any other is opened even if the new cell is down.
  if (leaving !== null && leaving !== "departed") yield* Steps.reopen(transfer)
  if (!(yield* Steps.abandon(transfer, plan.source.name))) {
    return yield* reject(
      `The organization has arrived in ${name}. Complete the move with --to ${name}, and then move it back.`
    )
  }
  if (leaving === "departed") yield* Steps.reopen(transfer)
  yield* request.onStep("Removing the copied rows")
  yield* Steps.discard(transfer)
  if (leaving !== null) yield* Steps.forget(transfer)
})

/** Copies the closed organization. If that takes too long or fails, the move is undone. */
const copy = Effect.fnUntraced(
  function*(request: Request, plan: Planned, transfer: Steps.Transfer, pause_max: Duration.Duration) {
    const undone = Effect.suspend(() => runUndo(request, { ...plan, leaving: "closed", arriving: "arriving" })).pipe(
      Effect.mapError(() =>
        reject(
          "The copy and its undoing failed, so the organization stays closed for writes. Continue with --to, or use --undo."
        )
      )
    )
    const copied = yield* Steps.copy(transfer).pipe(
      Effect.timeoutOption(pause_max),
      Effect.tapError((error) => error._tag === "MoveTakenOver" ? Effect.void : undone)
    )
    if (Option.isSome(copied)) return copied.value
    yield* undone
    return yield* reject(
      `The copy took longer than --pause-max, so the organization stays in ${plan.source.name}. Use a larger --pause-max.`
    )
  }
)

/** Moves the organization, from the states in which it is. */
const run = Effect.fnUntraced(function*(request: Request, plan: Planned, pause_max: Duration.Duration) {
  const { onStep } = request
  const transfer = transferOf(request, plan)
  let moved: Moved = { copied: null, closed_ms: null }
  if (plan.arriving === null && plan.leaving === null) yield* Steps.requireSameTables(transfer)
  yield* onStep("Preparing")
  const arriving = yield* Steps.receive(transfer, plan.source.name)
  // Without a row in the old cell, a move that has arrived is complete there.
  const leaving = arriving === "arrived" && plan.leaving === null
    ? null
    : yield* Steps.track(transfer, plan.target.name)
  if (leaving === "open" || leaving === "draining") {
    yield* onStep("Waiting for work in progress")
    yield* Steps.drain(transfer)
    yield* onStep("Closing for writes")
    yield* Steps.close(transfer)
  }
  if (leaving !== null && leaving !== "departed") {
    yield* onStep("Copying")
    const copied = yield* copy(request, plan, transfer, pause_max)
    moved = { ...moved, copied }
    yield* onStep(`Leaving the old cell with ${copied.rows} rows, ${copied.bytes} bytes`)
    yield* Steps.depart(transfer)
  }
  if (arriving !== "arrived") {
    yield* onStep("Arriving in the new cell")
    moved = { ...moved, closed_ms: yield* Steps.arrive(transfer) }
  }
  yield* onStep("Removing the old rows")
  if (leaving !== null) yield* Steps.leave(transfer)
  yield* Steps.settle(transfer)
  return moved
})

/** Moves an organization to a cell, or continues to. `pause_max` is how long the copy can take while writes wait. */
export const move = Effect.fnUntraced(function*(request: Request, to: string, pause_max: Duration.Duration) {
  const found = yield* look(request)
  const begun = yield* planned(request, found)
  if (begun !== null && begun.target.name !== to) {
    return yield* reject(
      `The organization is being moved to ${begun.target.name}. Continue with --to ${begun.target.name}, or use --undo.`
    )
  }
  return yield* run(request, begun ?? (yield* planNew(request, found, to)), pause_max)
})

/** Undoes a move that has not arrived. Returns the name of the cell that keeps the organization. */
export const undo = Effect.fnUntraced(function*(request: Request) {
  const plan = yield* planned(request, yield* look(request))
  if (plan === null) return yield* reject("The organization is not being moved.")
  yield* runUndo(request, plan)
  return plan.source.name
})
