/** Server-sent events: sends changes to every open page. */
import type { StreamMessages } from "./StreamMessages.ts"

/** The interval of comments, which prevent either side from considering a stream without events closed. */
const heartbeat_millis = 15_000
/** The maximum number of unread messages. Above it, the stream is closed, and the browser connects again. */
const unread_max = 2000
/** The maximum number of open streams by default. A further one closes the oldest. */
const streams_max_default = 100

const encoder = new TextEncoder()
const messageOf = <Name extends keyof StreamMessages>(name: Name, data: StreamMessages[Name]) =>
  encoder.encode(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)

export class Feed {
  private readonly open = new Set<ReadableStreamDefaultController<Uint8Array>>()
  private readonly timer = setInterval(() => this.send(encoder.encode(":\n\n")), heartbeat_millis).unref()
  private readonly streams_max: number
  private isClosed = false

  constructor(streams_max = streams_max_default) {
    this.streams_max = streams_max
  }

  /** The number of open streams. */
  get size(): number {
    return this.open.size
  }

  publish<Name extends keyof StreamMessages>(name: Name, data: StreamMessages[Name]): void {
    if (this.open.size > 0) this.send(messageOf(name, data))
  }

  /** Returns a new stream that begins with one message. */
  connect<Name extends keyof StreamMessages>(name: Name, data: StreamMessages[Name]): ReadableStream<Uint8Array> {
    let stream: ReadableStreamDefaultController<Uint8Array>
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        stream = controller
        controller.enqueue(messageOf(name, data))
        if (this.isClosed) controller.close()
        else this.open.add(controller)
        const [oldest] = this.open
        if (oldest !== undefined && this.open.size > this.streams_max) this.end(oldest)
      },
      cancel: () => void this.open.delete(stream)
    }, { highWaterMark: unread_max })
  }

  /** Ends every open stream. Its browser connects again. */
  endAll(): void {
    for (const controller of this.open) this.end(controller)
  }

  /** Ends every open stream, and every stream that is opened later. */
  close(): void {
    this.isClosed = true
    clearInterval(this.timer)
    this.endAll()
  }

  private send(message: Uint8Array): void {
    for (const controller of this.open) {
      if ((controller.desiredSize ?? 0) <= 0) this.end(controller)
      else controller.enqueue(message)
    }
  }

  private end(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.open.delete(controller)
    controller.close()
  }
}
