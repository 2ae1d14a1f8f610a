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

/** How a cell responds to the questions of a directory. */
class CellState {
  /** The number of its responses. */
  responses = 0
  /** Why it did not respond to the last question that it should have responded to; null if it did. */
  cause: Cause.Cause<never> | null = null
  /** Whether it did not respond to any other question in that time either. */
  isSilent = false
  /** Whether the one question that can wait for a cell that did not respond waits. */
  isAsked = false
}

/** Notes that a cell has responded to a question. */
const noteResponse = <A, E, R>(state: CellState, asked: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.onExit(asked, (exit) =>
    Effect.sync(() => {
      if (Exit.isFailure(exit) && !Cause.hasFails(exit.cause)) return
      state.responses++
      state.cause = null
      state.isSilent = false
    }))

/**
 * A directory of cells by key.
 *
 * No entry is trusted: each lookup asks the cell that the directory remembers, and, if that cell no longer has it, the others. A cell
 * that does not respond holds one question at a time.
 */
export class Directory<Key, Cell> {
  private readonly cells: ReadonlyArray<Cell>
  private readonly known = new Map<Key, Cell>()
  private readonly states: ReadonlyMap<Cell, CellState>

  private readonly silence_max: Duration.Duration

  /** `silence_max` is how long a cell can take to say whether it has something new, and how long it can be silent. */
  constructor(cells: ReadonlyArray<Cell>, silence_max = Duration.seconds(2)) {
    this.cells = cells
    this.states = new Map(cells.map((cell) => [cell, new CellState()]))
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
      return Effect.flatMap(this.askRemembered(remembered, ask), (found) => {
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

  private stateOf(cell: Cell): CellState {
    const state = this.states.get(cell)
    if (state === undefined) throw new Error("The directory does not have this cell")
    return state
  }

  /** Asks the cell of a known key. Every question waits for it until it has not responded to any of them for some time. */
  private askRemembered<A, E, R>(
    cell: Cell,
    ask: (cell: Cell) => Effect.Effect<Option.Option<A>, E, R>
  ): Effect.Effect<Option.Option<A>, E, R> {
    return Effect.suspend(() => {
      const state = this.stateOf(cell)
      if (state.isSilent) return this.askNew(cell, ask)
      return noteResponse(state, Effect.raceFirst(ask(cell), this.silence(state)))
    })
  }

  /** Dies once a cell has not responded to any question for some time. */
  private silence(state: CellState): Effect.Effect<never> {
    return Effect.suspend(() => {
      const { responses } = state
      return Effect.flatMap(Effect.sleep(this.silence_max), () => {
        if (state.responses !== responses) return this.silence(state)
        state.cause = Cause.die(new CellSilent())
        state.isSilent = true
        return Effect.failCause(state.cause)
      })
    })
  }

  /** Asks a cell about a new key. While the cell is down, only one question at a time waits for it. */
  private askNew<A, E, R>(
    cell: Cell,
    ask: (cell: Cell) => Effect.Effect<Option.Option<A>, E, R>
  ): Effect.Effect<Option.Option<A>, E, R> {
    return Effect.suspend(() => {
      const state = this.stateOf(cell)
      const isOnly = state.cause !== null
      if (state.cause !== null && state.isAsked) return Effect.failCause(state.cause)
      if (isOnly) state.isAsked = true
      const { responses } = state
      const asked = Effect.timeoutOrElse(ask(cell), {
        duration: this.silence_max,
        orElse: () => Effect.die(new CellSilent())
      })
      return Effect.onExit(noteResponse(state, asked), (exit) =>
        Effect.sync(() => {
          if (isOnly) state.isAsked = false
          if (Exit.isSuccess(exit) || !Cause.hasDies(exit.cause)) return
          const defects = exit.cause.reasons.filter(Cause.isDieReason)
          state.cause = Cause.fromReasons(defects)
          state.isSilent = state.responses === responses && defects.some(({ defect }) => defect instanceof CellSilent)
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
