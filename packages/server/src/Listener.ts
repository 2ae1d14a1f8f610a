/** The listening socket of the API, of `/metrics`, and of simulated networks. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { createHttpServer, type Rejected } from "./HttpServer.ts"

/** Layer for a listening socket. After it closes, requests in progress have 20 s to complete. */
export const layer = (options: { readonly host: string; readonly port: number }) =>
  Layer.unwrap(Effect.map(Effect.context(), (context) => {
    const run = Effect.runForkWith(context)
    const logRejected = (rejected: Rejected) =>
      void run(Effect.logDebug("Request rejected").pipe(Effect.annotateLogs({ ...rejected })))
    const server = createHttpServer(logRejected)
    const socket = NodeHttpServer.layer(() => server, {
      ...options,
      // A queue of the system's usual maximum, so that a burst of connections does not delay others by a second.
      backlog: 4096,
      gracefulShutdownTimeout: "20 seconds"
    })
    // Node's own limits end with the server. Half a request, or a response that the client does not read, would keep its connection.
    const closeConnections = Layer.effectDiscard(
      Effect.addFinalizer(() => Effect.sync(() => server.closeAllConnections()))
    )
    return Layer.provideMerge(closeConnections, socket)
  }))
