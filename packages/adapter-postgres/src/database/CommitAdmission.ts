/** Decides which requests of `CommitBatcher.ts` can run, and in which batch. */

/** The group and keys of a request, as the batcher's `Options` describe them. */
export interface Request {
  readonly group: string | null
  readonly exclusive: ReadonlyArray<string>
  readonly shared: ReadonlyArray<string>
}

interface Options {
  /** The maximum number of batches that run at once. */
  readonly concurrency: number
  /** The maximum number of requests in a batch. */
  readonly size: number
}

/** Makes the queue of waiting requests, of which `take` returns those that can run. */
const makeQueue = <R extends Request>() => {
  let waiting: Array<R> = []
  /** The keys of the running requests. */
  const busy = new Set<string>()
  return {
    add: (request: R): void => {
      waiting.push(request)
    },
    /**
     * Removes and returns the waiting requests that can run now and are admitted. Each is
     * asked about once, in the order of the requests. No request overtakes an earlier one
     * with the same exclusive key. `joined` are the shared keys of the batch that they
     * join; null for requests that start one.
     */
    take: (admit: (request: R) => boolean, joined: Set<string> | null): ReadonlyArray<R> => {
      const taken: Array<R> = []
      const left: Array<R> = []
      const blocked = new Set<string>()
      for (const request of waiting) {
        const { exclusive, shared } = request
        const isFree = exclusive.every((key) => !busy.has(key) && !blocked.has(key)) &&
          shared.every((key) => (!busy.has(key) && !blocked.has(key)) || joined?.has(key) === true)
        if (isFree && admit(request)) {
          for (const key of [...exclusive, ...shared]) busy.add(key)
          taken.push(request)
          for (const key of shared) joined?.add(key)
        } else {
          left.push(request)
          for (const key of exclusive) blocked.add(key)
        }
      }
      waiting = left
      return taken
    },
    release: (requests: ReadonlyArray<R>): void => {
      for (const { exclusive, shared } of requests) {
        for (const key of [...exclusive, ...shared]) busy.delete(key)
      }
    }
  }
}

/** Makes the functions that admit requests to batches. */
export const make = <R extends Request>({ concurrency, size }: Options) => {
  const queue = makeQueue<R>()
  /** Groups that cannot start another batch, because one collects requests until the next turn of the event loop, or runs with several. */
  const occupied = new Set<string>()
  let running = 0

  const isOccupied = (group: string | null): boolean => group !== null && occupied.has(group)

  /** Acquires a slot and the group for a batch that begins with a request, if both are free. */
  const occupy = ({ group }: Request): boolean => {
    if (running >= concurrency || isOccupied(group)) return false
    running++
    if (group !== null) occupied.add(group)
    return true
  }

  /** Lets the group of a request start another batch. */
  const leaveGroup = ({ group }: Request): void => {
    if (group !== null) occupied.delete(group)
  }

  return {
    leaveGroup,
    /** Adds a request. Returns false if it must wait for the batch of its group. */
    add: (request: R): boolean => {
      queue.add(request)
      return !isOccupied(request.group)
    },
    /** Returns the requests that each start a batch now: the first waiting ones of their groups, while there are free slots. */
    start: (): ReadonlyArray<R> => running >= concurrency ? [] : queue.take(occupy, null),
    /** Returns the batch that begins with a request. */
    formBatch: (first: R): readonly [R, ...ReadonlyArray<R>] => {
      const { group, shared } = first
      if (group === null) return [first]
      let left = size - 1
      const others = queue.take((request) => request.group === group && left-- > 0, new Set(shared))
      // A batch of one must not block its group while it waits for a row lock.
      if (others.length === 0) leaveGroup(first)
      return [first, ...others]
    },
    /** Frees the slot and the keys of a batch. */
    end: (batch: ReadonlyArray<R>): void => {
      running--
      queue.release(batch)
    }
  }
}
