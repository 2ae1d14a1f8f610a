/** The life of a process of a run, which its storage and the systems outside can end. */
import { Deferred, Effect, Fiber } from "effect"
import type { Trace } from "./Trace.ts"

export interface Host {
  readonly name: string
  is_alive: boolean
  /** Ends the process at once. Work in progress stays unfinished. */
  readonly kill: () => void
  /** Stops the process as a signal does: it finishes or releases its work in progress. */
  readonly stop: () => void
}

/** A host with its loops, which stop with it. */
export interface RunningHost extends Host {
  is_stopping: boolean
  readonly exit: Deferred.Deferred<void>
  readonly loops: Array<Fiber.Fiber<unknown, unknown>>
}

/** Creates the host of a new process. */
export const make = Effect.fnUntraced(function*(name: string, trace: Trace) {
  const context = yield* Effect.context<never>()
  const exit = yield* Deferred.make<void>()
  const loops: RunningHost["loops"] = []
  const end = (how: string) => {
    host.is_alive = false
    trace.add(name, how)
    Deferred.doneUnsafe(exit, Effect.void)
  }
  const host: RunningHost = {
    name,
    exit,
    loops,
    is_alive: true,
    is_stopping: false,
    kill: () => end("killed"),
    stop: () => {
      if (host.is_stopping) return
      host.is_stopping = true
      trace.add(name, "stopping")
      Effect.runForkWith(context)(
        Effect.andThen(Fiber.interruptAll(loops), Effect.sync(() => host.is_alive && end("stopped")))
      )
    }
  }
  return host
})

/** Runs an effect on a host, and returns null if the process ends first. */
export const run = <A>(host: RunningHost, effect: Effect.Effect<A>) =>
  Effect.gen(function*() {
    if (!host.is_alive || host.is_stopping) return null
    const done = yield* Deferred.make<A | null>()
    yield* Effect.forkDetach(Effect.flatMap(effect, (value) => Deferred.succeed(done, value)))
    yield* Effect.forkDetach(Effect.flatMap(Deferred.await(host.exit), () => Deferred.succeed(done, null)))
    return yield* Deferred.await(done)
  })
