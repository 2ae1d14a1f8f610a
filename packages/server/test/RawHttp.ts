/** Servers with one route, and raw sockets that send them what no HTTP client would. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { connect, type Socket } from "node:net"
import { createHttpServer } from "../src/HttpServer.ts"
import * as Listener from "../src/Listener.ts"

export const hello = HttpRouter.use((router) =>
  Effect.andThen(
    router.add("GET", "/hello", Effect.succeed(HttpServerResponse.text("hello"))),
    router.add("POST", "/hello", Effect.succeed(HttpServerResponse.text("hello")))
  )
)

/** A server with one route on a port of its own. */
export const served = HttpRouter.serve(hello, { disableLogger: true, disableListenLog: true }).pipe(
  Layer.provideMerge(Listener.layer({ host: "127.0.0.1", port: 0 }))
)

/** Such a server with lower limits. */
export const servedWith = (limits: Parameters<typeof createHttpServer>[1]) =>
  HttpRouter.serve(hello, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provideMerge(
      NodeHttpServer.layer(() => createHttpServer(undefined, limits), {
        host: "127.0.0.1",
        port: 0,
        gracefulShutdownTimeout: 0
      })
    )
  )

export interface TestResponse {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

export const parsed = (text: string): TestResponse => {
  const [head = "", body = ""] = text.split("\r\n\r\n")
  const [line = "", ...fields] = head.split("\r\n")
  const headers = fields.map((field) => {
    const [name = "", value = ""] = field.split(/:\s*/, 2)
    return [name.toLowerCase(), value] as const
  })
  return { status: Number(line.split(" ")[1]), headers: new Map(headers), body }
}

/** Writes texts to a socket of its own, each once the one before has a response, and returns what was received until the service closed it. */
export const sendRaw = (...[text, ...more]: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const url = new URL(yield* HttpServer.addressFormattedWith(Effect.succeed))
    return yield* Effect.callback<string>((resume) => {
      const socket = connect(Number(url.port), url.hostname, () => socket.write(text ?? ""))
      let received = ""
      socket.setEncoding("utf8")
      socket.on("data", (chunk: string) => {
        received += chunk
        const next = more.shift()
        if (next !== undefined) socket.write(next)
      })
      socket.once("error", () => {})
      socket.once("close", () => resume(Effect.succeed(received)))
      return Effect.sync(() => socket.destroy())
    })
  })

export const send = (text: string) => Effect.map(sendRaw(text), parsed)

export const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export const host = "Host: crm.example"
export const close = "Connection: close"
export const request = (line: string, ...headers: ReadonlyArray<string>) => [line, ...headers, "", ""].join("\r\n")

/** Waits until a socket is closed. */
export const closing = (socket: Socket) =>
  Effect.callback<void>((resume) => void socket.once("close", () => resume(Effect.void)))
