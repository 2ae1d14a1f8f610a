/**
 * Decides which requests of `CommitBatcher.ts` can run, and in which batch.
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

  /**
   * Lets waiting requests join a batch or, without one, start batches, which it returns. It checks the requests in their
   * order, and none overtakes an earlier one with the same exclusive key.
   */
  const admit = (joined: Batch<R> | null): ReadonlyArray<Batch<R>> => {
    const started: Array<Batch<R>> = []
    const left: Array<R> = []
    /** The exclusive keys of the requests that are left. */
    const awaited = new Set<string>()
    const isFree = (key: string): boolean => !awaited.has(key) && running.every(({ locked }) => !locked.has(key))
    for (const request of waiting) {
      const isAdmitted = (joined === null ? canStart(request.group) : canJoin(joined, request.group)) &&
        request.exclusive.every(isFree) &&
        request.shared.every((key) => isFree(key) || joined?.shared.has(key) === true)
      if (!isAdmitted) {
        left.push(request)
        for (const key of request.exclusive) awaited.add(key)
      } else if (joined === null) {
        started.push(startBatch(request))
      } else {
        joined.requests.push(request)
        lockKeys(joined, request)
      }
    }
    waiting = left
    return started
  }

  const startBatches = (): ReadonlyArray<Batch<R>> => running.length < concurrency ? admit(null) : []

  return {
    /** Adds a waiting request. */
    add: (request: R): ReadonlyArray<Batch<R>> => {
      waiting.push(request)
      return canStart(request.group) ? startBatches() : []
    },
    /** Ends the turn in which a batch collects requests. A batch of one must not block its group while it waits for a row lock. */
    close: (batch: Batch<R>): ReadonlyArray<Batch<R>> => {
      if (batch.requests[0].group !== null) admit(batch)
      batch.state = batch.requests.length === 1 ? "apart" : "together"
      return startBatches()
    },
    /** Lets the requests of a batch run each on its own, because they cannot run as one. */
    split: (batch: Batch<R>): ReadonlyArray<Batch<R>> => {
      batch.state = "apart"
      return startBatches()
    },
    /** Ends a batch. */
    end: (batch: Batch<R>): ReadonlyArray<Batch<R>> => {
      running = running.filter((each) => each !== batch)
      return startBatches()
    }
  }
}
