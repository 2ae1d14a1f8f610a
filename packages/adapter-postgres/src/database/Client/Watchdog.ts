import { Duration } from "effect"
import { connect, type NetConnectOpts, type Socket } from "node:net"

/** The time between two checks, in milliseconds. */
export const check_interval = 1000

/** A statement without a response. */
export interface Pending {
  /**
   * The number of checks in a row without data. Checks are counted instead of time, so that a stalled process does not
   * take its own delay for the database's.
   */
  checks: number
  readonly checks_max: number
  /** The bytes written before the statement began. */
  readonly bytes_written: number
  /** Whether its caller was interrupted, and its response is still expected. */
  abandoned: boolean
  /** The index among the pending statements. */
  index: number
}

/**
 * Detects that the database no longer responds on a connection, and closes it.
 *
 * It opens the driver's sockets for one slot of the pool, so that it can count
 * their bytes and destroy them. The driver then opens another connection.
 */
export class Watchdog {
  private readonly address: () => NetConnectOpts
  private readonly sockets = new Set<Socket>()
  private accepted: Socket | undefined
  /** An array, because a set that was large once holds on to the statements that were in it. */
  private pending: Array<Pending> = []
  private bytes_read = 0
  private reservations = 0
  private isRetired = false
  /** The number of checks in a row without data, whether a statement was pending or not. */
  private quiet_checks = 0

  constructor(address: () => NetConnectOpts) {
    this.address = address
  }

  /** Opens a socket. The driver needs one for each connection, and another one to cancel a statement. */
  open(): Socket {
    const socket = connect({ ...this.address(), noDelay: true, keepAlive: true, keepAliveInitialDelay: 5000 })
    this.sockets.add(socket)
    socket.once("close", () => this.sockets.delete(socket))
    // Under TLS the driver does not listen for errors of this socket.
    socket.on("error", () => {})
    // A database that does not respond does not close the connection either.
    socket.once("finish", () => setTimeout(() => socket.destroy(), check_interval).unref())
    return socket
  }

  /** Records that a statement begins. Returns what `end` needs when it ends. */
  begin(deadline: Duration.Duration): Pending {
    const checks_max = Duration.toMillis(deadline) / check_interval
    const statement = {
      checks: 0,
      checks_max,
      bytes_written: this.count("bytesWritten"),
      abandoned: false,
      index: this.pending.length
    }
    this.pending.push(statement)
    return statement
  }

  /** Records the response or the interruption of a statement. If it was sent, an interrupted one still expects its response. */
  end(statement: Pending, hasResponse: boolean): void {
    if (hasResponse || statement.bytes_written === this.count("bytesWritten")) this.forget(statement)
    else statement.abandoned = true
  }

  /** Removes a statement, unless the connection was closed meanwhile. The last one takes its index. */
  private forget(statement: Pending): void {
    if (this.pending[statement.index] !== statement) return
    const last = this.pending.pop()
    if (last === undefined || last === statement) return
    this.pending[statement.index] = last
    last.index = statement.index
  }

  reserve(): void {
    this.reservations += 1
  }

  release(): void {
    this.reservations -= 1
    if (this.isRetired) this.retire()
  }

  /** Closes the connection, but not before its transaction is rolled back. */
  retire(): void {
    this.isRetired = this.reservations > 0
    if (!this.isRetired) this.close()
  }

  /** Checks whether data has arrived since the last check, and returns the state of the connection. */
  check(): { readonly isUnresponsive: boolean; readonly isIdle: boolean; readonly quiet_checks: number } {
    const bytes_read = this.count("bytesRead")
    const received = bytes_read !== this.bytes_read
    this.bytes_read = bytes_read
    this.quiet_checks = received ? 0 : this.quiet_checks + 1
    for (const statement of Array.from(this.pending)) {
      if (received && statement.abandoned) this.forget(statement)
      statement.checks = received ? 0 : statement.checks + 1
    }
    return {
      isUnresponsive: this.pending.some(({ checks, checks_max }) => checks > checks_max),
      isIdle: this.pending.length === 0 && this.reservations === 0,
      quiet_checks: this.quiet_checks
    }
  }

  /** Closes the connection, which fails every statement on it. */
  close(): void {
    this.pending = []
    for (const socket of this.sockets) socket.destroy(new Error("The database does not respond"))
  }

  /** Whether a socket is destroyed and the driver has not been notified yet. */
  get isClosing(): boolean {
    for (const socket of this.sockets) if (socket.destroyed) return true
    return false
  }

  /** Records that the server at the other end can be used. */
  accept(): void {
    // The connection's own socket is the oldest; the others cancel statements.
    this.accepted = Array.from(this.sockets).find((socket) => socket.writable)
  }

  /** Whether the connection is open, and its server was accepted. */
  get isAccepted(): boolean {
    return this.accepted?.writable === true
  }

  private count(what: "bytesRead" | "bytesWritten"): number {
    let sum = 0
    for (const socket of this.sockets) sum += socket[what]
    return sum
  }
}

/**
 * Closes the connections with overdue responses, and the idle ones on which no data has arrived for as long: they most
 * likely do not work either.
 */
export const closeUnresponsive = (watchdogs: ReadonlyArray<Watchdog>): void => {
  const checks = watchdogs.map((watchdog) => ({ watchdog, ...watchdog.check() }))
  const quiet_checks = Math.min(
    ...checks.filter(({ isUnresponsive }) => isUnresponsive).map((check) => check.quiet_checks)
  )
  for (const { watchdog, ...check } of checks) {
    if (check.isUnresponsive || (check.isIdle && check.quiet_checks >= quiet_checks)) watchdog.close()
  }
}
