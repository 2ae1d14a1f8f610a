/** A directory of cells: a process remembers in which cell it has found something, and asks all cells at once for the rest. */
import { Cause, Data, Duration, Effect, Option } from "effect"
import { AskedCell } from "./AskedCell.ts"

/** The maximum number of entries of a directory. The oldest one is removed. */
const entries_max = 10_000

/** A result, and the cell in which it was found. */
export interface Located<Cell, A> {
  readonly cell: Cell
  readonly found: A
}

/** A cell does not have it. */
class Absent extends Data.TaggedError("Absent")<{}> {}

/**
 * A directory of cells by key.
 *
 * No entry is trusted: each lookup asks the cell that the directory remembers, and, if that cell no longer has it, the others. A cell
 * that does not respond holds one question at a time.
 */
export class Directory<Key, Cell> {
  private readonly cells: ReadonlyArray<Cell>
  private readonly known = new Map<Key, Cell>()
  private readonly askedCells: ReadonlyMap<Cell, AskedCell>

  /** `silence_max` is how long a cell can take to say whether it has something new, and how long it can be silent. */
  constructor(cells: ReadonlyArray<Cell>, silence_max = Duration.seconds(2)) {
    this.cells = cells
    this.askedCells = new Map(cells.map((cell) => [cell, new AskedCell(silence_max)]))
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
      return Effect.flatMap(this.asked(remembered).askKnown(ask(remembered)), (found) => {
        if (Option.isSome(found)) return Effect.succeedSome({ cell: remembered, found: found.value })
        // The entry stays until another cell has the key: anyone can send a wrong link of an organization.
        return this.findIn(this.cells.filter((cell) => cell !== remembered), key, ask)
      })
    })
  }

  /** Asks all cells but one, and remembers the cell that has what the key names. */
  findElsewhere<A, E, R>(
    key: Key,
    excluded: Cell,
    ask: (cell: Cell) => Effect.Effect<Option.Option<A>, E, R>
  ): Effect.Effect<Option.Option<Located<Cell, A>>, E, R> {
    return Effect.suspend(() => this.findIn(this.cells.filter((cell) => cell !== excluded), key, ask))
  }

  private asked(cell: Cell): AskedCell {
    const asked = this.askedCells.get(cell)
    if (asked === undefined) throw new Error("The directory does not have this cell")
    return asked
  }

  private findIn<A, E, R>(
    cells: ReadonlyArray<Cell>,
    key: Key,
    ask: (cell: Cell) => Effect.Effect<Option.Option<A>, E, R>
  ): Effect.Effect<Option.Option<Located<Cell, A>>, E, R> {
    if (cells.length === 0) return Effect.succeedNone
    const asked = cells.map((cell) =>
      Effect.flatMap(
        this.asked(cell).askNew(ask(cell)),
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
