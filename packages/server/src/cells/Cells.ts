/**
 * The cells of this process. A cell whose database is down is started later, and the others do not wait for it.
 *
 * | Word of this folder | Meaning |
 * | --- | --- |
 * | cell | one schema on one PostgreSQL server that holds whole organizations; in a process, also its services, API, and worker (`Cell.ts`) |
 * | started | the cell's database has been usable since the process started |
 * | front | the HTTP server of a process with several cells, and its own routes (`Front.ts`) |
 * | route | the cell that responds to a request, and the resolution (`Routes.ts`) |
 * | resolution | what was determined to find the cell: the authentication of a key, or the opened file of a link (`Cell.ts`) |
 * | directory | the cell in which each API key, organization, channel, or account was found last: the remembered cell (`Directory.ts`) |
 * | silent | the cell has responded to no question of a directory in time (`AskedCell.ts`) |
 * | move | the steps that bring an organization from its old cell, the source, into a new one, the target (`Moving.ts`) |
 * | closed, departed, arrived | states of a move, each in one of its two cells (`Moves.ts` of `adapter-postgres`); in a cell that has not started, every organization is closed |
 */
import { Context, Effect, Fiber, Layer, Scope } from "effect"
import { StartupRejected } from "../settings/Config.ts"
import type { CellAddress } from "../settings/Parsers.ts"
import { Cell, type Options } from "./Cell.ts"

/** The time after which a process starts without the cells that have not started. */
const start_time_max = "10 seconds"

const retry_interval = "1 second"

export class Cells extends Context.Service<Cells, {
  /** In the order of the setting. */
  readonly all: ReadonlyArray<Cell>
}>()("@messaging-crm/server/cells/Cells") {
  /**
   * Layer that starts the cells. It waits until each has started or failed once, and fails if none has started. From then on, it
   * tries the others every second.
   */
  static readonly layer = (
    addresses: ReadonlyArray<CellAddress>,
    optionsOf: (name: string) => Options
  ): Layer.Layer<Cells, StartupRejected> =>
    Layer.effect(
      Cells,
      Effect.gen(function*() {
        const pairs = addresses.map((address) => ({ address, cell: new Cell(address.name) }))
        const all = pairs.map(({ cell }) => cell)
        // The cells stop at once, so that a stop takes no longer than with one database.
        const scope = yield* Effect.flatMap(Scope.Scope, (outer) => Scope.fork(outer, "parallel"))
        const tries = yield* Effect.forEach(pairs, ({ address, cell }) => {
          const tryOnce = Effect.tapError(
            Effect.provideService(cell.tryStart(address, optionsOf(address.name)), Scope.Scope, scope),
            () => Effect.logWarning("A cell has not started; retrying", cell.notStarted)
          )
          const first = Effect.exit(tryOnce)
          const retried = Effect.eventually(Effect.delay(tryOnce, retry_interval))
          return Effect.gen(function*() {
            const trying = yield* Effect.forkScoped(first)
            yield* Effect.forkScoped(
              Effect.flatMap(Fiber.join(trying), (exit) => exit._tag === "Success" ? Effect.void : retried)
            )
            return Fiber.join(trying)
          })
        })
        yield* Effect.timeoutOption(
          Effect.forEach(tries, (first) => first, { concurrency: "unbounded", discard: true }),
          start_time_max
        )
        if (all.every(({ running }) => running === null)) {
          const message = all.map(({ notStarted }) => notStarted?.message).join("\n")
          return yield* new StartupRejected({ message })
        }
        return Cells.of({ all })
      })
    )
}

/** Returns a cell that has started. There is one, or else the process would not have started. */
export const startedOf = (cells: ReadonlyArray<Cell>): Cell => {
  const first = cells.find(({ running }) => running !== null)
  if (first === undefined) throw new Error("No cell has started")
  return first
}
