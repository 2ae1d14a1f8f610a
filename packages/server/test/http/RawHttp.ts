/** Servers with one route, and raw sockets that send them what no HTTP client would. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { connect, type Socket } from "node:net"
import { createHttpServer } from "../../src/http/HttpServer.ts"
import * as Listener from "../../src/http/Listener.ts"

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

/** Serves these routes and `hello` on a port of its own. `taken` are the server's sockets, and `open` connects a client's socket. */
export const serve = Effect.fnUntraced(function*<E, R>(
  routes: Layer.Layer<never, E, R>,
  limits: Parameters<typeof createHttpServer>[1] = {}
) {
  const server = createHttpServer(undefined, limits)
  const taken: Array<Socket> = []
  server.on("connection", (socket) => void taken.push(socket))
  yield* Layer.build(
    HttpRouter.serve(Layer.merge(routes, hello), { disableLogger: true, disableListenLog: true }).pipe(
      Layer.provide(NodeHttpServer.layer(() => server, { host: "127.0.0.1", port: 0, gracefulShutdownTimeout: 0 }))
    )
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const open = () => connect(port, "127.0.0.1").on("error", () => {})
  /** Sends a text over a new connection, and returns everything that is received until it is closed. */
  const ask = (text: string) =>
    Effect.suspend(() => {
      const socket = open()
      socket.write(text)
      return textOf(socket)
    })
  return { server, taken, open, ask }
})

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

/** Writes texts to a new socket, each after the response to the previous one, and returns everything received until it is closed. */
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

/** Returns everything that a socket receives until it is closed. */
export const textOf = (socket: Socket) =>
  Effect.callback<string>((resume) => {
    let received = ""
    socket.setEncoding("utf8").on("data", (chunk: string) => received += chunk)
    socket.once("close", () => resume(Effect.succeed(received)))
  })

/** Writes texts, each in two parts and after the response to the previous one, and returns everything that is received. */
export const converse = (socket: Socket, texts: ReadonlyArray<string>, cut = Infinity) => {
  const next = texts.values()
  const write = () => {
    const text = next.next().value ?? ""
    socket.write(text.slice(0, cut), () => void (text.length > cut && socket.write(text.slice(cut))))
  }
  socket.on("data", write)
  write()
  return textOf(socket)
}

/** Writes a text to a socket, and returns the status of the next response; "closed" if the socket is closed first. */
export const nextStatus = (socket: Socket, text: string) =>
  Effect.callback<string>((resume) => {
    const closed = () => resume(Effect.succeed("closed"))
    socket.once("close", closed).once("data", (response: Buffer) => {
      socket.off("close", closed)
      resume(Effect.succeed(response.toString().slice(9, 12)))
    })
    socket.write(text)
  })
