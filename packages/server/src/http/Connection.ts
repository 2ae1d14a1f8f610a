/** A connection: it has one request in progress, and reads no other one until its response is sent. */
import { type IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { head_bytes_max } from "./Rejections.ts"

/** A response. The server's reasons to close the connection after it are checked when its headers are sent. */
export class EdgeResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  edge: Connection | null = null

  // The parameters differ between the forms of the method.
  override writeHead(...given: ReadonlyArray<unknown>): this {
    if (this.edge?.endsWithResponse() === true) this.shouldKeepAlive = false
    return Reflect.apply(super.writeHead, this, given)
  }
}

/** A request, its response, and the function that responds. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: EdgeResponse
  readonly begin: () => void
}

interface Edge {
  /** Whether the server accepts further requests. */
  readonly isOpen: () => boolean
  /** Begins the request that has arrived. */
  readonly begin: (exchange: Exchange) => void
  /** Rejects a request whose headers do not end within their limit. */
  readonly rejectHead: () => void
}

/** The maximum number of requests on one connection. Node's own limit would not close it. */
const requests_max = 1000

/**
 * The limits of a piece, which is as long as what has arrived of the body. Node parses, and announces, every request of
 * the bytes that it gets at once, of which the smallest has 18, and a large body takes long in small pieces.
 */
const [piece_bytes_min, piece_bytes_max] = [512, 65_536]

/**
 * How much of a request is read in its first turn, which suffices for usual callbacks, and how much in each further one.
 * Between them other connections have their turn. Node alone would read 2 MB of a fast connection at once.
 */
const [first_turn_bytes, turn_bytes] = [131_072, 32_768]

/** How long a client can still send after the last response, and how much. `NodeHttpServer` waits equally long. */
const [linger_millis, discarded_bytes_max] = [500, 16_777_216]

const ignore = () => {}

export class Connection {
  readonly socket: Socket
  private readonly edge: Edge
  /** The request in progress. */
  current: Exchange | null = null
  private hasBegun = false
  private requests = 0
  /** The bytes that the parser has got of a request that it has not announced. */
  private head_bytes = 0
  /** The bytes that the parser has got of the body in progress. */
  private body_bytes = 0
  /** The bytes left of its turn. Without any, it reads in the next turn of the event loop. */
  private turn_bytes_left = first_turn_bytes
  /** Whether no further request is read. */
  isLast = false
  private isLingering = false
  private discarded_bytes = 0

  constructor(socket: Socket, edge: Edge) {
    this.socket = socket
    this.edge = edge
    // Node removes its own listener before some of its events, and an error without a listener ends the process.
    socket.on("error", ignore)
    // With this listener, Node's parser gets only the bytes that `read` takes. It emits "resume" to get more of a body.
    socket.on("readable", () => this.read()).on("resume", () => this.read())
    const destroySoon = socket.destroySoon.bind(socket)
    // Node closes the connection so after its last response.
    socket.destroySoon = () => this.isLast ? this.linger() : destroySoon()
  }

  /** Whether the current request has arrived, so that further bytes belong to another one. */
  get isBusy(): boolean {
    return this.current?.request.complete === true
  }

  /** Whether a part of a request has arrived that is not announced yet. */
  get hasHead(): boolean {
    return this.head_bytes > 0
  }

  /** Whether the response to the current request is still being prepared. */
  get isPreparing(): boolean {
    return this.current?.response.headersSent === false
  }

  /** Whether part of a response was sent, so that nothing else can be written. */
  get isResponding(): boolean {
    return this.current?.response.headersSent === true
  }

  /** Whether a request has not arrived completely, so that the connection is not between two requests. */
  get isUnread(): boolean {
    return this.current?.request.complete === false
  }

  /** Adds the next request, or makes the one in progress the last one: a client that pipelines repeats the others. */
  add(exchange: Exchange): void {
    if (this.current !== null || ++this.requests >= requests_max) this.isLast = true
    if (this.current !== null) return
    this.current = exchange
    this.head_bytes = 0
    this.body_bytes = 0
    this.turn_bytes_left = first_turn_bytes
    this.hasBegun = false
    exchange.response.edge = this
  }

  /** Whether the connection ends with the current response, because its client has sent other bytes, or still sends it. */
  endsWithResponse(): boolean {
    if (this.isUnread || this.socket.readableLength > 0) this.isLast = true
    return this.isLast || !this.edge.isOpen()
  }

  /** Passes bytes to Node's parser until a request is in progress, and then those of its body. */
  read(): void {
    const { socket } = this
    if (this.isLingering) return this.discard()
    while (this.isReading && this.readPiece()) this.endTurn()
    // Announces that the client has hung up.
    if (socket.readableLength === 0) socket.read(0)
    if (this.current === null || this.hasBegun) return
    this.hasBegun = true
    this.edge.begin(this.current)
  }

  /** Discards what the client still sends, up to a limit. */
  private discard(): void {
    const { socket } = this
    while (this.turn_bytes_left > 0) {
      const chunk: Uint8Array | null = socket.read()
      if (chunk === null) return
      this.discarded_bytes += chunk.length
      this.turn_bytes_left -= chunk.length
      if (this.discarded_bytes > discarded_bytes_max) socket.destroy()
      this.endTurn()
    }
  }

  /** Lets other connections read if its turn is over. */
  private endTurn(): void {
    if (this.turn_bytes_left > 0) return
    setImmediate(() => {
      this.turn_bytes_left = turn_bytes
      this.read()
    })
  }

  /** Passes a piece to the parser, but of a request that it has not announced only as much as the limit of headers. */
  private readPiece(): boolean {
    const { body_bytes, current, edge, head_bytes, socket } = this
    const most = current === null
      ? Math.min(piece_bytes_min, head_bytes_max - head_bytes)
      : Math.min(piece_bytes_max, Math.max(piece_bytes_min, body_bytes))
    const bytes = Math.min(socket.readableLength, most)
    if (bytes === 0) edge.rejectHead()
    else if (current === null) this.head_bytes += bytes
    else this.body_bytes += bytes
    this.turn_bytes_left -= bytes
    return bytes > 0 && socket.read(bytes) !== null
  }

  private get isReading(): boolean {
    const { current, edge, isLast, isLingering, socket } = this
    if (isLingering || this.turn_bytes_left <= 0 || socket.readableLength === 0) return false
    if (current === null) return !isLast && edge.isOpen()
    return !current.request.complete && current.request.readableLength < current.request.readableHighWaterMark
  }

  /**
   * Ends the connection after its last response, but discards for a while what the client still sends. A connection with
   * unread bytes would be reset when it is closed, and the client could lose the response.
   */
  linger(text = ""): void {
    const { isLingering, socket } = this
    if (isLingering || socket.destroyed) return
    this.isLast = true
    this.isLingering = true
    // The routes' server has ended the socket already. Another text would be an error.
    if (socket.writable) socket.end(text)
    const timer = setTimeout(() => socket.destroy(), linger_millis)
    // The parser would find another request.
    socket.removeAllListeners("data").once("close", () => clearTimeout(timer))
    this.read()
  }
}
