import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"

/**
 * Lets requests wait that come while the service is still being put together.
 *
 * The socket listens before the routes are there, and Node drops a request that
 * nobody listens to without an answer.
 */
const holdEarlyRequests = (server: Server): void => {
  const early: Array<readonly [IncomingMessage, ServerResponse]> = []
  const hold = (request: IncomingMessage, response: ServerResponse) => void early.push([request, response])
  const release = (event: string | symbol) => {
    if (event !== "request") return
    server.off("newListener", release)
    server.off("request", hold)
    setImmediate(() => early.forEach(([request, response]) => server.emit("request", request, response)))
  }
  server.on("request", hold)
  server.on("newListener", release)
}

/** Creates an HTTP server with limits of our own; Node's are made for friendlier networks. */
export const createHttpServer = (): Server => {
  const server = createServer({
    headersTimeout: 10_000,
    requestTimeout: 20_000,
    connectionsCheckingInterval: 2000,
    keepAliveTimeout: 65_000,
    maxHeaderSize: 16_384
  })
  server.maxHeadersCount = 100
  server.maxRequestsPerSocket = 1000
  server.maxConnections = 4096
  holdEarlyRequests(server)
  return server
}
