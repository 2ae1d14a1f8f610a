import { Result } from "effect"

/**
 * Makes a function that returns a `Result` from a generator function, as `Effect.fnUntraced` does for effects.
 *
 * `Result.gen` in a function would declare a generator function for each call. The runtime frees each of these, and all
 * that it refers to, only after a long time.
 */
export const resultFunction =
  <Arguments extends ReadonlyArray<unknown>, Yielded extends Result.Result<unknown, unknown>, A>(
    body: (...input: Arguments) => Generator<Yielded, A, never>
  ) =>
  (...input: Arguments): Result.Result<A, Result.Result.Failure<Yielded>> =>
    // TypeScript does not resolve the type of `gen` where `Yielded` is generic.
    Result.gen(() => body(...input)) as Result.Result<A, Result.Result.Failure<Yielded>>
