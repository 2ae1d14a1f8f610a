/** A cell that is asked whether it has something, and how it has responded until now. */
import { Cause, Data, type Duration, Effect, Exit } from "effect"

/** A cell has not said in time whether it has something. */
class CellSilent extends Data.TaggedError("CellSilent")<{}> {
  override readonly message = "A cell has not responded in time"
}

/** How a cell responds to the questions of a directory. While it does not respond, one question at a time waits for it. */
export class AskedCell {
  private readonly silence_max: Duration.Duration
  /** The number of its responses. */
  private responses = 0
  /** Why it did not respond to the last question that it should have responded to; null if it did. */
  private cause: Cause.Cause<never> | null = null
  /** Whether it did not respond to any other question in that time either. */
  private isSilent = false
  /** Whether the one question that can wait for a cell that did not respond waits. */
  private isAsked = false

  constructor(silence_max: Duration.Duration) {
    this.silence_max = silence_max
  }

  /** Asks about a known key. Every question waits for the cell until it has not responded to any of them for some time. */
  askKnown<A, E, R>(question: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() =>
      this.isSilent ? this.askNew(question) : this.noteResponse(Effect.raceFirst(question, this.silence()))
    )
  }

  /** Asks about a new key. While the cell is down, only one question at a time waits for it. */
  askNew<A, E, R>(question: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const { cause, responses } = this
      const isOnly = cause !== null
      if (cause !== null && this.isAsked) return Effect.failCause(cause)
      if (isOnly) this.isAsked = true
      const asked = Effect.timeoutOrElse(question, {
        duration: this.silence_max,
        orElse: () => Effect.die(new CellSilent())
      })
      return Effect.onExit(this.noteResponse(asked), (exit) =>
        Effect.sync(() => {
          if (isOnly) this.isAsked = false
          if (Exit.isSuccess(exit) || !Cause.hasDies(exit.cause)) return
          const defects = exit.cause.reasons.filter(Cause.isDieReason)
          this.cause = Cause.fromReasons(defects)
          this.isSilent = this.responses === responses && defects.some(({ defect }) => defect instanceof CellSilent)
        }))
    })
  }

  /** Notes that the cell has responded to a question. */
  private noteResponse<A, E, R>(asked: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.onExit(asked, (exit) =>
      Effect.sync(() => {
        if (Exit.isFailure(exit) && !Cause.hasFails(exit.cause)) return
        this.responses++
        this.cause = null
        this.isSilent = false
      }))
  }

  /** Dies once the cell has not responded to any question for some time. */
  private silence(): Effect.Effect<never> {
    return Effect.suspend(() => {
      const { responses } = this
      return Effect.flatMap(Effect.sleep(this.silence_max), () => {
        if (this.responses !== responses) return this.silence()
        this.cause = Cause.die(new CellSilent())
        this.isSilent = true
        return Effect.failCause(this.cause)
      })
    })
  }
}
