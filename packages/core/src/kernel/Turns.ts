/**
 * Turns: how much of a shared resource is used at once, and whose turn is next.
 *
 * A resource has places. What uses one has a key, such as its organization. Waiting keys take turns: a key that has used little
 * goes before one that has used much, so none can delay another by asking for more.
 */
import { Context, type Duration, Effect, Option } from "effect"

/**
 * The order in which the requests of several keys are served, as in self-clocked fair queuing (Golestani, 1994).
 *
 * A position is the weight that its key will have been served with, counted from what is served now. Smaller ones go first.
 */
export class Order<Key> {
  /** The position that was served last. */
  private served = 0
  /** The last position of each key that has positions after `served`. */
  private readonly last = new Map<Key, number>()

  /** Returns the position of a new request. Those of one key increase. */
  positionOf(key: Key, weight: number): number {
    const position = Math.max(this.served, this.last.get(key) ?? 0) + weight
    this.last.set(key, position)
    return position
  }

  /** Records that a request is served, or will never be. */
  leave(key: Key, position: number): void {
    if (this.last.get(key) === position) this.last.delete(key)
  }

  /** Records that a request is served. */
  serve(key: Key, position: number): void {
    this.served = Math.max(this.served, position)
    this.leave(key, position)
  }
}

/** Inserts a request into a list that is in the order of turns. */
export const insertInOrder = <Request extends { readonly position: number }>(
  list: Array<Request>,
  request: Request
): void => {
  list.splice(list.findLastIndex(({ position }) => position <= request.position) + 1, 0, request)
}

/**
 * The key with which a fiber waits for what every operation uses, such as a connection of the database: its organization.
 * Null for the service itself.
 */
export const CurrentTurn = Context.Reference<unknown>("@messaging-crm/core/Turns/CurrentTurn", {
  defaultValue: () => null
})

export interface Options {
  /** How many can be in use at once. */
  readonly places: number
  /**
   * How many one key can hold. `"half"`: a key gets more only while more places are free than it holds, so one key
   * alone gets half of them, two get a third each, and some are always free for another. By default, all places.
   */
  readonly share?: number | "half"
  /** Whether a key that holds none gets its first place at once, even if none is free. */
  readonly isFirstGranted?: boolean
}

/** A request for places. */
interface Request<Key> {
  readonly key: Key
  readonly position: number
  /** Continues the waiting fiber. */
  resume: () => void
  isHolding: boolean
}

/** The turns of one resource. */
export class Turns<Key> {
  private readonly options: Options
  private readonly order = new Order<Key>()
  /** How many places each key holds. */
  readonly held: ReadonlyMap<Key, number>
  private readonly holding = new Map<Key, number>()
  /** The waiting requests of each key, first come, first served. */
  private readonly waiting = new Map<Key, Set<Request<Key>>>()
  private used = 0

  constructor(options: Options) {
    this.options = options
    this.held = this.holding
  }

  /** The number of free places. */
  get free(): number {
    return this.options.places - this.used
  }

  /** The number of waiting requests. */
  get waitingCount(): number {
    return Array.from(this.waiting.values()).reduce((sum, { size }) => sum + size, 0)
  }

  private isWithinShare(key: Key): boolean {
    const { share } = this.options
    const held = this.holding.get(key)
    if (share === undefined || held === undefined) return true
    return share === "half" ? held < this.free : held < share
  }

  private hasPlace(key: Key): boolean {
    return this.free > 0 || (this.options.isFirstGranted === true && !this.holding.has(key))
  }

  private hold(request: Request<Key>): void {
    request.isHolding = true
    this.order.serve(request.key, request.position)
    this.used++
    this.holding.set(request.key, (this.holding.get(request.key) ?? 0) + 1)
  }

  private stopWaiting(request: Request<Key>): void {
    const ofKey = this.waiting.get(request.key)
    ofKey?.delete(request)
    if (ofKey?.size === 0) this.waiting.delete(request.key)
  }

  /** Returns the waiting request whose turn it is: the one with the smallest position whose key can hold more. */
  private next(): Request<Key> | null {
    let next: Request<Key> | null = null
    for (const [key, [first]] of this.waiting) {
      if (first === undefined || !this.isWithinShare(key)) continue
      if (next === null || first.position < next.position) next = first
    }
    return next
  }

  private grantNext(): void {
    let request = this.next()
    while (request !== null && this.hasPlace(request.key)) {
      this.stopWaiting(request)
      this.hold(request)
      request.resume()
      request = this.next()
    }
  }

  private requestOf(key: Key): Request<Key> {
    return { key, position: this.order.positionOf(key, 1), resume: () => {}, isHolding: false }
  }

  /** Takes the turn of a request, or returns the wait for it. */
  private take(request: Request<Key>): Effect.Effect<void> | null {
    if (this.waiting.size === 0 && this.isWithinShare(request.key) && this.hasPlace(request.key)) {
      this.hold(request)
      return null
    }
    const ofKey = this.waiting.get(request.key)
    if (ofKey === undefined) this.waiting.set(request.key, new Set([request]))
    else ofKey.add(request)
    this.grantNext()
    return request.isHolding ? null : Effect.callback<void>((resume) => {
      // Without the yield, each fiber of a long queue would run inside the previous one.
      request.resume = () => resume(Effect.yieldNow)
      if (request.isHolding) request.resume()
    })
  }

  /** Ends a request, whether it holds places, waits, or has not begun, and serves those that wait. */
  private end(request: Request<Key>): void {
    const { isHolding, key, position } = request
    if (isHolding) {
      this.used--
      const held = (this.holding.get(key) ?? 0) - 1
      if (held === 0) this.holding.delete(key)
      else this.holding.set(key, held)
    } else {
      this.stopWaiting(request)
      this.order.leave(key, position)
    }
    if (this.waiting.size > 0) this.grantNext()
  }

  /** Runs an effect in its turn. */
  run<A, E, R>(key: Key, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const request = this.requestOf(key)
      const inTurn = Effect.suspend(() => {
        const wait = this.take(request)
        return wait === null ? effect : Effect.andThen(wait, effect)
      })
      // The turn is taken inside the effect that ends it, so that no interruption can leak it.
      return Effect.onExitPrimitive(inTurn, () => void this.end(request))
    })
  }

  /** Runs an effect in its turn, and returns none if the turn did not come within `wait`. */
  runWithin<A, E, R>(
    key: Key,
    wait: Duration.Input,
    effect: Effect.Effect<A, E, R>
  ): Effect.Effect<Option.Option<A>, E, R> {
    return Effect.suspend(() => {
      const request = this.requestOf(key)
      const inTurn = Effect.suspend(() => {
        const waiting = this.take(request)
        const run = Effect.map(effect, Option.some)
        if (waiting === null) return run
        // The turn can come after the wait has ended and before this fiber continues.
        return Effect.flatMap(
          Effect.timeoutOption(waiting, wait),
          () => request.isHolding ? run : Effect.succeedNone
        )
      })
      return Effect.onExitPrimitive(inTurn, () => void this.end(request))
    })
  }

  /** Takes a turn until the scope ends if one is free, and returns whether it is. */
  acquireNow(key: Key) {
    return Effect.uninterruptible(Effect.suspend(() => {
      const request = this.requestOf(key)
      if (this.take(request) === null) {
        return Effect.as(Effect.addFinalizer(() => Effect.sync(() => this.end(request))), true)
      }
      this.end(request)
      return Effect.succeed(false)
    }))
  }

  /** Takes a turn until the scope ends. */
  acquire(key: Key) {
    return Effect.suspend(() => {
      const request = this.requestOf(key)
      return Effect.andThen(
        Effect.addFinalizer(() => Effect.sync(() => this.end(request))),
        Effect.suspend(() => this.take(request) ?? Effect.void)
      )
    })
  }
}
