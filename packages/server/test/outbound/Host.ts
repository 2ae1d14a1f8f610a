/** An HTTP or HTTPS host on this machine that records its requests, and responds as a test says. */
import { Effect } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { createServer as createSecureServer, type ServerOptions } from "node:https"
import type { AddressInfo } from "node:net"

/** How a host responds. A slow body stops after its first byte. */
export type Manner =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  | "silence"
  | "slow body"

export interface Heard {
  /** The method and the path, without its query. */
  readonly line: string
  readonly headers: IncomingMessage["headers"]
  /** Whether the client has closed the connection before the end of the response. */
  isAborted: boolean
}

const respond = (response: ServerResponse, manner: Manner): void => {
  if (manner === "silence") return
  if (manner === "slow body") return void response.writeHead(200, { "content-length": 100 }).write("{")
  response.writeHead(manner.status, { "content-type": "application/json", ...manner.headers }).end(manner.body ?? "{}")
}

/** Starts a host, and stops it when the scope closes. */
export const start = Effect.fnUntraced(function*(
  mannerOf: (heard: Heard) => Manner,
  certificate: ServerOptions | null = null
) {
  const heard: Array<Heard> = []
  const counts = { connections: 0, ended: 0 }
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const [path = ""] = (request.url ?? "").split("?")
    const found = { line: `${request.method} ${path}`, headers: request.headers, isAborted: false }
    heard.push(found)
    response.once("close", () => {
      found.isAborted = !response.writableFinished
      counts.ended++
    })
    // A client that waits for a response sees it only after its request was read.
    request.resume().once("end", () => respond(response, mannerOf(found)))
  }
  const server = certificate === null ? createServer(listener) : createSecureServer(certificate, listener)
  server.on("tlsClientError", () => {}).on("connection", (socket) => {
    counts.connections++
    socket.once("close", () => counts.ended++)
  })
  const port = yield* Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      // A listening TCP server has a port.
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
    }),
    () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  )
  /** Whether a response or a connection has ended. */
  const hasEnded = () => counts.ended > 0
  return { connections: () => counts.connections, hasEnded, heard, port }
})
