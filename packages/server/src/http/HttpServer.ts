/**
 * The HTTP server's edge: it rejects requests before a route gets them, and limits connections.
 * Every rejection has the API's envelope and a request id.
 *
 * The order of what happens to a request:
 *
 * 1. `Connection` passes a piece of the socket's bytes to Node's parser, which parses every request in it.
 * 2. Node emits each parsed request. `emit` starts it if its connection has no other one, and otherwise lets it wait.
 * 3. `Admission` collects the started requests of one turn of the event loop, and then accepts or rejects each.
 * 4. An accepted request is emitted to the routes. `finish` runs after its response, and starts the next one of its connection.
 */
import { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { Admission, type AdmissionLimits } from "./Admission.ts"
import { Connection, type Exchange } from "./Connection.ts"
import { type ConnectionLimits, OpenConnections } from "./OpenConnections.ts"
import * as Rejections from "./Rejections.ts"

export type { Rejected } from "./Rejections.ts"

/** The maximum number of requests on one connection. Node's own limit would respond to the next one without the API's envelope. */
const requests_per_connection_max = 1000

/** A response. If it begins before its request has arrived completely, it is the last one of its connection. */
class EdgeResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  // The parameters differ between the forms of the method.
  override writeHead(...given: ReadonlyArray<unknown>): this {
    if (!this.req.complete) this.shouldKeepAlive = false
    return Reflect.apply(super.writeHead, this, given)
  }
}

/** An HTTP server whose routes get only the requests that the edge accepts. */
class EdgeServer extends Server {
  private readonly logRejected: (rejected: Rejections.Rejected) => void
  private readonly admission: Admission
  private readonly openConnections: OpenConnections
  private readonly known = new WeakMap<Duplex, Connection>()
  private isStopping = false

  constructor(logRejected: (rejected: Rejections.Rejected) => void, limits: Limits) {
    super({
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
    this.logRejected = logRejected
    this.openConnections = new OpenConnections(limits)
    this.admission = new Admission(limits, this.openConnections, {
      isReady: () => this.listenerCount("request") > 0,
      accept: ({ event, request, response }) => void super.emit(event, request, response),
      reject: ({ request, response }, rejection) => this.reject(rejection, request, response)
    })
    this.maxHeadersCount = 100
    // More than `connections_max`, because connections whose requests arrive with them are never silent.
    this.maxConnections = limits.connections_max * 5 / 4
    this.timeout = limits.stall_millis
    this.listenForEvents()
  }

  private listenForEvents(): void {
    this.on("connection", (socket) => this.openConnections.add(this.connect(socket)))
    // Other limits apply while a response is being prepared. A response that the client does not read is aborted.
    this.on("timeout", (socket) => this.connectionOf(socket).isPreparing ? undefined : socket.destroy())
    this.on("clientError", (error, socket) => this.rejectUnparsed(error, this.connectionOf(socket)))
    this.on("checkExpectation", (request, response) => this.reject(Rejections.unexpected, request, response))
    this.on("connect", (request, tunnel) => {
      // If the request announced a body, `tunnel` is not the socket but a stream of it, which fails when the socket fails.
      tunnel.on("error", () => {})
      this.rejectRest(Rejections.noTunnel, this.connectionOf(request.socket), Rejections.idOf(request))
    })
    this.on("newListener", (event) => {
      if (event === "request") this.admission.beginSoon()
    })
  }

  // Node has no hook between its parser and the listeners of a request.
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

  /** Stops accepting. Without it, Node would serve further requests over connections that are in use. */
  override close(callback?: (error?: Error) => void): this {
    this.isStopping = true
    this.openConnections.stop()
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

  /** Lets a request begin at the end of this turn of the event loop, as the only one of its connection. */
  private start(connection: Connection, exchange: Exchange): void {
    connection.current = exchange
    connection.requests++
    this.openConnections.begin(connection)
    if (this.isStopping || isUsedUp(connection)) exchange.response.shouldKeepAlive = false
    exchange.response.once("close", () => this.finish(connection))
    this.admission.add(exchange)
  }

  /** Continues with the next request of a connection, or waits for one. */
  private finish(connection: Connection): void {
    const { isUnread, last, socket, waiting } = connection
    connection.current = null
    if (isUnread) return this.linger(connection)
    if (!socket.writable) return
    // The headers of this response can have been sent before the server was stopped.
    if (this.isStopping || isUsedUp(connection)) return void socket.destroySoon()
    const next = waiting.shift()
    if (next !== undefined) return this.start(connection, next)
    if (last !== null) return this.writeRejection(last.rejection, connection, last.request_id)
    this.openConnections.wait(connection)
  }

  private reject(rejection: Rejections.Rejection, request: IncomingMessage, response: ServerResponse): void {
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
  private rejectUnparsed(error: NodeJS.ErrnoException, connection: Connection): void {
    const { current, isResponding, isBusy, last, socket, waiting } = connection
    if (last !== null) return
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy()
    // The rest of the next request has not been read, because this one is in progress.
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && isBusy) return
    // The error is in the body of this request.
    if (current !== null && !isBusy && isResponding) return void socket.destroy()
    if (waiting.at(-1)?.request.complete === false) waiting.pop()
    this.rejectRest(Rejections.rejectionOf(error), connection, Rejections.idOf(null))
  }

  /** Rejects what follows the requests that have arrived, after their responses, and closes the connection. */
  private rejectRest(rejection: Rejections.Rejection, connection: Connection, request_id: string): void {
    connection.last = { rejection, request_id }
    if (!connection.isBusy) this.writeRejection(rejection, connection, request_id)
  }

  private writeRejection(rejection: Rejections.Rejection, connection: Connection, request_id: string): void {
    this.linger(connection, Rejections.toText(rejection, request_id))
    this.logRejected({ code: rejection.code, status: rejection.status, request_id })
  }
}

const isUsedUp = ({ requests }: Connection): boolean => requests >= requests_per_connection_max

/** The limits that a test sets lower. */
interface Limits extends AdmissionLimits, ConnectionLimits {
  /** How long a client can read nothing of a response. */
  readonly stall_millis: number
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
 * `logRejected` is called with each rejection. A connection has one request in progress at a time, and
 * is not read beyond it. If the client reads nothing of a response for `stall_millis`, the server
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
): Server => new EdgeServer(logRejected, { ...defaults, ...limits })
