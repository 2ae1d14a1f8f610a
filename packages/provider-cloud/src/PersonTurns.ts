/**
 * Turns of people: callbacks about one person are processed one at a time, in the order in which their processing began.
 *
 * A claim of the inbox can contain several callbacks of one person. If one of them has to be retried, so have the later ones.
 */
import { Turns } from "@messaging-crm/core/Turns"
import { Duration, Effect, Exit } from "effect"

/** How long a failure concerns the callbacks that begin after it: those of the same claim. It is retried later than that. */
const failure_time = Duration.millis(500)

interface Failure {
  readonly about: string
}

/**
 * Makes the function that runs an effect in turn. It is not run, and `notRun` is the result, if an earlier effect about one of
 * the same people takes longer than `wait_max`, or has just failed.
 */
export const make = Effect.fnUntraced(function*(wait_max: Duration.Duration) {
  const scope = yield* Effect.scope
  const turns = new Turns<string>({ places: Infinity, share: 1 })
  /** The failures of people and messages, each with everything that the callback was about. */
  const failures = new Map<string, Failure>()

  const forget = (about: ReadonlyArray<string>, failure: Failure) =>
    Effect.sync(() => {
      for (const each of about) if (failures.get(each) === failure) failures.delete(each)
    })

  const recordFailure = (about: ReadonlyArray<string>) =>
    Effect.suspend(() => {
      const failure = { about: about.join("|") }
      for (const each of about) failures.set(each, failure)
      return Effect.forkIn(Effect.andThen(Effect.sleep(failure_time), forget(about, failure)), scope)
    })

  /** Returns whether another callback about one of the same people has failed. The failed one itself can be retried. */
  const isBehindFailure = (about: ReadonlyArray<string>): boolean =>
    about.some((each) => (failures.get(each)?.about ?? about.join("|")) !== about.join("|"))

  return <E>(
    about: ReadonlyArray<string>,
    effect: Effect.Effect<Exit.Exit<void, E>>,
    notRun: Exit.Exit<void, E>
  ): Effect.Effect<Exit.Exit<void, E>> =>
    Effect.gen(function*() {
      let hasStarted = false
      const run = Effect.suspend(() => {
        hasStarted = true
        return isBehindFailure(about) ? Effect.succeed(notRun) : effect
      })
      const tooLate = Effect.andThen(
        Effect.sleep(wait_max),
        Effect.suspend(() => hasStarted ? Effect.never : Effect.succeed(notRun))
      )
      // In one order, so that two callbacks about the same people do not wait for each other.
      const inTurn = about.toSorted().reduceRight((inner, each) => turns.run(each, inner), run)
      const exit = yield* Effect.raceFirst(inTurn, tooLate)
      if (Exit.isFailure(exit)) yield* recordFailure(about)
      return exit
    })
})
