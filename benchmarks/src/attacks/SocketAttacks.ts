/** Attacks by connections that stay open, or that send many requests without waiting for responses. */
import { createServer } from "node:http"
import type { Socket } from "node:net"
import { static_paths } from "./StaticPaths.ts"
import { count, keepSockets, listen, readAll, send, type Target } from "./Target.ts"

/** Returns the text of a request without a body. */
const requestText = (path: string, ...headers: ReadonlyArray<string>): string =>
  [`GET ${path} HTTP/1.1`, "Host: crm.example", ...headers, "", ""].join("\r\n")

export const upgradeSockets = (target: Target): void =>
  keepSockets(
    target,
    4300,
    () => requestText("/health/live", "Connection: Upgrade", "Upgrade: websocket"),
    readAll
  )

/** Keeps sockets that request each of some responses and read nothing of them. `use` does the rest. */
const keepUnread = async (
  target: Target,
  connections: number,
  paths: ReadonlyArray<string>,
  use: (socket: Socket) => void = () => {}
): Promise<void> => {
  // Those that read nothing cannot count their responses.
  await Promise.all(paths.map((path) => send(target, { path })))
  keepSockets(
    target,
    connections,
    (connection) => requestText(paths[connection % paths.length] ?? ""),
    (_, socket) => use(socket.pause())
  )
}

/** Requests large responses, and reads nothing of them. */
export const readSlowly = (target: Target): Promise<void> => keepUnread(target, 1000, [target.link, ...static_paths])

/** Requests the same large responses again and again, without compression, and reads nothing of them. */
export const abandonPages = (target: Target): Promise<void> =>
  keepUnread(target, 400, static_paths, (socket) => {
    const timer = setTimeout(() => socket.destroy(), 1000)
    socket.once("close", () => clearTimeout(timer))
  })

/** Sends one byte of a body per second. */
export const writeSlowly = (target: Target): void => {
  const head = [
    "POST /v1/tags HTTP/1.1",
    "Host: crm.example",
    `Authorization: Bearer ${target.key}`,
    "Content-Type: application/json",
    "Idempotency-Key: slow-writer",
    "Content-Length: 60000",
    "",
    ""
  ].join("\r\n")
  keepSockets(target, 1000, () => head, (_, socket) => {
    const timer = setInterval(() => socket.write(" "), 1000)
    readAll(target, socket)
    socket.once("close", () => clearInterval(timer))
  })
}

/** Keeps sockets that send a part of a callback with an invalid signature. `use` does the rest. */
const keepBodies = (target: Target, bytes: number, use: (socket: Socket) => void = () => {}): void => {
  const head = [
    "POST /ingress/graph HTTP/1.1",
    "Host: crm.example",
    "Content-Type: application/json",
    `X-Hub-Signature-256: sha256=${"0".repeat(64)}`,
    "Content-Length: 4000000",
    "",
    ""
  ].join("\r\n")
  keepSockets(target, 300, () => head + " ".repeat(bytes), (_, socket) => {
    readAll(target, socket)
    use(socket)
  })
}

/** Sends a part of each body, more than the service keeps in total, and nothing after it. */
export const stallBodies = (target: Target): void => keepBodies(target, 64_000)

/** Sends bodies slowly, 4 MB per second in total. */
export const trickleBodies = (target: Target): void =>
  keepBodies(target, 50_000, (socket) => {
    const timer = setInterval(() => socket.write(" ".repeat(1400)), 100)
    socket.once("close", () => clearInterval(timer))
  })

/** Pipelines more pages than one chunk can contain, and more requests than one connection can send. */
export const pipelinePages = (target: Target): void => {
  const page = requestText("/docs")
  keepSockets(target, 101, (connection) => connection === 0 ? page.repeat(2000) : page, readAll)
}

export const pipelineProbes = (target: Target): void =>
  keepSockets(target, 200, () => requestText("/health/live").repeat(1000), readAll)

export const pipelineUnknownKeys = (target: Target): void => {
  const read = requestText("/v1/contacts", `Authorization: Bearer svc_live_${"0".repeat(43)}`)
  keepSockets(target, 500, () => read.repeat(1000), readAll)
}

/** Serves webhook endpoints that send interim responses without end, and returns their URL. */
export const serveHostileEndpoints = (target: Target): Promise<string> => {
  const server = createServer()
  server.on("connection", (socket) => {
    socket.once("data", () => count(target, "connected"))
    const timer = setInterval(() => socket.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(100)), 1)
    socket.resume().once("error", () => {}).once("close", () => clearInterval(timer))
  })
  return listen(server)
}
