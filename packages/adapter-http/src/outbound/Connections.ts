/**
 * Connections to addresses that others named, such as endpoints of webhooks and hosts of files.
 *
 * For each connection the name is resolved once, every address is checked, and the connection is made to one of these
 * checked addresses. A connection that is reused still leads there, because it is never connected again.
 */
import { Effect } from "effect"
import * as net from "node:net"
import * as tls from "node:tls"
import { Client } from "undici"
import { isPublic } from "./Addresses.ts"
import { type Resolve, resolve } from "./Names.ts"
import { failureOf, NoResponse } from "./NoResponse.ts"

/** Returns the host of a URL for a socket: a name without its last period, or an address without brackets. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$|\.$/g, "")

/** Starts to connect to one of the addresses. */
const dial = (url: URL, addresses: ReadonlyArray<string>): net.Socket => {
  const host = hostOf(url)
  const found = addresses.map((address) => ({ address, family: net.isIP(address) }))
  const options = {
    host,
    port: Number(url.port) || (url.protocol === "https:" ? 443 : 80),
    // The name is not resolved again: a second resolution may return another address, which was not checked.
    lookup: (_hostname, _options, callback) => callback(null, found),
    autoSelectFamily: true,
    // The default of 250 ms is too short for an endpoint on another continent.
    autoSelectFamilyAttemptTimeout: 1000,
    noDelay: true
  } satisfies net.TcpNetConnectOpts
  return url.protocol === "https:"
    ? tls.connect({ ...options, servername: net.isIP(host) === 0 ? host : "", ALPNProtocols: ["http/1.1"] })
    : net.connect(options)
}

/** Waits until a socket is connected, with the certificate checked against the name. */
const connected = ({ protocol }: URL, socket: net.Socket): Effect.Effect<void, NoResponse> => {
  const isSecure = protocol === "https:"
  return Effect.callback((resume) => {
    socket.once(isSecure ? "secureConnect" : "connect", () => resume(Effect.void))
    // Never removed: an `error` event without a listener would end the process.
    socket.on("error", (error) => resume(Effect.fail(failureOf(error, isSecure ? "tls_error" : "connection_refused"))))
  })
}

/** The maximum number of idle connections. */
const idle_max = 256

/** The maximum age of a reused connection, in milliseconds, so that a changed DNS record is noticed. */
const age_max = 60_000

/** HTTP/1.1 over one socket, for one request at a time. */
export class Connection {
  readonly client: Client
  readonly origin: string
  readonly socket: net.Socket
  /** Is called when the socket has closed. */
  onClose = (): void => {}
  private isOld = false

  constructor({ origin }: URL, socket: net.Socket) {
    this.origin = origin
    this.socket = socket
    let isTaken = false
    this.client = new Client(origin, {
      connect: (_options, callback) => {
        const isFirst = !isTaken
        isTaken = true
        // Undici ignores a callback that is called before `connect` has returned.
        queueMicrotask(() =>
          isFirst
            ? callback(null, socket)
            : callback(Object.assign(new Error("The connection has ended"), { code: "ECONNRESET" }), null)
        )
      },
      headersTimeout: 0,
      bodyTimeout: 0
    })
    const timer = setTimeout(() => {
      this.isOld = true
    }, age_max).unref()
    socket.once("close", () => {
      clearTimeout(timer)
      this.onClose()
    })
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

export interface DialOptions {
  /** Decides which non-public addresses may be connected to, with http or https; null allows none. */
  readonly allowed: ((address: string) => boolean) | null
  /** The name resolution: it queries the name servers. */
  readonly resolve?: Resolve | undefined
}

const connect_timeout = "5 seconds"

/** Returns whether a request to a URL may go to an address. Public addresses require https; http is for allowed networks only. */
export const mayConnect = (allowed: DialOptions["allowed"], { protocol }: URL, address: string): boolean =>
  allowed?.(address) === true || (protocol === "https:" && isPublic(address))

/** Makes a function that opens a connection. `release` is called with it at the end of the scope, even if it is still being opened. */
export const makeConnect = ({ allowed, resolve: lookup = resolve }: DialOptions) => {
  const addressesOf = Effect.fnUntraced(function*(url: URL) {
    const host = hostOf(url)
    const addresses = net.isIP(host) === 0 ? yield* lookup(host) : [host]
    if (addresses.length === 0) return yield* new NoResponse({ failure_code: "dns_error" })
    if (!addresses.every((address) => mayConnect(allowed, url, address))) {
      return yield* new NoResponse({ failure_code: "blocked_address" })
    }
    return addresses
  })

  const connect = Effect.fnUntraced(function*(url: URL, release: (connection: Connection) => Effect.Effect<void>) {
    const addresses = yield* addressesOf(url)
    const dialed = Effect.sync(() => new Connection(url, dial(url, addresses)))
    const connection = yield* Effect.acquireRelease(dialed, release)
    yield* connected(url, connection.socket)
    return connection
  })

  return (url: URL, release: (connection: Connection) => Effect.Effect<void>) =>
    connect(url, release).pipe(
      Effect.timeoutOrElse({
        duration: connect_timeout,
        orElse: () => Effect.fail(new NoResponse({ failure_code: "timeout" }))
      })
    )
}

/** Idle connections. Undici closes one after 4 seconds, or a second before the keep-alive timeout of its endpoint. */
export class IdleConnections {
  /** Ordered from the oldest to the newest. A connection that closes is removed. */
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
    connection.onClose = () => void this.idle.delete(connection)
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
