/** Servers of the service as processes, which end with the scope. */
import { Effect } from "effect"
import { freePort } from "../../src/dev/FreePort.ts"
import { type Environment, start, startMain, untilUp } from "./Processes.ts"

/** The address of a server. The port stays the same when the server is restarted. */
export interface Server {
  readonly port: number
  readonly url: string
}

/** Returns the address of a server on a free port. */
export const reserve = Effect.map(freePort, (port): Server => ({ port, url: `http://127.0.0.1:${port}` }))

const startServer = Effect.fnUntraced(function*(
  args: ReadonlyArray<string>,
  environment: Environment,
  { port, url }: Server,
  file: string | null
) {
  const serve = ["serve", ...args, "--port", String(port)]
  const process = yield* file === null ? startMain(serve, environment) : start(file, serve, environment)
  yield* untilUp(`${url}/health/ready`)
  return process
})

/** Starts a server with workers, from another file if one is given, and waits until it is ready. */
export const serve = (environment: Environment, server: Server, file: string | null = null) =>
  startServer([], environment, server, file)

/** Starts a server without workers, as `serve` does. */
export const serveApi = (environment: Environment, server: Server, file: string | null = null) =>
  startServer(["--no-worker"], environment, server, file)
