import type { WithResponse } from "./Attempt.ts"
import type { Event } from "./Contract.ts"
import type { Page } from "./Pages.ts"
import { jittered, pause } from "./Retries.ts"

/** A page of followed events. `next_cursor` is where to continue after its events, also after an empty page. */
export interface FollowedPage extends Page<Event> {
  readonly next_cursor: string
}

type Read = (after: string, waits: boolean) => Promise<WithResponse<Page<Event>>>

/** The pause after an empty page that did not wait, for example because the process stops. */
const short_wait_millis = 1000

/**
 * Events in the order of commits, without an end: `for await (const event of crm.events.follow({ after }))`.
 *
 * It survives restarts of the service, and continues where it stopped: failed requests are retried until one succeeds, with the
 * client's backoff. It ends by `break`, by the `signal`, or with an error that a retry cannot correct, such as `cursor_expired`.
 * After a restart of your own process, continue with the stored `cursor`.
 */
export class FollowedEvents implements AsyncIterable<Event> {
  readonly #read: Read
  readonly #signal: AbortSignal | undefined
  #cursor: string

  constructor(
    after: string,
    read: Read,
    signal: AbortSignal | undefined
  ) {
    this.#cursor = after
    this.#read = read
    this.#signal = signal
  }

  /**
   * The value of `after` to continue with. It moves on once all events of a page have been processed, so a restart within a page
   * returns some of its events again: discard the IDs that you know.
   */
  get cursor(): string {
    return this.#cursor
  }

  /** Reads page by page, to store the events of a page and its `next_cursor` in one transaction. Empty pages are included. */
  async *pages(): AsyncGenerator<FollowedPage, void, undefined> {
    for (;;) {
      const started = Date.now()
      // A repeated request after `now` would skip events, so it gets its cursor at once.
      const isStart = this.#cursor === "now"
      const { data, next_cursor } = await this.#read(this.#cursor, !isStart)
      // Every page with `after` has a cursor.
      const next = next_cursor ?? this.#cursor
      yield { data, next_cursor: next }
      this.#cursor = next
      if (!isStart && data.length === 0 && Date.now() - started < short_wait_millis) {
        await pause(jittered(short_wait_millis), this.#signal)
      }
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    for await (const { data } of this.pages()) yield* data
  }
}
