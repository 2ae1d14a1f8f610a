/** A directory of cells: a process remembers in which cell it has found something, and asks all cells at once for the rest. */
import { Cause, Data, Duration, Effect, Exit, Option } from "effect"

/** The maximum number of entries of a directory. The oldest one is removed. */
const entries_max = 10_000

/** A result, and the cell in which it was found. */
export interface Located<Cell, A> {
  readonly cell: Cell
  readonly found: A
}

/** A cell does not have it. */
class Absent extends Data.TaggedError("Absent")<{}> {}

/** A cell has not said in time whether it has something. */
class CellSilent extends Data.TaggedError("CellSilent")<{}> {
  override readonly message = "A cell has not responded in time"
}

/** A cell that did not respond to the last question about a new key. One further question at a time finds out when it does. */
interface Failed {
  readonly cause: Cause.Cause<never>
  isAsked: boolean
}

/**
 * A directory of cells by key.
 *
 * No entry is trusted: each lookup asks the cell that the directory remembers, and, if that cell no longer has it, the others.
 */
export class Directory<Key, Cell> {
  private readonly cells: ReadonlyArray<Cell>
  private readonly known = new Map<Key, Cell>()
  private readonly failed = new Map<Cell, Failed>()

  private readonly silence_max: Duration.Duration

  /** `silence_max` is how long a cell can take to say whether it has something new. */
  constructor(cells: ReadonlyArray<Cell>, silence_max = Duration.seconds(2)) {
    this.cells = cells
    this.silence_max = silence_max
  }

  /** Returns the cell that the directory remembers for a key. */
  remembered(key: Key): Cell | undefined {
    return this.known.get(key)
  }

  remember(key: Key, cell: Cell): void {
    if (this.known.get(key) === cell) return
    // Set again, so that the entry becomes the newest.
    this.known.delete(key)
    this.known.set(key, cell)
    const [oldest] = this.known
    if (this.known.size > entries_max && oldest !== undefined) this.known.delete(oldest[0])
  }

  /**
   * Asks the cells for what a key names, the remembered cell first. Fails if no cell has it and one of them could not say so.
   * What a cell has is not delayed by another one that does not respond.
   */
  find<A, E, R>(
    key: Key,
    ask: (cell: Cell) => Effect.Effect<Option.Option<A>, E, R>
  ): Effect.Effect<Option.Option<Located<Cell, A>>, E, R> {
    return Effect.suspend(() => {
      const remembered = this.known.get(key)
      if (remembered === undefined) return this.findIn(this.cells, key, ask)
      return Effect.flatMap(ask(remembered), (found) => {
        if (Option.isSome(found)) return Effect.succeedSome({ cell: remembered, found: found.value })
        this.known.delete(key)
        return this.findIn(this.cells.filter((cell) => cell !== remembered), key, ask)
      })
    })
  }

  /** Asks a cell about a new key. While the cell is down, only one question at a time waits for it. */
  private askNew<A, E, R>(
    cell: Cell,
    ask: (cell: Cell) => Effect.Effect<Option.Option<A>, E, R>
  ): Effect.Effect<Option.Option<A>, E, R> {
    return Effect.suspend(() => {
      const last = this.failed.get(cell)
      if (last?.isAsked === true) return Effect.failCause(last.cause)
      if (last !== undefined) last.isAsked = true
      const asked = Effect.timeoutOrElse(ask(cell), {
        duration: this.silence_max,
        orElse: () => Effect.die(new CellSilent())
      })
      return Effect.onExit(asked, (exit) =>
        Effect.sync(() => {
          if (last !== undefined) last.isAsked = false
          if (Exit.isFailure(exit) && Cause.hasDies(exit.cause)) {
            const defects = exit.cause.reasons.filter(Cause.isDieReason)
            this.failed.set(cell, { cause: Cause.fromReasons(defects), isAsked: false })
          } else if (Exit.isSuccess(exit)) this.failed.delete(cell)
        }))
    })
  }

  private findIn<A, E, R>(
    cells: ReadonlyArray<Cell>,
    key: Key,
    ask: (cell: Cell) => Effect.Effect<Option.Option<A>, E, R>
  ): Effect.Effect<Option.Option<Located<Cell, A>>, E, R> {
    if (cells.length === 0) return Effect.succeedNone
    const asked = cells.map((cell) =>
      Effect.flatMap(
        this.askNew(cell, ask),
        (found): Effect.Effect<Located<Cell, A>, Absent> =>
          Option.isSome(found) ? Effect.succeed({ cell, found: found.value }) : new Absent()
      )
    )
    return Effect.matchCauseEffect(Effect.raceAll(asked), {
      onFailure: (cause) => {
        // Where a cell dies, the race turns the errors of the others into defects.
        const isAbsent = (reason: Cause.Reason<unknown>) =>
          Cause.isFailReason(reason)
            ? reason.error instanceof Absent
            : Cause.isDieReason(reason) && reason.defect instanceof Absent
        const reasons = cause.reasons.filter((reason) => !isAbsent(reason)) as Array<Cause.Reason<E>> // without `Absent`
        return reasons.length === 0 ? Effect.succeedNone : Effect.failCause(Cause.fromReasons(reasons))
      },
      onSuccess: (located) => {
        this.remember(key, located.cell)
        return Effect.succeedSome(located)
      }
    })
  }
}
