import { isObject, parse } from "./Attempt.ts"
import type { Event } from "./Contract.ts"
import { jittered, pause } from "./Retries.ts"

interface Source {
  /** Opens the stream after a cursor, and returns its text as it arrives. */
  readonly open: (after: string) => AsyncGenerator<string, void, undefined>
  /** Waits before a failed attempt is repeated. Throws its error if it cannot succeed. */
  readonly pauseAfter: (error: unknown, attempts: number) => Promise<void>
  readonly signal: AbortSignal | undefined
}

/** A server-sent event. */
interface Block {
  readonly id: string | null
  readonly data: string | null
}

/** The pause after the end of a stream. */
const short_pause_millis = 1000

/** Returns the values of a field in a block, in their order. */
const valuesOf = (lines: ReadonlyArray<string>, field: string): ReadonlyArray<string> =>
  lines.filter((line) => line.startsWith(`${field}:`)).map((line) => line.slice(field.length + 1).replace(/^ /, ""))

const blockOf = (text: string): Block => {
  const lines = text.split("\n")
  const data = valuesOf(lines, "data")
  return { id: valuesOf(lines, "id").at(-1) ?? null, data: data.length === 0 ? null : data.join("\n") }
}

/** Reads the complete blocks of a stream. A block that was cut off is discarded. */
async function* blocksOf(texts: AsyncGenerator<string, void, undefined>): AsyncGenerator<Block, void, undefined> {
  let rest = ""
  for await (const text of texts) {
    const blocks = (rest + text).split("\n\n")
    rest = blocks.pop() ?? ""
    yield* blocks.map(blockOf)
  }
}

/**
 * Events in the order of commits, without an end, as the service commits them:
 * `for await (const event of crm.events.stream({ after }))`.
 *
 * It survives restarts of the service, and continues where it stopped. It ends by `break`, by the `signal`, or with an error that
 * a retry cannot correct, such as `cursor_expired`. After a restart of your own process, continue with the stored `cursor`.
 */
export class StreamedEvents implements AsyncIterable<Event> {
  readonly #source: Source
  #cursor: string

  constructor(after: string, source: Source) {
    this.#source = source
    this.#cursor = after
  }

  /** The value of `after` to continue with. It moves on once an event has been processed. */
  get cursor(): string {
    return this.#cursor
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    const { open, pauseAfter, signal } = this.#source
    for (let failures = 0;;) {
      try {
        for await (const { data, id } of blocksOf(open(this.#cursor))) {
          failures = 0
          const event = data === null ? null : parse(data)
          // The service encodes events with the schemas that this type is generated from.
          if (isObject(event)) yield event as unknown as Event
          if (id !== null) this.#cursor = id
        }
        await pause(jittered(short_pause_millis), signal)
      } catch (error) {
        await pauseAfter(error, ++failures)
      }
    }
  }
}
