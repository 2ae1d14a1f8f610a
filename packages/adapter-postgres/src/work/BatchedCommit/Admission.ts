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
import { insertInOrder, Order } from "@messaging-crm/core/Turns"
import type { Array } from "effect"

/** The conditions of a request, as the batcher's `Options` describe them. */
export interface AdmissibleRequest {
  readonly owner: string
  readonly weight: number
  readonly group: string | null
  readonly exclusive: ReadonlyArray<string>
  readonly shared: ReadonlyArray<string>
}

/** A batch that has started. */
export interface Batch<R extends AdmissibleRequest> {
  readonly requests: Array.NonEmptyArray<R>
  /** The keys of its requests, which are locked for requests of other batches. */
  readonly locked: Set<string>
  /** Those keys with which further requests can join it. */
  readonly shared: Set<string>
  state: "collecting" | "together" | "apart"
}

/** A waiting request, with the position of its turn. */
interface Waiting<R extends AdmissibleRequest> {
  readonly request: R
  readonly position: number
}

interface Options {
  /** The maximum number of batches that run at once. */
  readonly concurrency: number
  /** The maximum number of requests in a batch. */
  readonly size: number
}

const lockKeys = <R extends AdmissibleRequest>({ locked, shared }: Batch<R>, request: R): void => {
  for (const key of request.exclusive) locked.add(key)
  for (const key of request.shared) {
    locked.add(key)
    shared.add(key)
  }
}

/** The waiting requests and the running batches. Each public method returns the batches that start because of it. */
export class Admission<R extends AdmissibleRequest> {
  private readonly options: Options
  /** The waiting requests, in the order of their turns. */
  private waiting: Array<Waiting<R>> = []
  private readonly order = new Order<string>()
  private running: ReadonlyArray<Batch<R>> = []

  constructor(options: Options) {
    this.options = options
  }

  /** Adds a waiting request. */
  add(request: R): ReadonlyArray<Batch<R>> {
    const position = this.order.positionOf(request.owner, request.weight)
    insertInOrder(this.waiting, { request, position })
    return this.canStart(request.group) ? this.startNext() : []
  }

  /** Ends the turn in which a batch collects requests. A batch of one must not block its group while it waits for a row lock. */
  close(batch: Batch<R>): ReadonlyArray<Batch<R>> {
    if (batch.requests[0].group !== null) this.fill(batch)
    batch.state = batch.requests.length === 1 ? "apart" : "together"
    return this.startNext()
  }

  /** Lets the requests of a batch run each on its own, because they cannot run as one. */
  split(batch: Batch<R>): ReadonlyArray<Batch<R>> {
    batch.state = "apart"
    return this.startNext()
  }

  /** Ends a batch. */
  end(batch: Batch<R>): ReadonlyArray<Batch<R>> {
    this.running = this.running.filter((each) => each !== batch)
    return this.startNext()
  }

  private hasSlot(): boolean {
    return this.running.length < this.options.concurrency
  }

  private canStart(group: string | null): boolean {
    return this.hasSlot() &&
      (group === null ||
        this.running.every(({ requests: [first], state }) => state === "apart" || first.group !== group))
  }

  private canJoin({ requests }: Batch<R>, group: string | null): boolean {
    return requests[0].group === group && requests.length < this.options.size
  }

  /** Admits waiting requests in the order of their turns. None overtakes an earlier one with the same exclusive key. */
  private admitWaiting(admits: (request: R, isFree: (key: string) => boolean) => boolean): void {
    const left: Array<Waiting<R>> = []
    const awaited = new Set<string>()
    const isFree = (key: string) => !awaited.has(key) && this.running.every(({ locked }) => !locked.has(key))
    for (const waiting of this.waiting) {
      const { position, request } = waiting
      if (admits(request, isFree)) {
        this.order.serve(request.owner, position)
        continue
      }
      left.push(waiting)
      for (const key of request.exclusive) awaited.add(key)
    }
    this.waiting = left
  }

  /** Starts batches of one waiting request each, and returns them. */
  private startNext(): ReadonlyArray<Batch<R>> {
    const started: Array<Batch<R>> = []
    if (!this.hasSlot()) return started
    this.admitWaiting((request, isFree) => {
      if (!this.canStart(request.group) || ![...request.exclusive, ...request.shared].every(isFree)) return false
      const batch: Batch<R> = { requests: [request], locked: new Set(), shared: new Set(), state: "collecting" }
      lockKeys(batch, request)
      this.running = [...this.running, batch]
      started.push(batch)
      return true
    })
    return started
  }

  /** Adds waiting requests to a batch. */
  private fill(batch: Batch<R>): void {
    this.admitWaiting((request, isFree) => {
      const canShare = (key: string) => batch.shared.has(key) || isFree(key)
      if (!this.canJoin(batch, request.group)) return false
      if (!request.exclusive.every(isFree) || !request.shared.every(canShare)) return false
      batch.requests.push(request)
      lockKeys(batch, request)
      return true
    })
  }
}
