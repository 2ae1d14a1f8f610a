/**
 * The HTTP server's edge: it rejects requests before a route gets them, and limits connections.
 * Every rejection has the API's envelope and a request id.
 *
 * `Connection` passes the socket's bytes to Node's parser in pieces, until Node emits a request. `begin` checks the
 * request, and calls the routes or rejects it. `finish` runs after its response, and lets the connection read on.
 */
import { createServer, type IncomingMessage, type Server } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { Connection, EdgeResponse, type Exchange } from "./Connection.ts"
import { type ConnectionLimits, OpenConnections } from "./OpenConnections.ts"
import * as Rejections from "./Rejections.ts"

export type { Rejected } from "./Rejections.ts"

type NodeServer = Server<typeof IncomingMessage, typeof EdgeResponse>

/** The events by which Node announces a request. */
const announcements = ["request", "checkContinue", "checkExpectation"] as const

/** The limits that a test sets lower. */
interface Limits extends ConnectionLimits {
  /** How long a client can read nothing of a response. */
  readonly stall_millis: number
}

/** Creates Node's server, with stricter limits than its defaults. */
const createNodeServer = (limits: Limits): NodeServer => {
  const server = createServer({
    ServerResponse: EdgeResponse,
    headersTimeout: 10_000,
    requestTimeout: 20_000,
    connectionsCheckingInterval: 2000,
    keepAliveTimeout: 65_000,
    maxHeaderSize: Rejections.head_bytes_max,
    // Node buffers one chunk of a body that no route reads, instead of two.
    highWaterMark: 16_384,
    // `Rejections.check` rejects a missing header, with a message.
    requireHostHeader: false,
    // An upgraded socket would have none of these limits, and no route needs one. RFC 9110 allows a server to ignore
    // the header.
    shouldUpgradeCallback: () => false
  })
  server.maxHeadersCount = 100
  // More than `connections_max`, because connections whose requests arrive with them are never silent.
  server.maxConnections = limits.connections_max * 5 / 4
  server.timeout = limits.stall_millis
  return server
}

class Edge {
  readonly server: NodeServer
  private readonly logRejected: (rejected: Rejections.Rejected) => void
  private readonly openConnections: OpenConnections
  private readonly known = new WeakMap<Duplex, Connection>()
  private hasRoutes = false

  constructor(logRejected: (rejected: Rejections.Rejected) => void, limits: Limits) {
    this.logRejected = logRejected
    this.openConnections = new OpenConnections(limits)
    this.server = createNodeServer(limits)
    // A stop calls it. Node's own method also destroys a connection whose response is complete but not sent yet.
    this.server.closeIdleConnections = () => this.openConnections.closeIdle()
    this.listenForEvents()
  }

  private listenForEvents(): void {
    const { openConnections, server } = this
    server.on("connection", (socket) => openConnections.add(this.connect(socket)))
    // Other limits apply while a response is being prepared. A response that the client does not read is aborted.
    server.on("timeout", (socket) => this.connectionOf(socket).isPreparing ? undefined : socket.destroy())
    server.on("clientError", (error, socket) => this.rejectUnparsed(error, this.connectionOf(socket)))
    server.on("connect", (request, tunnel) => {
      // If the request announced a body, `tunnel` is not the socket but a stream of it, which fails when the socket fails.
      tunnel.on("error", () => {})
      this.rejectRest(Rejections.unknownMethod, this.connectionOf(request.socket), Rejections.idOf(request))
    })
    server.on("newListener", (event) => {
      if (event === "request" && !this.hasRoutes) process.nextTick(() => this.open())
    })
  }

  /** Puts the edge between Node and the listeners of the routes. Before, nothing is read, because Node would drop requests. */
  private open(): void {
    if (this.hasRoutes) return
    this.hasRoutes = true
    for (const event of announcements) {
      const routes = this.server.listeners(event)
      this.server.removeAllListeners(event)
      this.server.on(event, (request, response) =>
        this.connectionOf(request.socket).add({
          request,
          response,
          begin: () => {
            const rejection = Rejections.check(request) ?? (event === "checkExpectation" ? Rejections.unexpected : null)
            if (rejection !== null) return this.reject(rejection, request, response)
            for (const route of routes) route(request, response)
          }
        }))
    }
    this.openConnections.read()
  }

  private connectionOf(socket: Duplex): Connection {
    // The server's sockets are all of `node:net`.
    return this.known.get(socket) ?? this.connect(socket as Socket)
  }

  private connect(socket: Socket): Connection {
    const connection = new Connection(socket, {
      isOpen: () => this.hasRoutes && this.server.listening,
      begin: (exchange) => this.begin(connection, exchange),
      rejectHead: () => this.rejectRest(Rejections.headersTooLarge, connection, Rejections.idOf(null))
    })
    this.known.set(socket, connection)
    return connection
  }

  private begin(connection: Connection, { begin, request, response }: Exchange): void {
    response.once("close", () => this.finish(connection))
    const isOverloaded = this.openConnections.begin(connection)
    if (isOverloaded) this.reject(Rejections.overloaded, request, response)
    else begin()
  }

  /** Lets a connection continue after a response. */
  private finish(connection: Connection): void {
    const { isLast, socket } = connection
    connection.current = null
    if (socket.destroyed) return
    if (isLast) return this.linger(connection)
    if (!socket.writable) return
    // The headers of this response can have been sent before the server was stopped.
    if (this.server.listening) this.openConnections.wait(connection)
    else socket.destroySoon()
  }

  private reject(rejection: Rejections.Rejection, request: IncomingMessage, response: EdgeResponse): void {
    const request_id = Rejections.idOf(request)
    const { body, headers } = Rejections.encode(rejection, request_id)
    response.writeHead(rejection.status, headers).end(body)
    this.logRejected({ code: rejection.code, status: rejection.status, request_id })
  }

  private linger(connection: Connection, text?: string): void {
    connection.linger(text)
    this.openConnections.linger(connection)
  }

  /** Rejects bytes that are not a request. */
  private rejectUnparsed(error: Rejections.ParserError, connection: Connection): void {
    const { isResponding, isUnread, socket } = connection
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy()
    // The error is in the body of a request whose response has begun.
    if (isUnread && isResponding) return void socket.destroy()
    this.rejectRest(Rejections.rejectionOf(error), connection, Rejections.idOf(null))
  }

  /** Rejects what the parser does not accept, unless a request before it is in progress. Its response is then the last one. */
  private rejectRest(rejection: Rejections.Rejection, connection: Connection, request_id: string): void {
    if (connection.isBusy) {
      connection.isLast = true
      return
    }
    this.linger(connection, Rejections.toText(rejection, request_id))
    this.logRejected({ code: rejection.code, status: rejection.status, request_id })
  }
}

const defaults: Limits = {
  connections_max: 4096,
  requests_max: 2048,
  stall_millis: 30_000,
  unread_max: 32
}

/**
 * Creates an HTTP server with stricter limits than Node's defaults, which suit trusted networks only.
 *
 * `logRejected` is called with each rejection. A connection has one request in progress. If
 * another one arrives before its response, it is not run, and the connection closes after the response. If the client reads nothing of a response for `stall_millis`, the server
 * closes the connection.
 *
 * If too many connections are open, the server closes the oldest of the larger group: those that wait
 * for their next request, above three quarters of `connections_max`, or those that have not sent one
 * yet, above `connections_max`. Above 125 % of it, it accepts no connections.
 *
 * While `requests_max` responses are being prepared, it
 * rejects further requests with 503.
 *
 * A response before the end of its request closes the connection. Up to `unread_max` connections can still send for a while
 * after their last response, which the server discards.
 */
export const createHttpServer = (
  logRejected: (rejected: Rejections.Rejected) => void = () => {},
  limits: Partial<Limits> = {}
): NodeServer => new Edge(logRejected, { ...defaults, ...limits }).server
