/**
 * Waits for events that are not committed yet.
 *
 * Any process can commit them, so the store is polled. One statement per poll serves all waits of a process, however many
 * there are, and a wait holds no connection in between.
 */
import { Context, type Duration, Effect, Latch, Layer, Option, type Scope } from "effect"
import type { OrganizationId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { logAndPause, pollPause } from "../kernel/Loops.ts"
import { Turns } from "../kernel/Turns.ts"
import { type CommitPosition, EventStore } from "./Events.ts"

/** How many followers a process serves at once. A reference, so that a test can set it. */
export const FollowersAtOnce = Context.Reference<{ readonly of_all: number; readonly of_one: number }>(
  "@messaging-crm/core/EventWaits/FollowersAtOnce",
  { defaultValue: () => ({ of_all: limits.followers_max, of_one: limits.organization_followers_max }) }
)

interface Wait extends CommitPosition {
  readonly organization_id: OrganizationId
  readonly resume: () => void
}

export class EventWaits extends Context.Service<EventWaits, {
  /**
   * Takes one of the organization's slots until the scope ends, and returns whether one was free. The first of each
   * organization always is.
   */
  readonly enter: (organization_id: OrganizationId) => Effect.Effect<boolean, never, Scope.Scope>
  /** Returns once there are events of an organization after a position, or none after the time, or once waits have ended. */
  readonly next: (
    organization_id: OrganizationId,
    position: CommitPosition,
    time: Duration.Duration
  ) => Effect.Effect<Option.Option<void>>
  /** Ends all waits, now and from now on, because the process stops. */
  readonly end: Effect.Effect<void>
  /** Whether waits have ended. */
  readonly isEnded: Effect.Effect<boolean>
}>()("@messaging-crm/core/EventWaits") {
  static readonly layer = Layer.effect(
    EventWaits,
    Effect.gen(function*() {
      const store = yield* EventStore
      const { of_all, of_one } = yield* FollowersAtOnce
      const turns = new Turns<OrganizationId>({ places: of_all, share: of_one, isFirstGranted: true })
      const waits = new Set<Wait>()
      const hasWaits = Latch.makeUnsafe(false)
      const ended = Latch.makeUnsafe(false)

      const poll = Effect.gen(function*() {
        yield* hasWaits.await
        yield* pollPause(Effect.sleep("100 millis"))
        const polled = [...waits]
        // Without a pause of this fiber, in which a wait could begin.
        if (polled.length === 0) return void hasWaits.closeUnsafe()
        const found = yield* store.haveNext(polled)
        for (const [index, wait] of polled.entries()) if (found[index] === true) wait.resume()
      })
      yield* Effect.forkScoped(Effect.forever(logAndPause("The poll for new events")(poll)))

      const wait = (organization_id: OrganizationId, { commit, id }: CommitPosition) =>
        Effect.callback<void>((resume) => {
          const remove = () => void waits.delete(one)
          const one = {
            organization_id,
            commit,
            id,
            resume: () => {
              remove()
              resume(Effect.void)
            }
          }
          waits.add(one)
          hasWaits.openUnsafe()
          return Effect.sync(remove)
        })

      return EventWaits.of({
        enter: (organization_id) => turns.acquireNow(organization_id),
        next: (organization_id, position, time) =>
          wait(organization_id, position).pipe(
            Effect.raceFirst(ended.await),
            Effect.timeoutOption(time),
            Effect.map((waited) => ended.isOpen() ? Option.none() : waited)
          ),
        end: Effect.asVoid(ended.open),
        isEnded: Effect.sync(() => ended.isOpen())
      })
    })
  )
}
