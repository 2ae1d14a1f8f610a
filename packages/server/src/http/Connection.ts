/** A connection: it has one request in progress at a time, and reads no further until its response is sent. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Rejection } from "./Rejections.ts"

/** A request, its response, and the event by which Node announced it. */
export interface Exchange {
  readonly event: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Node's parser reads all requests of a chunk, which has up to 64 KiB. A piece has room for 40 of the smallest. */
const piece_bytes = 1024

/** How long a client can still send after the last response, and how much. `NodeHttpServer` waits equally long. */
const [linger_millis, discarded_bytes_max] = [500, 16_777_216]

const ignore = () => {}

export class Connection {
  readonly socket: Socket
  /** The request in progress. */
  current: Exchange | null = null
  /** How many of its requests have begun. */
  requests = 0
  /** The requests that were parsed together with the current one, in their order. */
  readonly waiting: Array<Exchange> = []
  /** The rejection of what follows the requests above. From then on nothing is read. */
  last: { readonly rejection: Rejection; readonly request_id: string } | null = null
  /** Whether the last response is sent, and what the client still sends is discarded. */
  private isLingering = false

  constructor(socket: Socket) {
    this.socket = socket
    // Node removes its own listener before some of its events, and an error without a listener ends the process.
    socket.on("error", ignore)
    this.readInPieces()
    const destroySoon = socket.destroySoon.bind(socket)
    // Node closes the connection so after its last response.
    socket.destroySoon = () => this.isUnread ? this.linger() : destroySoon()
  }

  /** Whether the current request has arrived, so that further bytes belong to another one. */
  get isBusy(): boolean {
    return this.current?.request.complete === true
  }

  /** Whether the response to the current request is still being prepared. */
  get isPreparing(): boolean {
    return this.current?.response.headersSent === false
  }

  /** Whether part of a response was sent, so that nothing else can be written. */
  get isResponding(): boolean {
    return this.current?.response.headersSent === true
  }

  /** Whether the body of the current request is still arriving. */
  get isUnread(): boolean {
    return this.current?.request.complete === false
  }

  /**
   * Ends the connection after its last response, but discards for a while what the client still sends. A connection with
   * unread bytes would be reset when it is closed, and the client could lose the response.
   */
  linger(text = ""): void {
    const { isLingering, socket } = this
    if (isLingering || socket.destroyed) return
    this.isLingering = true
    // The routes' server has ended the socket already. Another text would be an error.
    if (socket.writable) socket.end(text)
    const timer = setTimeout(() => socket.destroy(), linger_millis)
    let discarded_bytes = 0
    // The parser would stop reading, and could find another request.
    socket.removeAllListeners("data").on("data", (chunk: Uint8Array) => {
      discarded_bytes += chunk.length
      if (discarded_bytes > discarded_bytes_max) socket.destroy()
    })
    socket.once("close", () => clearTimeout(timer)).resume()
  }

  /** Continues to read after a response, as Node does: once the socket has drained. */
  read(): void {
    const { socket } = this
    if (!socket.isPaused()) return
    if (socket.writableNeedDrain) socket.once("drain", () => void socket.resume())
    else socket.resume()
  }

  /**
   * Passes the parser a piece at a time, and pauses the socket when bytes arrive beyond the request in progress. A client
   * that does not pipeline is never paused, so that the end of its connection is noticed.
   */
  private readInPieces(): void {
    const { socket } = this
    const push = socket.push.bind(socket)
    socket.push = (chunk: Uint8Array | null): boolean => {
      if (chunk === null) return push(null)
      if (this.last !== null && !this.isLingering) return false
      let hasRoom = true
      for (let start = 0; start < chunk.length; start += piece_bytes) {
        if (this.isBusy) socket.pause()
        hasRoom = push(chunk.length <= piece_bytes ? chunk : chunk.subarray(start, start + piece_bytes))
      }
      return hasRoom
    }
    // With this listener, Node reads the socket through `push`. Without it, the parser reads the socket directly.
    socket.on("data", () => {
      if (this.isBusy && socket.readableLength > 0) socket.pause()
    })
  }
}
