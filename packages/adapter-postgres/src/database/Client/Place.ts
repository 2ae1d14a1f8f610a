import { Duration } from "effect"
import { connect, type NetConnectOpts, type Socket } from "node:net"

/** How often is looked whether the database has said anything, in milliseconds. */
export const look_every = 1000

/** A statement that the database has not answered. */
export interface Unanswered {
  /** At how many looks in a row nothing had come. Looks, not time: if this process stood still, nobody is to blame. */
  looks: number
  readonly looks_max: number
  /** What had been written when it began. */
  readonly bytes_written: number
  /** Nobody waits for it any more, yet its answer is still to come. */
  abandoned: boolean
}

/**
 * A place for one connection to the database, which may fall silent.
 *
 * The driver opens another connection when one ends. The sockets are ours, so
 * that a silent one can be ended.
 */
export class Place {
  private readonly address: () => NetConnectOpts
  private readonly sockets = new Set<Socket>()
  private readonly unanswered = new Set<Unanswered>()
  private bytes_read = 0
  private reservations = 0
  /** At how many looks in a row nothing had come, whether anything was asked or not. */
  private silence = 0

  constructor(address: () => NetConnectOpts) {
    this.address = address
  }

  /** Opens a socket. The driver wants one for each connection, and one to cancel a statement. */
  open(): Socket {
    const socket = connect({ ...this.address(), noDelay: true, keepAlive: true, keepAliveInitialDelay: 5000 })
    this.sockets.add(socket)
    socket.once("close", () => this.sockets.delete(socket))
    // Under TLS nobody else listens for its errors.
    socket.on("error", () => {})
    // Whoever is silent does not answer a goodbye either.
    socket.once("finish", () => setTimeout(() => socket.destroy(), look_every).unref())
    return socket
  }

  /** Returns what to `leave` when the statement that begins is done. */
  ask(deadline: Duration.Duration): Unanswered {
    const looks_max = Duration.toMillis(deadline) / look_every
    const asked = { looks: 0, looks_max, bytes_written: this.count("bytesWritten"), abandoned: false }
    this.unanswered.add(asked)
    return asked
  }

  /** Whoever asked is gone. Without the answer, the database still owes it if the question was sent. */
  leave(asked: Unanswered, answered: boolean): void {
    if (answered || asked.bytes_written === this.count("bytesWritten")) this.unanswered.delete(asked)
    else asked.abandoned = true
  }

  reserve(): void {
    this.reservations += 1
  }

  release(): void {
    this.reservations -= 1
  }

  /** Notices whether anything has come since the last look, and returns for how many looks the database owes a word. */
  look(): { readonly isSilent: boolean; readonly isIdle: boolean; readonly silence: number } {
    const bytes_read = this.count("bytesRead")
    const spoke = bytes_read !== this.bytes_read
    this.bytes_read = bytes_read
    this.silence = spoke ? 0 : this.silence + 1
    for (const asked of this.unanswered) {
      if (spoke && asked.abandoned) this.unanswered.delete(asked)
      asked.looks = spoke ? 0 : asked.looks + 1
    }
    return {
      isSilent: Array.from(this.unanswered).some(({ looks, looks_max }) => looks > looks_max),
      isIdle: this.unanswered.size === 0 && this.reservations === 0,
      silence: this.silence
    }
  }

  /** Ends the connection, and with it every statement on it. */
  end(): void {
    this.unanswered.clear()
    for (const socket of this.sockets) socket.destroy(new Error("The database does not answer"))
  }

  /** Whether a connection has ended and the driver has not heard of it yet. */
  get isEnding(): boolean {
    for (const socket of this.sockets) if (socket.destroyed) return true
    return false
  }

  private count(what: "bytesRead" | "bytesWritten"): number {
    let sum = 0
    for (const socket of this.sockets) sum += socket[what]
    return sum
  }
}

/** Ends the connections that owe an answer for too long, and idle ones that have been as silent: they will not answer either. */
export const endSilent = (places: ReadonlyArray<Place>): void => {
  const looks = places.map((place) => ({ place, ...place.look() }))
  const silence = Math.min(...looks.filter(({ isSilent }) => isSilent).map((look) => look.silence))
  for (const { place, ...look } of looks) {
    if (look.isSilent || (look.isIdle && look.silence >= silence)) place.end()
  }
}
