/** The server of tests over real sockets, and posts to it. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect } from "effect"
import { HttpServer } from "effect/http"
import { createServer, type RequestListener } from "node:http"

const options = { host: "127.0.0.1", port: 0, gracefulShutdownTimeout: 0 }

/** Layer for a server on a free port. */
export const listen = NodeHttpServer.layer(createServer, options)

/** Starts a server on a free port, and returns its URL. It stops with the scope. */
export const start = (listener: RequestListener) =>
  Effect.map(
    NodeHttpServer.make(() => createServer(listener), options),
    (server) => HttpServer.formatAddress(server.address)
  )

/** The URL of the server. */
export const address = HttpServer.addressFormattedWith(Effect.succeed)

/** Posts a body, and returns the status of the response. */
export const post = (
  url: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {}
) =>
  Effect.promise(async () => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body
    })
    await response.arrayBuffer()
    return response.status
  })
