/** The listening socket of the API, of `/metrics`, and of simulated networks. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import type { ServeError } from "effect/http/HttpServerError"
import { StartupRejected } from "../settings/Config.ts"
import { createHttpServer, type Rejected } from "./HttpServer.ts"

const isNodeError = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && "code" in error

/** Returns the sentence for a port that cannot be opened. `setting` is the setting or the flag that selects the port. */
const cannotListen = ({ cause }: ServeError, port: number, setting: string): string => {
  const { code } = isNodeError(cause) ? cause : {}
  if (code === "EADDRINUSE") {
    return `Port ${port} is already in use. Stop the other process, or choose another ${setting}.`
  }
  if (code === "EACCES") return `Port ${port} requires more privileges. Choose a ${setting} above 1023.`
  return `Cannot listen: ${cause}. Choose another ${setting} or HOST.`
}

interface Options {
  readonly host: string
  readonly port: number
  /** The setting or the flag that selects the port. Default: `PORT`. */
  readonly setting?: string
}

/** Layer for a listening socket. After it closes, requests in progress have 20 s to complete. */
export const layer = ({ host, port, setting = "PORT" }: Options) =>
  Layer.unwrap(Effect.map(Effect.context(), (context) => {
    const run = Effect.runForkWith(context)
    const logRejected = (rejected: Rejected) =>
      void run(Effect.logDebug("Request rejected").pipe(Effect.annotateLogs({ ...rejected })))
    const server = createHttpServer(logRejected)
    const socket = NodeHttpServer.layer(() => server, {
      host,
      port,
      // A queue of the system's usual maximum, so that a burst of connections does not delay others by a second.
      backlog: 4096,
      gracefulShutdownTimeout: "20 seconds"
    }).pipe(
      Layer.catch((error) =>
        Layer.effectContext(Effect.fail(new StartupRejected({ message: cannotListen(error, port, setting) })))
      )
    )
    // Node's own limits end with the server. Half a request, or a response that the client does not read, would keep its connection.
    const closeConnections = Layer.effectDiscard(
      Effect.addFinalizer(() => Effect.sync(() => server.closeAllConnections()))
    )
    return Layer.provideMerge(closeConnections, socket)
  }))
