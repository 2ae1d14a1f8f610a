/** Downloads files with undici from hosts that may be hostile, each over a connection of its own. */
import { Downloads } from "@messaging-crm/core/Downloads"
import { FileAbsent, FileUnavailable } from "@messaging-crm/core/Media"
import { Effect, Layer, Stream } from "effect"
import { type Connection, type DialOptions, makeConnect } from "./Connections.ts"

/** The user agent of `fetch` in Node. Hosts of files respond to some others with an error page. */
const user_agent = "node"

const end = (connection: Connection) => Effect.sync(() => connection.end())

const make = (options: Partial<DialOptions>) => {
  const connect = makeConnect({ allowed: null, ...options })

  const get = Effect.fnUntraced(
    function*(address: string, headers: Readonly<Record<string, string>>) {
      const url = URL.parse(address)
      if (url === null || !/^https?:$/.test(url.protocol)) return yield* new FileAbsent()
      const { client } = yield* connect(url, end)
      const { body, headers: given, statusCode } = yield* Effect.tryPromise({
        try: () =>
          client.request({
            path: url.pathname + url.search,
            method: "GET",
            headers: { "user-agent": user_agent, accept: "*/*", ...headers }
          }),
        catch: () => new FileUnavailable()
      })
      // Without a listener, the error of a body that is not read would end the process.
      body.on("error", () => {})
      const declared = given["content-length"]
      return {
        status: statusCode,
        byte_size: typeof declared === "string" ? Number(declared) : null,
        bytes: Stream.fromAsyncIterable<Uint8Array, FileUnavailable>(body, () => new FileUnavailable())
      }
    },
    Effect.catchTag(
      "NoResponse",
      ({ failure_code }) => Effect.fail(failure_code === "blocked_address" ? new FileAbsent() : new FileUnavailable())
    )
  )

  return Downloads.of({ get })
}

/** Layer that downloads over HTTP/1.1 from public addresses, and from the allowed networks. */
export const layer = (options: Partial<DialOptions> = {}): Layer.Layer<Downloads> =>
  Layer.sync(Downloads, () => make(options))
