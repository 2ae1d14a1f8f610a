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

  constructor(socket: Socket) {
    this.socket = socket
    // Node removes its own listener before some of its events, and an error without a listener ends the process.
    socket.on("error", ignore)
    this.readInPieces()
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
      if (this.last !== null) return false
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
