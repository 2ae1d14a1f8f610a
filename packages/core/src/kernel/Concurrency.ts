/** How independent reads run concurrently. */
import { Effect, Fiber } from "effect"

/** Options of `Effect.all` for independent reads: they run concurrently. */
export const concurrently = { concurrency: "unbounded" } as const

/** Runs two independent reads concurrently, like `Effect.all`, but faster (docs/performance.md, Constructs of core). */
export const zipConcurrently = <A, B, R1, R2>(
  one: Effect.Effect<A, never, R1>,
  other: Effect.Effect<B, never, R2>
): Effect.Effect<readonly [A, B], never, R1 | R2> =>
  Effect.flatMap(
    Effect.forkChild(one, { startImmediately: true }),
    (fiber) => Effect.flatMap(other, (b) => Effect.map(Fiber.join(fiber), (a) => [a, b] as const))
  )
