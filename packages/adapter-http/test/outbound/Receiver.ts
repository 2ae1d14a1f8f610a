/** HTTP endpoints on 127.0.0.1 with scripted responses. */
import type { Manner, Receiver } from "@messaging-crm/conformance/WebhookTransport"
import { Effect } from "effect"
import { createServer, type RequestListener, type ServerResponse } from "node:http"
import { createServer as createSecureServer, type ServerOptions } from "node:https"
import type { AddressInfo, Server } from "node:net"

/** Starts a server and returns its port. It ends with the scope, and its connections with it. */
export const listen = (server: Server & { readonly closeAllConnections?: () => void }) =>
  Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      // A listening TCP server has a port.
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
    }),
    () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections?.()
      })
  )

const drip = (response: ServerResponse) => {
  const timer = setInterval(() => response.write("."), 10)
  response.once("close", () => clearInterval(timer))
}

const pour = (response: ServerResponse) => {
  const chunk = Buffer.alloc(65_536, ".")
  const more = () => {
    while (!response.destroyed && response.write(chunk));
  }
  response.on("drain", more).on("error", () => {})
  more()
}

const reply = (response: ServerResponse, manner: Manner) => {
  switch (manner) {
    case "unresponsive":
      return
    case "dripping":
      return drip(response.writeHead(200))
    case "endless":
      return pour(response.writeHead(200))
    default:
      response.writeHead(manner.status, manner.headers).end(manner.body)
  }
}

const start = Effect.fnUntraced(function*(manner: Manner, secure: ServerOptions | null) {
  const received: Array<{ readonly headers: Record<string, string>; readonly body: string }> = []
  let connections = 0
  const listener: RequestListener = (request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk)).once("end", () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
      received.push({ headers, body: Buffer.concat(chunks).toString() })
      reply(response, manner)
    })
  }
  const server = secure === null ? createServer(listener) : createSecureServer(secure, listener)
  server.on("connection", () => connections++)
  const port = yield* listen(server)
  return { port, received: Effect.sync(() => [...received]), connections: Effect.sync(() => connections) }
})

export const receive = Effect.fnUntraced(function*(manner: Manner) {
  const { port, ...receiver } = yield* start(manner, null)
  return { ...receiver, url: `http://127.0.0.1:${port}/hooks?token=1` } satisfies Receiver
})

/** The same with TLS, for a name in a certificate. */
export const receiveSecurely = Effect.fnUntraced(function*(manner: Manner, name: string, secure: ServerOptions) {
  const { port, ...receiver } = yield* start(manner, secure)
  return { ...receiver, url: `https://${name}:${port}/hooks` } satisfies Receiver
})
