/**
 * Decides which requests of `Batcher.ts` can run, and in which batch.
 *
 * | State of a batch | Meaning | Its group can start another batch | Next state |
 * | --- | --- | --- | --- |
 * | `collecting` | requests join it until the turn of the event loop ends | no | `together`, or `apart` with only one request |
 * | `together` | its requests run as one | no | ended, or `apart` if none took effect |
 * | `apart` | each of its requests runs on its own | yes | ended |
 *
 * A batch has a slot and its keys until it ends.
 */
import type { Array } from "effect"

/** The group and keys of a request, as the batcher's `Options` describe them. */
export interface Request {
  readonly group: string | null
  readonly exclusive: ReadonlyArray<string>
  readonly shared: ReadonlyArray<string>
}

/** A batch that has started. */
export interface Batch<R extends Request> {
  readonly requests: Array.NonEmptyArray<R>
  /** The keys of its requests, which are locked for requests of other batches. */
  readonly locked: Set<string>
  /** Those keys with which further requests can join it. */
  readonly shared: Set<string>
  state: "collecting" | "together" | "apart"
}

interface Options {
  /** The maximum number of batches that run at once. */
  readonly concurrency: number
  /** The maximum number of requests in a batch. */
  readonly size: number
}

const lockKeys = <R extends Request>({ locked, shared }: Batch<R>, request: R): void => {
  for (const key of request.exclusive) locked.add(key)
  for (const key of request.shared) {
    locked.add(key)
    shared.add(key)
  }
}

/** Makes the functions that add a request and change the state of a batch. Each returns the batches that start because of it. */
export const make = <R extends Request>({ concurrency, size }: Options) => {
  let waiting: Array<R> = []
  let running: ReadonlyArray<Batch<R>> = []

  const canStart = (group: string | null): boolean =>
    running.length < concurrency &&
    (group === null || running.every(({ requests: [first], state }) => state === "apart" || first.group !== group))

  const canJoin = ({ requests }: Batch<R>, group: string | null): boolean =>
    requests[0].group === group && requests.length < size

  const startBatch = (request: R): Batch<R> => {
    const batch: Batch<R> = { requests: [request], locked: new Set(), shared: new Set(), state: "collecting" }
    lockKeys(batch, request)
    running = [...running, batch]
    return batch
  }

  /** Admits waiting requests in their order. None overtakes an earlier one with the same exclusive key. */
  const admitWaiting = (admits: (request: R, isFree: (key: string) => boolean) => boolean): void => {
    const left: Array<R> = []
    const awaited = new Set<string>()
    const isFree = (key: string): boolean => !awaited.has(key) && running.every(({ locked }) => !locked.has(key))
    for (const request of waiting) {
      if (admits(request, isFree)) continue
      left.push(request)
      for (const key of request.exclusive) awaited.add(key)
    }
    waiting = left
  }

  /** Starts batches with waiting requests, one each, and returns them. */
  const startNext = (): ReadonlyArray<Batch<R>> => {
    const started: Array<Batch<R>> = []
    if (running.length === concurrency) return started
    admitWaiting((request, isFree) => {
      if (!canStart(request.group) || !request.exclusive.every(isFree) || !request.shared.every(isFree)) return false
      started.push(startBatch(request))
      return true
    })
    return started
  }

  /** Adds waiting requests to a batch. */
  const fill = (batch: Batch<R>): void =>
    admitWaiting((request, isFree) => {
      const canShare = (key: string) => batch.shared.has(key) || isFree(key)
      if (
        !canJoin(batch, request.group) || !request.exclusive.every(isFree) || !request.shared.every(canShare)
      ) return false
      batch.requests.push(request)
      lockKeys(batch, request)
      return true
    })

  return {
    /** Adds a waiting request. */
    add: (request: R): ReadonlyArray<Batch<R>> => {
      waiting.push(request)
      return canStart(request.group) ? startNext() : []
    },
    /** Ends the turn in which a batch collects requests. A batch of one must not block its group while it waits for a row lock. */
    close: (batch: Batch<R>): ReadonlyArray<Batch<R>> => {
      if (batch.requests[0].group !== null) fill(batch)
      batch.state = batch.requests.length === 1 ? "apart" : "together"
      return startNext()
    },
    /** Lets the requests of a batch run each on its own, because they cannot run as one. */
    split: (batch: Batch<R>): ReadonlyArray<Batch<R>> => {
      batch.state = "apart"
      return startNext()
    },
    /** Ends a batch. */
    end: (batch: Batch<R>): ReadonlyArray<Batch<R>> => {
      running = running.filter((each) => each !== batch)
      return startNext()
    }
  }
}
