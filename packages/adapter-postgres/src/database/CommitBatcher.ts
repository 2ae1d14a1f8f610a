/**
 * Batches of concurrent requests that may write the same rows, such as commits. Other requests share statements in
 * `StatementBatcher.ts`.
 *
 * If there is a free slot, a request starts a batch immediately, with all requests of
 * the same turn of the event loop. Later requests wait for a slot and, while their group
 * has a batch of several requests, for its end. Then they form the next batch: the higher
 * the load, the larger the batches.
 */
import { type Array, Deferred, Effect, Exit } from "effect"
import * as CommitAdmission from "./CommitAdmission.ts"

export interface Options<Item, A, E, R> {
  /** The maximum number of batches that run at once. */
  readonly concurrency: number
  /** The maximum number of items in a batch. */
  readonly size: number
  /** Items of one group can share a batch. Null for an item that cannot share one. */
  readonly groupOf: (item: Item) => string | null
  /** Items with one of these keys in common run one after the other, in the order of the requests. */
  readonly exclusiveKeysOf: (item: Item) => ReadonlyArray<string>
  /** Items with one of these keys in common share a batch or run one after the other. */
  readonly sharedKeysOf: (item: Item) => ReadonlyArray<string>
  /** Runs one item. */
  readonly runSingle: (item: Item) => Effect.Effect<A, E, R>
  /** Runs two or more items as one, and returns their exits in the same order; null if none took effect, so that each must run on its own. */
  readonly runBatch: (
    items: Array.NonEmptyReadonlyArray<Item>
  ) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>> | null, never, R>
}

interface Entry<Item, A, E> extends CommitAdmission.Request {
  readonly item: Item
  readonly step: Deferred.Deferred<Step<A, E>>
}

type Batch<Item, A, E> = Array.NonEmptyReadonlyArray<Entry<Item, A, E>>

/** The next step of a waiting request: the first one of a batch runs the batch, and each other one ends with its exit. */
type Step<A, E> = { readonly _tag: "Lead" } | { readonly _tag: "End"; readonly exit: Exit.Exit<A, E> }

/** Returns a function that requests one item, which is run in a batch. A request cannot be interrupted. */
export const make = <Item, A, E, R>(options: Options<Item, A, E, R>) => {
  const admission = CommitAdmission.make<Entry<Item, A, E>>(options)

  const next = (): void => {
    for (const { step } of admission.start()) Deferred.doneUnsafe(step, Exit.succeed({ _tag: "Lead" }))
  }

  const runEach = (batch: Batch<Item, A, E>) =>
    Effect.forEach(batch, ({ item }) => Effect.exit(options.runSingle(item)), { concurrency: "unbounded" })

  const run = Effect.fnUntraced(function*(batch: Batch<Item, A, E>) {
    const [first, ...others] = batch
    if (others.length === 0) return yield* runEach(batch)
    const exit = yield* Effect.exit(options.runBatch([first.item, ...others.map(({ item }) => item)]))
    admission.leaveGroup(first)
    if (Exit.isFailure(exit)) return batch.map((): Exit.Exit<A, E> => Exit.failCause(exit.cause))
    if (exit.value !== null) return exit.value
    next()
    return yield* runEach(batch)
  })

  const lead = Effect.fnUntraced(function*(first: Entry<Item, A, E>) {
    // The other requests of this turn of the event loop join the batch.
    yield* Effect.yieldNow
    const batch = admission.formBatch(first)
    next()
    const exits = yield* run(batch)
    admission.end(batch)
    const exitAt = (index: number) => exits[index] ?? Exit.die(new Error("An item has no outcome."))
    for (const [index, { step }] of batch.slice(1).entries()) {
      Deferred.doneUnsafe(step, Exit.succeed({ _tag: "End", exit: exitAt(index + 1) }))
    }
    next()
    return yield* exitAt(0)
  })

  return (item: Item): Effect.Effect<A, E, R> =>
    Effect.uninterruptible(Effect.suspend(() => {
      const entry: Entry<Item, A, E> = {
        item,
        group: options.groupOf(item),
        exclusive: options.exclusiveKeysOf(item),
        shared: options.sharedKeysOf(item),
        step: Deferred.makeUnsafe()
      }
      if (admission.add(entry)) next()
      return Effect.flatMap(Deferred.await(entry.step), (step) => step._tag === "Lead" ? lead(entry) : step.exit)
    }))
}
