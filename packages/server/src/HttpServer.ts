/**
 * The HTTP server's edge: what is refused before a route can see it, and the
 * limits of a connection. Every refusal has the API's envelope and a request id.
 */
import { randomUUID } from "node:crypto"
import { IncomingMessage, Server, ServerResponse, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"

/** Why a request is refused at the edge. */
interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly param: string | null
}

/** What the log shows of a refusal. */
export type Refused = Pick<Refusal, "code" | "status"> & { readonly request_id: string }

const malformed: Refusal = {
  status: 400,
  code: "invalid_input",
  message: "The request is not valid HTTP/1.1. Send it with an HTTP client, and without line breaks in headers.",
  param: null
}

const hostMissing: Refusal = {
  status: 400,
  code: "invalid_input",
  message: "A request of HTTP/1.1 needs one Host header. Send the name that the service was reached by.",
  param: "Host"
}

const noTunnel: Refusal = {
  status: 405,
  code: "method_not_allowed",
  message: "The service is no proxy: CONNECT is not answered. Send the request to the service itself.",
  param: null
}

const unexpected: Refusal = {
  status: 417,
  code: "expectation_failed",
  message: "The only expectation that is met is 100-continue. Leave the Expect header out.",
  param: "Expect"
}

/** What the parser and the clock refuse, by the code of Node's error. */
const refusals: Readonly<Record<string, Refusal>> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    code: "request_timeout",
    message: "The request did not arrive in time: headers have 10 s, the whole request 20 s. Send it again.",
    param: null
  },
  HPE_HEADER_OVERFLOW: {
    status: 431,
    code: "headers_too_large",
    message: "Request line and headers exceed 16,384 bytes together. Shorten the query or the headers.",
    param: null
  }
}

const accepted = /^[A-Za-z0-9._-]{1,128}$/

const headersOf = (request_id: string): Readonly<Record<string, string>> => ({
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-request-id": request_id,
  connection: "close"
})

const bodyOf = ({ code, message, param }: Refusal, request_id: string): string =>
  JSON.stringify({ error: { code, message, param, request_id } })

const idOf = (request: IncomingMessage | null): string => {
  const given = request?.headers["x-request-id"]
  return typeof given === "string" && accepted.test(given) ? given : randomUUID()
}

/** Returns why a parsed request is refused, or null. A host that is given twice is read differently by different proxies. */
const refusalOf = ({ httpVersion, rawHeaders }: IncomingMessage): Refusal | null => {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length
  return hosts > 1 || (hosts === 0 && httpVersion === "1.1") ? hostMissing : null
}

/** Node's response that a socket is writing, which it keeps for itself. */
const responseOf = (socket: Duplex) => {
  const { _httpMessage: response } = socket as { readonly _httpMessage?: ServerResponse | null }
  return response
}

const isAnswering = (socket: Duplex): boolean => responseOf(socket)?.headersSent === true

const isPreparing = (socket: Duplex): boolean => responseOf(socket)?.headersSent === false

/** An HTTP server whose routes see only requests that the edge lets pass. */
class EdgeServer extends Server {
  private readonly logRefused: (refused: Refused) => void
  /** Requests that arrived in this turn of the event loop, or before anybody listened for them, which Node would drop. */
  private arrived: Array<readonly [IncomingMessage, ServerResponse]> = []

  private readonly limits: ConnectionLimits
  // Of each of these, the connection that has been in it longest comes first.
  private readonly open = new Set<Duplex>()
  /** The connections that have not asked for anything yet. */
  private readonly silent = new Set<Duplex>()
  /** The connections that wait for a next request. */
  private readonly idle = new Set<Duplex>()
  /** The connections whose request is answered, though its body is still on its way. */
  private readonly unread = new Set<Duplex>()
  private isMakingRoom = false
  private isStopping = false

  constructor(logRefused: (refused: Refused) => void, limits: ConnectionLimits) {
    super({
      headersTimeout: 10_000,
      requestTimeout: 20_000,
      connectionsCheckingInterval: 2000,
      keepAliveTimeout: 65_000,
      maxHeaderSize: 16_384,
      // Of a body that nobody reads, one chunk is held and not two.
      highWaterMark: 16_384,
      // Refused below, in words.
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
    // An answer that is still being prepared has its own limits. One that nobody takes is given up.
    this.on("timeout", (socket) => isPreparing(socket) ? undefined : socket.destroy())
    this.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => this.refuseSocket(error, socket))
    this.on("checkExpectation", (request, response) => this.refuse(unexpected, request, response))
    this.on("connect", (request, socket) => this.writeRefusal(noTunnel, socket, idOf(request)))
    this.on("newListener", (event) => {
      if (event === "request") setImmediate(() => this.begin())
    })
  }

  // The one place that every request passes before its listeners.
  override emit(event: string | symbol, ...values: ReadonlyArray<unknown>): boolean {
    const [request, response] = values
    const pass = () => Reflect.apply(super.emit, this, [event, ...values])
    if (!(request instanceof IncomingMessage && response instanceof ServerResponse)) return pass()
    this.follow(request, response)
    const refusal = refusalOf(request)
    if (refusal !== null) this.refuse(refusal, request, response)
    // One that asks first whether it may send its body has an event of its own.
    else if (event !== "request") return pass()
    else if (this.arrived.push([request, response]) === 1) setImmediate(() => this.begin())
    return true
  }

  /** Stops accepting. Node would go on to serve whoever asks over a connection that is in use, for as long as it asks. */
  override close(callback?: (error?: Error) => void): this {
    this.isStopping = true
    for (const socket of this.open) {
      const response = responseOf(socket)
      if (response) response.shouldKeepAlive = false
    }
    return super.close(callback)
  }

  private count(socket: Duplex): void {
    this.open.add(socket)
    this.silent.add(socket)
    socket.once("close", () => this.forget(socket))
    this.makeRoom()
  }

  private forget(socket: Duplex): void {
    for (const sockets of [this.open, this.silent, this.idle, this.unread]) sockets.delete(socket)
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
      // Whoever floods pays: those who wait for a next request and those who never asked protect each other.
      const more = this.idle.size > this.silent.size ? this.idle : this.silent
      const places = more === this.idle ? crowd : connections_max
      this.closeFirst(more, this.open.size - places)
      // Each of these holds the part of its body that has arrived.
      this.closeFirst(this.unread, this.unread.size - unread_max)
    })
  }

  private closeFirst(sockets: ReadonlySet<Duplex>, count: number): void {
    let left = count
    for (const socket of sockets) {
      if (left-- <= 0) return
      this.forget(socket)
      socket.destroy()
    }
  }

  /** Keeps in mind whether a connection waits for a next request, or for the rest of one that is answered. */
  private follow(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    this.silent.delete(socket)
    this.idle.delete(socket)
    if (this.isStopping) response.shouldKeepAlive = false
    response.once("close", () => {
      if (socket.destroyed) return
      // The headers of this answer were on their way before the server was stopped.
      if (this.isStopping) return void socket.destroySoon()
      this.idle.add(socket)
      if (!request.complete) {
        this.unread.add(socket)
        request.once("close", () => this.unread.delete(socket))
      }
      // When all places are taken, no other connection comes that would make room.
      this.makeRoom()
    })
  }

  /** Passes on the requests of a turn together: what they ask of the database leaves in one write. */
  private begin(): void {
    if (this.listenerCount("request") === 0) return
    const requests = this.arrived
    this.arrived = []
    for (const [request, response] of requests) super.emit("request", request, response)
  }

  private refuse(refusal: Refusal, request: IncomingMessage, response: ServerResponse): void {
    const request_id = idOf(request)
    const body = bodyOf(refusal, request_id)
    response.writeHead(refusal.status, { ...headersOf(request_id), "content-length": Buffer.byteLength(body) }).end(
      body
    )
    this.logRefused({ code: refusal.code, status: refusal.status, request_id })
  }

  /** Refuses what never became a request. */
  private refuseSocket({ code = "" }: NodeJS.ErrnoException, socket: Duplex): void {
    // Nobody is there any more, or half of another answer is on its way.
    if (code === "ECONNRESET" || !socket.writable || isAnswering(socket)) return void socket.destroy()
    this.writeRefusal(refusals[code] ?? malformed, socket, randomUUID())
  }

  private writeRefusal(refusal: Refusal, socket: Duplex, request_id: string): void {
    const body = bodyOf(refusal, request_id)
    const headers = { ...headersOf(request_id), "content-length": String(Buffer.byteLength(body)) }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    const head = [`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`, ...lines].join("\r\n")
    socket.end(`${head}\r\n\r\n${body}`, () => socket.destroy())
    this.logRefused({ code: refusal.code, status: refusal.status, request_id })
  }
}

/** The limits of connections that a test sets lower. */
interface ConnectionLimits {
  readonly connections_max: number
  /** How long a client may take nothing of an answer. */
  readonly stall_millis: number
  /** How many connections may still send the body of a request that is answered. */
  readonly unread_max: number
}

const connectionLimits: ConnectionLimits = { connections_max: 4096, stall_millis: 30_000, unread_max: 32 }

/**
 * Creates an HTTP server with limits of our own; Node's defaults suit trusted networks.
 *
 * `logRefused` is called with each refusal. A connection whose client takes nothing
 * of its answer for `stall_millis` is closed. From three quarters of `connections_max` on,
 * those are closed that have waited longest for a next request, or beyond it, where these are
 * more, those that never asked; a quarter beyond it none is accepted. Of requests that are
 * answered, the bodies of `unread_max` may still come.
 */
export const createHttpServer = (
  logRefused: (refused: Refused) => void = () => {},
  limits: Partial<ConnectionLimits> = {}
): Server => new EdgeServer(logRefused, { ...connectionLimits, ...limits })
