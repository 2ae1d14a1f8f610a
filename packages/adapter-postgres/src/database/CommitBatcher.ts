/**
 * Batches of concurrent requests that write, such as commits. Reads share statements in `LookupBatcher.ts`.
 *
 * If there is a free slot, a request starts a batch immediately, with all requests of
 * the same turn of the event loop. Later requests wait for a slot and, while their group
 * has a batch of several requests, for its end. Then they form the next batch: the higher
 * the load, the larger the batches.
 */
import { Deferred, Effect, Exit } from "effect"

export type Some<Item> = readonly [Item, ...ReadonlyArray<Item>]

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
  readonly runBatch: (items: Some<Item>) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>> | null, never, R>
}

interface Entry<Item, A, E> {
  readonly item: Item
  readonly group: string | null
  readonly exclusive: ReadonlyArray<string>
  readonly shared: ReadonlyArray<string>
  readonly step: Deferred.Deferred<Step<A, E>>
}

/** The next step of a waiting request: the first one of a batch runs the batch, and each other one ends with its exit. */
type Step<A, E> = { readonly _tag: "Lead" } | { readonly _tag: "End"; readonly exit: Exit.Exit<A, E> }

/** Returns a function that requests one item, which is run in a batch. A request cannot be interrupted. */
export const make = <Item, A, E, R>(options: Options<Item, A, E, R>) => {
  let waiting: Array<Entry<Item, A, E>> = []
  /** The keys of the running items. */
  const busy = new Set<string>()
  /** Groups that start no other batch: their batch forms until the next turn of the event loop, or has several items. */
  const occupied = new Set<string>()
  let running = 0

  const begin = (entry: Entry<Item, A, E>): void => {
    for (const key of [...entry.exclusive, ...entry.shared]) busy.add(key)
  }

  /**
   * Removes and returns the waiting requests that can run now and are admitted. Each is
   * asked about once, in the order of the requests. No request overtakes an earlier one
   * with the same exclusive key. `joined` are the shared keys of the batch that they
   * join; null for requests that start one.
   */
  const take = (
    admit: (entry: Entry<Item, A, E>) => boolean,
    joined: Set<string> | null
  ): ReadonlyArray<Entry<Item, A, E>> => {
    const taken: Array<Entry<Item, A, E>> = []
    const left: Array<Entry<Item, A, E>> = []
    const blocked = new Set<string>()
    for (const entry of waiting) {
      const isFree = entry.exclusive.every((key) => !busy.has(key) && !blocked.has(key)) &&
        entry.shared.every((key) => (!busy.has(key) && !blocked.has(key)) || joined?.has(key) === true)
      if (isFree && admit(entry)) {
        begin(entry)
        taken.push(entry)
        for (const key of entry.shared) joined?.add(key)
      } else {
        left.push(entry)
        for (const key of entry.exclusive) blocked.add(key)
      }
    }
    waiting = left
    return taken
  }

  /** Takes a slot and the group for a batch that begins with a request, if both are free. */
  const occupy = ({ group }: Entry<Item, A, E>): boolean => {
    if (running >= options.concurrency || (group !== null && occupied.has(group))) return false
    running++
    if (group !== null) occupied.add(group)
    return true
  }

  /** Starts batches while there are free slots: each begins with the first waiting request of its group. */
  const next = (): void => {
    if (running >= options.concurrency) return
    for (const { step } of take(occupy, null)) Deferred.doneUnsafe(step, Exit.succeed({ _tag: "Lead" }))
  }

  /** Returns the batch that begins with a request. */
  const formBatch = (first: Entry<Item, A, E>): Some<Entry<Item, A, E>> => {
    const { group, shared } = first
    if (group === null) return [first]
    let left = options.size - 1
    const others = take((entry) => entry.group === group && left-- > 0, new Set(shared))
    // A batch of one must not block its group while it waits for a row lock.
    if (others.length === 0) occupied.delete(group)
    return [first, ...others]
  }

  const end = (entries: Some<Entry<Item, A, E>>): void => {
    running--
    for (const { exclusive, shared } of entries) {
      for (const key of [...exclusive, ...shared]) busy.delete(key)
    }
  }

  const runEach = (entries: Some<Entry<Item, A, E>>) =>
    Effect.forEach(entries, ({ item }) => Effect.exit(options.runSingle(item)), { concurrency: "unbounded" })

  const run = Effect.fnUntraced(function*(entries: Some<Entry<Item, A, E>>) {
    const [{ group, item }, ...others] = entries
    if (group === null || others.length === 0) return yield* runEach(entries)
    const exit = yield* Effect.exit(options.runBatch([item, ...others.map((entry) => entry.item)]))
    occupied.delete(group)
    if (Exit.isFailure(exit)) return entries.map((): Exit.Exit<A, E> => Exit.failCause(exit.cause))
    if (exit.value !== null) return exit.value
    next()
    return yield* runEach(entries)
  })

  const lead = Effect.fnUntraced(function*(first: Entry<Item, A, E>) {
    // The other requests of this turn of the event loop join the batch.
    yield* Effect.yieldNow
    const entries = formBatch(first)
    next()
    const exits = yield* run(entries)
    end(entries)
    const exitAt = (index: number) => exits[index] ?? Exit.die(new Error("An item has no outcome."))
    for (const [index, { step }] of entries.slice(1).entries()) {
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
      waiting.push(entry)
      if (entry.group === null || !occupied.has(entry.group)) next()
      return Effect.flatMap(Deferred.await(entry.step), (step) => step._tag === "Lead" ? lead(entry) : step.exit)
    }))
}
