/**
 * Connections to endpoints that stay open for a few seconds after an answer.
 *
 * One that is used again leads to the address that was checked when it was
 * opened: it is never dialled again.
 */
import type { Socket } from "node:net"
import { Client } from "undici"

/** How many are kept. */
const kept_max = 256

/** How old one may be that is used again, in milliseconds: an endpoint that moves is followed to its new address. */
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
        // Undici overlooks an answer that comes before `connect` has returned.
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

  /** Ends it, whatever goes on there. */
  end(): void {
    // What was not read of it would otherwise stay until V8 collects all garbage.
    this.socket.destroy().read()
    void this.client.destroy()
  }
}

/** The connections that nobody uses now. Undici ends one after 4 seconds, or a second before its endpoint would. */
export class KeptConnections {
  /** In the order in which they were kept. */
  private readonly kept = new Set<Connection>()

  /** Returns the one that was kept last for an origin, if there is one, and keeps it no longer. */
  take(origin: string): Connection | undefined {
    const found = Array.from(this.kept).findLast((each) => each.origin === origin && each.mayBeUsedAgain)
    if (found !== undefined) this.kept.delete(found)
    return found
  }

  keep(connection: Connection): void {
    if (!connection.mayBeUsedAgain) return connection.end()
    this.kept.add(connection)
    const [oldest] = this.kept
    if (oldest !== undefined && this.kept.size > kept_max) this.drop(oldest)
  }

  endAll(): void {
    for (const connection of this.kept) this.drop(connection)
  }

  private drop(connection: Connection): void {
    this.kept.delete(connection)
    connection.end()
  }
}
