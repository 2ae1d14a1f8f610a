/**
 * Batches of concurrent commits. They differ from those of lookups in `database/StatementBatcher.ts`, because commits have
 * different statements and may write the same rows.
 *
 * | | Lookups | Commits | Reason |
 * | --- | --- | --- | --- |
 * | Share a statement | all requests | requests of one group, without an exclusive key in common | a statement has one text, and cannot write a row twice |
 * | Run at once | any batches | batches without keys in common | commits would wait for each other's row locks |
 * | Run in | a fiber of the batch | the fiber of the first request | a lookup can be interrupted, a commit cannot |
 * | After a failure | each request alone, one after the other | each request alone, concurrently | a commit that waits for a lock must not delay the others |
 *
 * If there is a free slot, a request starts a batch immediately, with all requests of
 * the same turn of the event loop. Later requests wait for a slot and, while their group
 * has a batch of several requests, for its end. Then they form the next batch: the higher
 * the load, the larger the batches.
 */
import { Array, Deferred, Effect, Exit } from "effect"
import { type AdmissibleRequest, Admission, type Batch as AdmittedBatch } from "./Admission.ts"

export interface Options<Item, A, E> {
  /** The maximum number of batches that run at once. */
  readonly concurrency: number
  /** The maximum number of items in a batch. */
  readonly size: number
  /** Whose an item is. Waiting owners take turns by weight. */
  readonly ownerOf: (item: Item) => string
  /** How much an item takes of its owner's turn. */
  readonly weightOf: (item: Item) => number
  /** Items of one group can share a batch. Null for an item that cannot share one. */
  readonly groupOf: (item: Item) => string | null
  /** Items with one of these keys in common run one after the other, in the order of the requests. */
  readonly exclusiveKeysOf: (item: Item) => ReadonlyArray<string>
  /** Items with one of these keys in common share a batch or run one after the other. */
  readonly sharedKeysOf: (item: Item) => ReadonlyArray<string>
  /** Runs one item. */
  readonly runSingle: (item: Item) => Effect.Effect<A, E>
  /** Runs two or more items as one, and returns their exits in the same order; null if none took effect, so that each must run on its own. */
  readonly runAsOne: (
    items: Array.NonEmptyReadonlyArray<Item>
  ) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>> | null>
}

interface Request<Item, A, E> extends AdmissibleRequest {
  readonly item: Item
  readonly next: Deferred.Deferred<Next<Item, A, E>>
}

type Batch<Item, A, E> = AdmittedBatch<Request<Item, A, E>>

/** The end of a request's wait: the first one of a batch gets the batch, which it then runs; each other one gets its exit. */
type Next<Item, A, E> = Batch<Item, A, E> | Exit.Exit<A, E>

/** Returns a function that requests one item, which is run in a batch. A request cannot be interrupted. */
export const make = <Item, A, E>(options: Options<Item, A, E>) => {
  const admission = new Admission<Request<Item, A, E>>(options)

  const start = (batches: ReadonlyArray<Batch<Item, A, E>>): void => {
    for (const batch of batches) Deferred.doneUnsafe(batch.requests[0].next, Exit.succeed(batch))
  }

  const runApart = ({ requests }: Batch<Item, A, E>) =>
    Effect.forEach(requests, ({ item }) => Effect.exit(options.runSingle(item)), { concurrency: "unbounded" })

  const runTogether = Effect.fnUntraced(function*(batch: Batch<Item, A, E>) {
    const exit = yield* Effect.exit(options.runAsOne(Array.map(batch.requests, ({ item }) => item)))
    if (Exit.isFailure(exit)) return batch.requests.map((): Exit.Exit<A, E> => Exit.failCause(exit.cause))
    if (exit.value !== null) return exit.value
    start(admission.split(batch))
    return yield* runApart(batch)
  })

  /** Runs a batch in the fiber of its first request, and returns the exit of that request. */
  const runBatch = Effect.fnUntraced(function*(batch: Batch<Item, A, E>) {
    // The other requests of this turn of the event loop join the batch.
    yield* Effect.yieldNow
    start(admission.close(batch))
    const exits = yield* batch.state === "together" ? runTogether(batch) : runApart(batch)
    const started = admission.end(batch)
    const exitAt = (index: number) => exits[index] ?? Exit.die(new Error("An item has no outcome."))
    for (const [index, { next }] of batch.requests.entries()) {
      if (index > 0) Deferred.doneUnsafe(next, Exit.succeed(exitAt(index)))
    }
    start(started)
    return yield* exitAt(0)
  })

  return (item: Item): Effect.Effect<A, E> =>
    Effect.uninterruptible(Effect.suspend(() => {
      const request: Request<Item, A, E> = {
        item,
        owner: options.ownerOf(item),
        weight: options.weightOf(item),
        group: options.groupOf(item),
        exclusive: options.exclusiveKeysOf(item),
        shared: options.sharedKeysOf(item),
        next: Deferred.makeUnsafe()
      }
      start(admission.add(request))
      return Effect.flatMap(Deferred.await(request.next), (next) => Exit.isExit(next) ? next : runBatch(next))
    }))
}
