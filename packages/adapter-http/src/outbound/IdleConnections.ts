/**
 * Keep-alive connections to endpoints, open for a few seconds after a response.
 *
 * A reused connection still leads to the address that was checked when it was
 * opened, because it is never connected again.
 */
import type { Socket } from "node:net"
import { Client } from "undici"

/** The maximum number of idle connections. */
const idle_max = 256

/** The maximum age of a reused connection, in milliseconds, so that a changed DNS record is noticed. */
const age_max = 60_000

/** HTTP/1.1 over one socket, for one request at a time. */
export class Connection {
  readonly client: Client
  readonly origin: string
  readonly socket: Socket
  private isOld = false

  constructor({ origin }: URL, socket: Socket) {
    this.origin = origin
    this.socket = socket
    let isTaken = false
    this.client = new Client(origin, {
      connect: (_options, answer) => {
        const isFirst = !isTaken
        isTaken = true
        // Undici ignores a callback that is called before `connect` has returned.
        queueMicrotask(() =>
          isFirst
            ? answer(null, socket)
            : answer(Object.assign(new Error("The connection has ended"), { code: "ECONNRESET" }), null)
        )
      },
      headersTimeout: 0,
      bodyTimeout: 0
    })
    const timer = setTimeout(() => {
      this.isOld = true
    }, age_max).unref()
    socket.once("close", () => clearTimeout(timer))
  }

  get mayBeUsedAgain(): boolean {
    return !this.isOld && !this.socket.destroyed
  }

  /** Closes the connection immediately. */
  end(): void {
    // `read` takes the unread data, which would otherwise stay in memory for a while.
    this.socket.destroy().read()
    void this.client.destroy()
  }
}

/** Idle connections. Undici closes one after 4 seconds, or a second before the keep-alive timeout of its endpoint. */
export class IdleConnections {
  /** Ordered from the oldest to the newest. */
  private readonly idle = new Set<Connection>()

  /** Removes and returns the newest usable connection of an origin, if there is one. */
  take(origin: string): Connection | undefined {
    const found = Array.from(this.idle).findLast((each) => each.origin === origin && each.mayBeUsedAgain)
    if (found !== undefined) this.idle.delete(found)
    return found
  }

  keep(connection: Connection): void {
    if (!connection.mayBeUsedAgain) return connection.end()
    this.idle.add(connection)
    const [oldest] = this.idle
    if (oldest !== undefined && this.idle.size > idle_max) this.drop(oldest)
  }

  endAll(): void {
    for (const connection of this.idle) this.drop(connection)
  }

  private drop(connection: Connection): void {
    this.idle.delete(connection)
    connection.end()
  }
}
