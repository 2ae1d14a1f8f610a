/**
 * The order of one person's events: callbacks about one person on one channel are processed one at a time, in the order of their
 * receipt (contract §15.5). Those about other people are processed concurrently.
 *
 * Each of these promises a part of it:
 *
 * - The provider's adapter splits a body by its people (`CallbackPart`), and processes the events of a part one after another,
 *   up to the first that fails.
 * - `CallbackStore.load` returns which bodies are behind an earlier one that is not in the same claim: another claim of any
 *   process has it, or it is retried later.
 * - `makeTurns` lets the bodies of one claim, which are processed at once, wait for each other.
 *
 * A body that is behind, or whose earlier one fails, is retried later, and so are those behind it. A body that was received
 * `order_wait_max` ago has no part in the order: it waits for no other, and no other waits for it.
 */
import { Deferred, Duration, Effect, Exit, Option } from "effect"
import type { ChannelId } from "../kernel/Ids.ts"
import { sharedSpelling } from "../kernel/Phones.ts"

/** How long the later callbacks of a person wait for an earlier one, such as one whose file cannot be loaded: from its receipt. */
export const order_wait_max = Duration.minutes(1)

/**
 * How long a callback in progress waits: for an earlier one of the same person, or to download its file. After that it is retried
 * later, so that a network whose files do not arrive does not use up the slots of the inbox.
 */
export const slot_wait_max = Duration.seconds(1)

/** The part of a body that determines its order. */
interface Ordered {
  readonly channel_id: ChannelId | null
  readonly people: ReadonlyArray<string>
  readonly is_ordered: boolean
  readonly is_behind: boolean
}

/** Runs the processing of a body in its turn, and returns whether it ran. */
type InTurn = (process: Effect.Effect<void>) => Effect.Effect<boolean>

/** A number in either spelling is the same person. */
const keysOf = ({ channel_id, is_ordered, people }: Ordered): ReadonlyArray<string> =>
  is_ordered ? people.map((id) => `${channel_id}|${sharedSpelling(`+${id}`)}`) : []

/**
 * Makes the function that returns how each body of one claim is processed in its turn. It is called in the order of receipt.
 *
 * A body waits only for earlier ones, so no two wait for each other.
 */
export const makeTurns = () => {
  /** Of each person, whether the latest body has been processed. */
  const latest = new Map<string, Deferred.Deferred<boolean>>()

  return (body: Ordered): InTurn => {
    const keys = keysOf(body)
    const earlier = Array.from(new Set(keys.flatMap((key) => latest.get(key) ?? [])))
    const isProcessed = Deferred.makeUnsafe<boolean>()
    for (const key of keys) latest.set(key, isProcessed)

    const areEarlierProcessed = Effect.forEach(earlier, Deferred.await).pipe(
      Effect.map((all) => all.every(Boolean)),
      Effect.timeoutOption(slot_wait_max),
      Effect.map(Option.getOrElse(() => false))
    )
    const mustWait = earlier.length > 0 && !body.is_behind
    const isInTurn = mustWait ? areEarlierProcessed : Effect.succeed(!body.is_behind)
    return (process) =>
      Effect.flatMap(isInTurn, (isInTurn) => isInTurn ? Effect.as(process, true) : Effect.succeed(false)).pipe(
        Effect.onExit((exit) => Deferred.succeed(isProcessed, Exit.isSuccess(exit) && exit.value))
      )
  }
}
