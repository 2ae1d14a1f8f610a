/** The open connections of a server: how many requests are in progress on them, and which are closed when there are too many. */
import type { Connection } from "./Connection.ts"

/** The limits of connections. */
export interface ConnectionLimits {
  readonly connections_max: number
  /** How many connections can still send after their last response. */
  readonly unread_max: number
  /** How many responses can be in preparation. */
  readonly requests_max: number
}

/** The open connections of a server, and which of them it closes when there are too many. */
export class OpenConnections {
  private readonly limits: ConnectionLimits
  // Each of these sets is ordered: the connection that was added first is the first to be closed.
  private readonly open = new Set<Connection>()
  /** The connections that have not sent a request yet. */
  private readonly silent = new Set<Connection>()
  /** The connections that wait for a next request. */
  private readonly idle = new Set<Connection>()
  /** The connections that have their last response, and whose client can still send. */
  private readonly lingering = new Set<Connection>()
  private isMakingRoom = false

  constructor(limits: ConnectionLimits) {
    this.limits = limits
  }

  add(connection: Connection): void {
    this.open.add(connection)
    this.silent.add(connection)
    connection.socket.once("close", () => this.forget(connection))
    this.makeRoom()
  }

  private forget(connection: Connection): void {
    for (const connections of [this.open, this.silent, this.idle, this.lingering]) connections.delete(connection)
  }

  /**
   * Records that a request of a connection begins, and returns whether too many are in progress. A request counts while its
   * response is being prepared: not while its body arrives or its response is sent, because a slow client could make that last.
   */
  begin(connection: Connection): boolean {
    this.use(connection)
    const { requests_max } = this.limits
    if (this.open.size - this.silent.size - this.idle.size <= requests_max) return false
    let preparing = 0
    for (const one of this.open) if (one !== connection && one.isBusy && one.isPreparing) preparing++
    return preparing >= requests_max
  }

  /** Records that a connection has its last response. */
  linger(connection: Connection): void {
    this.use(connection)
    this.lingering.add(connection)
    this.makeRoom()
  }

  /** Records that a connection waits for its next request. */
  wait(connection: Connection): void {
    this.idle.add(connection)
    connection.read()
    // Also called here, because no other event calls it while the server accepts no connections.
    this.makeRoom()
  }

  /** Reads the requests that have arrived before the server had routes. */
  read(): void {
    for (const connection of this.open) connection.read()
  }

  /** Closes the connections that wait for a next request of which nothing has arrived. */
  closeIdle(): void {
    for (const connection of this.idle) if (!connection.hasHead) this.close(connection)
  }

  private use(connection: Connection): void {
    this.silent.delete(connection)
    this.idle.delete(connection)
  }

  /** Closes connections if too many are open. */
  private makeRoom(): void {
    const { connections_max, unread_max } = this.limits
    const crowd = connections_max * 3 / 4
    if (this.isMakingRoom || (this.open.size <= crowd && this.lingering.size <= unread_max)) return
    this.isMakingRoom = true
    // At the end of this turn of the event loop, the requests that have arrived are read, and their connections are not idle.
    setImmediate(() => {
      this.isMakingRoom = false
      // Close connections in the larger group, so that a flood of one kind cannot evict the other.
      const more = this.idle.size > this.silent.size ? this.idle : this.silent
      const places = more === this.idle ? crowd : connections_max
      this.closeFirst(more, this.open.size - places)
      this.closeFirst(this.lingering, this.lingering.size - unread_max)
    })
  }

  private closeFirst(connections: ReadonlySet<Connection>, count: number): void {
    let left = count
    for (const connection of connections) {
      if (left-- <= 0) return
      this.close(connection)
    }
  }

  private close(connection: Connection): void {
    this.forget(connection)
    connection.socket.destroy()
  }
}
