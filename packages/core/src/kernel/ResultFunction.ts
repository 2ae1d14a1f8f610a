import { Result } from "effect"

/**
 * Makes a function that returns a `Result` from a generator function, as `Effect.fnUntraced` does for effects.
 *
 * A decision uses it instead of `Result.gen`, which costs memory (docs/performance.md, Constructs of core).
 */
export const resultFunction =
  <Arguments extends ReadonlyArray<unknown>, Yielded extends Result.Result<unknown, unknown>, A>(
    body: (...input: Arguments) => Generator<Yielded, A, never>
  ) =>
  (...input: Arguments): Result.Result<A, Result.Result.Failure<Yielded>> =>
    // TypeScript does not resolve the type of `gen` where `Yielded` is generic.
    Result.gen(() => body(...input)) as Result.Result<A, Result.Result.Failure<Yielded>>
