/**
 * How what is asked for at the same time is carried out together.
 *
 * Who asks while nothing is under way is served at once, together with whoever
 * asks in the same turn of the event loop. Who asks meanwhile waits, and all
 * that wait go together next: the busier it is, the larger the gatherings are.
 */
import { Deferred, Effect, Exit } from "effect"

export type Some<Item> = readonly [Item, ...ReadonlyArray<Item>]

export interface Options<Item, A, E, R> {
  /** How many gatherings are under way at once, at most. */
  readonly concurrency: number
  /** How many items a gathering has, at most. */
  readonly size: number
  /** Items of one group may go together; one without a group goes alone. */
  readonly groupOf: (item: Item) => string | null
  /** Items that have one of these in common go one after the other, in the order in which they came. */
  readonly rowsOf: (item: Item) => ReadonlyArray<string>
  /** Items that have one of these in common go together or one after the other. */
  readonly lanesOf: (item: Item) => ReadonlyArray<string>
  /** Carries items out, and answers each in its place. */
  readonly run: (items: Some<Item>) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>, never, R>
}

interface Entry<Item, A, E> {
  readonly item: Item
  readonly group: string | null
  readonly rows: ReadonlyArray<string>
  readonly lanes: ReadonlyArray<string>
  /** What becomes of the item; null where it is the first of its gathering, and carries it out. */
  readonly turn: Deferred.Deferred<Exit.Exit<A, E> | null>
}

/** Returns a way to ask for one item, in gatherings with whoever else does. It cannot be interrupted. */
export const make = <Item, A, E, R>(options: Options<Item, A, E, R>) => {
  type Asked = Entry<Item, A, E>
  const waiting = new Set<Asked>()
  /** The rows and lanes of the items that are under way. */
  const busy = new Set<string>()
  /** Groups whose next gathering is about to begin. */
  const gathering = new Set<string>()
  let under_way = 0

  const begin = (entry: Asked): void => {
    waiting.delete(entry)
    for (const name of [...entry.rows, ...entry.lanes]) busy.add(name)
  }

  /**
   * Takes those of the waiting that may go now, without overtaking one that waits
   * for a row of theirs. `lanes` are those of the gathering that they join.
   */
  const take = (mayGo: (entry: Asked) => boolean, lanes: Set<string> | null): ReadonlyArray<Asked> => {
    const taken: Array<Asked> = []
    const awaited = new Set<string>()
    for (const entry of waiting) {
      const isFree = entry.rows.every((row) => !busy.has(row) && !awaited.has(row)) &&
        entry.lanes.every((lane) => (!busy.has(lane) && !awaited.has(lane)) || lanes?.has(lane) === true)
      if (isFree && mayGo(entry)) {
        begin(entry)
        taken.push(entry)
        for (const lane of entry.lanes) lanes?.add(lane)
      } else {
        for (const row of entry.rows) awaited.add(row)
      }
    }
    return taken
  }

  /** Lets the first of those that wait begin gatherings, as long as there is room for them. */
  const next = (): void => {
    if (under_way >= options.concurrency) return
    const firsts = take(({ group }) => {
      if (under_way >= options.concurrency || (group !== null && gathering.has(group))) return false
      under_way++
      if (group !== null) gathering.add(group)
      return true
    }, null)
    for (const { turn } of firsts) Deferred.doneUnsafe(turn, Exit.succeed(null))
  }

  /** Returns the gathering that begins with an item. */
  const gathered = (first: Asked): Some<Asked> => {
    const { group, lanes } = first
    if (group === null) return [first]
    gathering.delete(group)
    let room = options.size - 1
    const others = take((entry) => entry.group === group && room-- > 0, new Set(lanes))
    return [first, ...others]
  }

  const end = (entries: Some<Asked>): void => {
    under_way--
    for (const { lanes, rows } of entries) {
      for (const name of [...rows, ...lanes]) busy.delete(name)
    }
  }

  const lead = Effect.fnUntraced(function*(first: Asked) {
    // Whoever asks in this turn of the event loop goes along.
    yield* Effect.yieldNow
    const entries = gathered(first)
    const [{ item }, ...others] = entries
    next()
    const exit = yield* Effect.exit(options.run([item, ...others.map((entry) => entry.item)]))
    end(entries)
    const outcomeAt = (index: number): Exit.Exit<A, E> =>
      Exit.isFailure(exit)
        ? Exit.failCause(exit.cause)
        : exit.value[index] ?? Exit.die(new Error("An item has no answer."))
    for (const [index, { turn }] of others.entries()) Deferred.doneUnsafe(turn, Exit.succeed(outcomeAt(index + 1)))
    next()
    return yield* outcomeAt(0)
  })

  return (item: Item): Effect.Effect<A, E, R> =>
    Effect.uninterruptible(Effect.suspend(() => {
      const entry: Asked = {
        item,
        group: options.groupOf(item),
        rows: options.rowsOf(item),
        lanes: options.lanesOf(item),
        turn: Deferred.makeUnsafe()
      }
      waiting.add(entry)
      if (entry.group === null || !gathering.has(entry.group)) next()
      return Effect.flatMap(Deferred.await(entry.turn), (outcome) => outcome ?? lead(entry))
    }))
}
