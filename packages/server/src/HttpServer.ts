/**
 * The HTTP server's edge: the requests that are refused before a route can see them, and the
 * limits of connections. Every refusal has the API's envelope and a request id.
 */
import { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { Connection, type Exchange } from "./HttpServer/Connection.ts"
import * as Refusals from "./HttpServer/Refusals.ts"

export type { Refused } from "./HttpServer/Refusals.ts"

/** An HTTP server whose routes see only requests that the edge lets pass. */
class EdgeServer extends Server {
  private readonly logRefused: (refused: Refusals.Refused) => void
  /** Requests that arrived in this turn of the event loop, or before anybody listened for them, which Node would drop. */
  private arrived: Array<Exchange> = []

  private readonly limits: ConnectionLimits
  private readonly known = new WeakMap<Duplex, Connection>()
  // Of each of these, the connection that has been in it longest comes first.
  private readonly open = new Set<Connection>()
  /** The connections that have not asked for anything yet. */
  private readonly silent = new Set<Connection>()
  /** The connections that wait for a next request. */
  private readonly idle = new Set<Connection>()
  /** The connections whose request is answered, though its body is still on its way. */
  private readonly unread = new Set<Connection>()
  private isMakingRoom = false
  private isStopping = false

  constructor(logRefused: (refused: Refusals.Refused) => void, limits: ConnectionLimits) {
    super({
      headersTimeout: 10_000,
      requestTimeout: 20_000,
      connectionsCheckingInterval: 2000,
      keepAliveTimeout: 65_000,
      maxHeaderSize: 16_384,
      // Of a body that nobody reads, one chunk is held and not two.
      highWaterMark: 16_384,
      // Refused by `Refusals.check`, in words.
      requireHostHeader: false,
      // An upgraded socket knows none of these limits, and nothing here needs one: the header is ignored, as RFC 9110 allows.
      shouldUpgradeCallback: () => false
    })
    this.logRefused = logRefused
    this.limits = limits
    this.maxHeadersCount = 100
    this.maxRequestsPerSocket = 1000
    // Those whose requests come at once with them are never among the silent.
    this.maxConnections = limits.connections_max * 5 / 4
    this.on("connection", (socket) => this.count(socket))
    this.timeout = limits.stall_millis
    // An answer that is still being prepared has its own limits. One that the client does not read is given up.
    this.on("timeout", (socket) => this.connectionOf(socket).isPreparing ? undefined : socket.destroy())
    this.on("clientError", (error, socket) => this.refuseUnparsed(error, this.connectionOf(socket)))
    this.on("checkExpectation", (request, response) => this.refuse(Refusals.unexpected, request, response))
    this.on("connect", (request, tunnel) => {
      // Not the socket where a body was announced, but a stream around it, which fails with the socket.
      tunnel.on("error", () => {})
      this.refuseRest(Refusals.noTunnel, this.connectionOf(request.socket), Refusals.idOf(request))
    })
    this.on("newListener", (event) => {
      if (event === "request") setImmediate(() => this.begin())
    })
  }

  // The one place that every request passes before its listeners.
  override emit(event: string | symbol, ...values: ReadonlyArray<unknown>): boolean {
    const [request, response] = values
    if (!(typeof event === "string" && request instanceof IncomingMessage && response instanceof ServerResponse)) {
      return Reflect.apply(super.emit, this, [event, ...values])
    }
    const exchange: Exchange = { event, request, response }
    const connection = this.connectionOf(request.socket)
    if (connection.current === null) this.start(connection, exchange)
    else connection.waiting.push(exchange)
    return true
  }

  /** Stops accepting. Node would go on to serve whoever asks over a connection that is in use, for as long as it asks. */
  override close(callback?: (error?: Error) => void): this {
    this.isStopping = true
    for (const { current } of this.open) {
      if (current !== null) current.response.shouldKeepAlive = false
    }
    return super.close(callback)
  }

  private connectionOf(socket: Duplex): Connection {
    // The server's sockets are all of `node:net`.
    return this.known.get(socket) ?? this.connect(socket as Socket)
  }

  private connect(socket: Socket): Connection {
    const connection = new Connection(socket)
    this.known.set(socket, connection)
    return connection
  }

  private count(socket: Socket): void {
    const connection = this.connect(socket)
    this.open.add(connection)
    this.silent.add(connection)
    socket.once("close", () => this.forget(connection))
    this.makeRoom()
  }

  private forget(connection: Connection): void {
    for (const connections of [this.open, this.silent, this.idle, this.unread]) connections.delete(connection)
  }

  /** Closes connections once too many are open. */
  private makeRoom(): void {
    const { connections_max, unread_max } = this.limits
    const crowd = connections_max * 3 / 4
    if (this.isMakingRoom || (this.open.size <= crowd && this.unread.size <= unread_max)) return
    this.isMakingRoom = true
    // At the end of this turn of the event loop the requests that have arrived are read, and their connections wait no more.
    setImmediate(() => {
      this.isMakingRoom = false
      // Close connections in the larger group, so that a flood of one kind cannot evict the other.
      const more = this.idle.size > this.silent.size ? this.idle : this.silent
      const places = more === this.idle ? crowd : connections_max
      this.closeFirst(more, this.open.size - places)
      // Each of these holds the part of its body that has arrived.
      this.closeFirst(this.unread, this.unread.size - unread_max)
    })
  }

  private closeFirst(connections: ReadonlySet<Connection>, count: number): void {
    let left = count
    for (const connection of connections) {
      if (left-- <= 0) return
      this.forget(connection)
      connection.socket.destroy()
    }
  }

  /** Lets a request begin at the end of this turn of the event loop, as the only one of its connection. */
  private start(connection: Connection, exchange: Exchange): void {
    connection.current = exchange
    this.silent.delete(connection)
    this.idle.delete(connection)
    if (this.isStopping) exchange.response.shouldKeepAlive = false
    exchange.response.once("close", () => this.finish(connection, exchange))
    if (this.arrived.push(exchange) === 1) setImmediate(() => this.begin())
  }

  /** Continues with the next request of a connection, or waits for one. */
  private finish(connection: Connection, { request }: Exchange): void {
    const { last, socket, waiting } = connection
    connection.current = null
    if (!socket.writable) return
    // The headers of this answer were on their way before the server was stopped.
    if (this.isStopping) return void socket.destroySoon()
    const next = waiting.shift()
    if (next !== undefined) return this.start(connection, next)
    if (last !== null) return this.writeRefusal(last.refusal, socket, last.request_id)
    this.idle.add(connection)
    if (!request.complete) {
      this.unread.add(connection)
      request.once("close", () => this.unread.delete(connection))
    }
    connection.read()
    // When all places are taken, no other connection comes that would make room.
    this.makeRoom()
  }

  /** Passes on the requests of a turn together: what they ask of the database leaves in one write. */
  private begin(): void {
    if (this.listenerCount("request") === 0) return
    const exchanges = this.arrived
    this.arrived = []
    let places = this.placesFor(exchanges)
    for (const { event, request, response } of exchanges) {
      if (request.destroyed) continue
      const refusal = places-- > 0 ? Refusals.check(request) : Refusals.overloaded
      if (refusal === null) super.emit(event, request, response)
      else this.refuse(refusal, request, response)
    }
  }

  /**
   * Returns how many of these requests may begin. A request takes a place while its answer is being prepared: not while
   * its body arrives or its answer leaves, for which a slow client could hold it.
   */
  private placesFor(exchanges: ReadonlyArray<Exchange>): number {
    const { requests_max } = this.limits
    if (this.open.size - this.silent.size - this.idle.size <= requests_max) return requests_max
    let preparing = 0
    for (const { isBusy, isPreparing } of this.open) if (isBusy && isPreparing) preparing++
    return requests_max - (preparing - exchanges.length)
  }

  private refuse(refusal: Refusals.Refusal, request: IncomingMessage, response: ServerResponse): void {
    const request_id = Refusals.idOf(request)
    const { body, headers } = Refusals.encode(refusal, request_id)
    response.writeHead(refusal.status, headers).end(body)
    this.logRefused({ code: refusal.code, status: refusal.status, request_id })
  }

  /** Refuses bytes that never became a request. */
  private refuseUnparsed(error: NodeJS.ErrnoException, connection: Connection): void {
    const { current, isAnswering, isBusy, last, socket, waiting } = connection
    if (last !== null) return
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy()
    // The rest of the next request has not been read, because this one is in progress.
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && isBusy) return
    // The error is in the body of this request.
    if (current !== null && !isBusy && isAnswering) return void socket.destroy()
    if (waiting.at(-1)?.request.complete === false) waiting.pop()
    this.refuseRest(Refusals.refusalOf(error), connection, Refusals.idOf(null))
  }

  /** Refuses whatever follows the requests that have arrived, once these are answered, and closes the connection. */
  private refuseRest(refusal: Refusals.Refusal, connection: Connection, request_id: string): void {
    connection.last = { refusal, request_id }
    if (!connection.isBusy) this.writeRefusal(refusal, connection.socket, request_id)
  }

  private writeRefusal(refusal: Refusals.Refusal, socket: Socket, request_id: string): void {
    socket.end(Refusals.toText(refusal, request_id), () => socket.destroy())
    this.logRefused({ code: refusal.code, status: refusal.status, request_id })
  }
}

/** The limits of connections that a test sets lower. */
interface ConnectionLimits {
  readonly connections_max: number
  /** How many answers may be in preparation. */
  readonly requests_max: number
  /** How long a client may take nothing of an answer. */
  readonly stall_millis: number
  /** How many connections may still send the body of a request that is answered. */
  readonly unread_max: number
}

const connectionLimits: ConnectionLimits = {
  connections_max: 4096,
  requests_max: 2048,
  stall_millis: 30_000,
  unread_max: 32
}

/**
 * Creates an HTTP server with limits of our own; Node's defaults suit trusted networks.
 *
 * `logRefused` is called with each refusal. A connection has one request in progress at a time, and
 * is not read beyond it. If the client reads nothing of a response for `stall_millis`, the server
 * closes the connection. From three quarters of `connections_max` on, it closes the connections that
 * have waited longest for a next request, or beyond it, if these are more, those that never sent
 * one; a quarter beyond it, it accepts none. While `requests_max` responses are being prepared, it
 * refuses further requests with 503. After the response, up to `unread_max` requests can still send
 * their body.
 */
export const createHttpServer = (
  logRefused: (refused: Refusals.Refused) => void = () => {},
  limits: Partial<ConnectionLimits> = {}
): Server => new EdgeServer(logRefused, { ...connectionLimits, ...limits })
