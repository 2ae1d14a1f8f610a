/** An HTTP server with a request listener of the test. */
import { Effect } from "effect"
import { createServer, type RequestListener } from "node:http"

/** Starts a server on 127.0.0.1 and returns its URL. It stops with the scope, and closes its connections. */
export const startHttpServer = (listener: RequestListener) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
      const server = createServer(listener).listen(0, "127.0.0.1", () => {
        const at = server.address()
        const port = typeof at === "object" && at !== null ? at.port : 0
        const close = () => {
          server.close()
          server.closeAllConnections()
        }
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ url }) => url))
