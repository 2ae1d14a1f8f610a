/**
 * One attack, in a separate process until it is killed: `node attackerProcess.ts NAME URL KEY LINK`.
 *
 * It connects to 127.0.0.1 only. Prints a line when it has started: the URL of its endpoints, if it has any. Then it prints
 * its effects every half second, as JSON: the number of responses by status, and of connected sockets.
 */
import { Agent, createServer, request, type RequestOptions } from "node:http"
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import * as Arguments from "../Arguments.ts"
import * as Attacks from "./Attacks.ts"

const [, , name = "", target = "http://127.0.0.1:1", key = "", link = "/"] = process.argv
const { hostname, port } = new URL(target)
if (hostname !== "127.0.0.1") throw new Error("Attacks are for 127.0.0.1.")
const agent = new Agent({ keepAlive: true, maxSockets: Infinity })

const effects: Record<string, number> = {}

const count = (effect: number | string): void => {
  effects[effect] = (effects[effect] ?? 0) + 1
}

/** Sends a request, and reads any response to its end. */
const send = (options: RequestOptions, body: Uint8Array | string = ""): Promise<void> =>
  new Promise((resolve) => {
    const sent = request({ agent, hostname, port, ...options }, (response) => {
      count(response.statusCode ?? 0)
      response.resume().once("close", resolve)
    })
    sent.once("error", () => resolve())
    sent.end(body)
  })

/** Repeats an action without end, with a number of clients at a time. */
const concurrently = (clients: number, act: (number: number) => Promise<void>): void => {
  for (let number = 0; number < clients; number++) {
    void (async () => {
      for (;;) {
        await act(number)
        await sleep(1)
      }
    })()
  }
}

/** Keeps a number of sockets open. Each sends a text, and `hold` does the rest. */
const sockets = (connections: number, text: (number: number) => string, hold: (socket: Socket) => void): void =>
  concurrently(connections, (number) =>
    new Promise((resolve) => {
      const socket = connect({ host: hostname, port: Number(port) }, () => {
        count("connected")
        socket.write(text(number))
      })
      socket.once("error", () => {})
      socket.once("close", () => void sleep(500).then(resolve))
      hold(socket)
    }))

/** Reads everything that a socket receives, and counts the response that it begins with. */
const readAll = (socket: Socket): void =>
  void socket.once("data", (chunk: Buffer) => count(/^HTTP\/1\.1 (\d+)/.exec(chunk.toString())?.[1] ?? 0))
    .resume()

const json = { "content-type": "application/json", authorization: `Bearer ${key}` }
const body = new Uint8Array(22_000_000)
/** The longest body that the service reads before it checks the signature (contract §1.1). */
const callback_bytes_max = 4 * 1024 * 1024
const host = "Host: crm.example"

/** Starts each attack. The result is the URL of its endpoints, if it has any. */
const start: Readonly<Record<Attacks.Attack, () => Promise<string | void> | void>> = {
  "unsigned posts": () =>
    concurrently(20, (number) =>
      send({
        method: "POST",
        path: "/ingress/mock",
        headers: {
          "content-length": body.length,
          "x-mock-signature": number % 2 === 0 ? "" : `${"0".repeat(64)}.${"0".repeat(64)}`
        }
      }, body)),
  "invalid signatures": () =>
    concurrently(20, (number) =>
      send({
        method: "POST",
        path: "/ingress/graph",
        headers: { "transfer-encoding": "chunked", "x-hub-signature-256": `sha256=${"0".repeat(64)}` }
      }, number % 2 === 0 ? body : body.subarray(0, callback_bytes_max))),
  "upgraded sockets": () =>
    sockets(
      4300,
      () => ["GET /health/live HTTP/1.1", host, "Connection: Upgrade", "Upgrade: websocket", "", ""].join("\r\n"),
      readAll
    ),
  "slow readers": async () => {
    const paths = [link, "/docs", "/v1/openapi.json"]
    // Those that read nothing cannot count their responses.
    await Promise.all(paths.map((path) => send({ path })))
    sockets(
      1000,
      (number) => [`GET ${paths[number % paths.length]} HTTP/1.1`, host, "", ""].join("\r\n"),
      (socket) => void socket.pause()
    )
  },
  "slow writers": () =>
    sockets(
      1000,
      () =>
        [
          "POST /v1/tags HTTP/1.1",
          host,
          `Authorization: Bearer ${key}`,
          "Content-Type: application/json",
          "Idempotency-Key: slow-writer",
          "Content-Length: 60000",
          "",
          ""
        ].join("\r\n"),
      (socket) => {
        const timer = setInterval(() => socket.write(" "), 1000)
        readAll(socket)
        socket.once("close", () => clearInterval(timer))
      }
    ),
  // More than one chunk can contain, and more requests than one connection can send.
  "pipelined pages": () => {
    const page = ["GET /docs HTTP/1.1", host, "", ""].join("\r\n")
    sockets(101, (number) => number === 0 ? page.repeat(2000) : page, readAll)
  },
  "pipelined probes": () => {
    const probe = ["GET /health/live HTTP/1.1", host, "", ""].join("\r\n")
    sockets(200, () => probe.repeat(1000), readAll)
  },
  "pipelined unknown keys": () => {
    const read = ["GET /v1/contacts HTTP/1.1", host, `Authorization: Bearer svc_live_${"0".repeat(43)}`, "", ""]
    sockets(500, () => read.join("\r\n").repeat(1000), readAll)
  },
  "expensive searches": async () => {
    await createNearMatches()
    const path = `/v1/contacts?query=${"a".repeat(150)}b${"a".repeat(49)}`
    concurrently(8, () => send({ path, headers: { authorization: json.authorization } }))
  },
  "hostile endpoints": () => endpoints(),
  "worst keys": () =>
    concurrently(20, () =>
      send({
        method: "POST",
        path: "/v1/tags",
        headers: { ...json, "idempotency-key": `a${" ".repeat(15_500)}a` }
      }, "{\"name\":\"a\",\"color\":\"red\"}"))
}

/** Creates 20,000 contacts that nearly match the query of the expensive searches at each place of their names. */
const createNearMatches = async (): Promise<void> => {
  let left = 20_000
  const contact = JSON.stringify({ first_name: `${"a".repeat(99)}b${"a".repeat(100)}` })
  await Promise.all(Array.from({ length: 32 }, async () => {
    while (left-- > 0) {
      const headers = { ...json, "idempotency-key": `contact-${left}-of-20000` }
      await send({ method: "POST", path: "/v1/contacts", headers }, contact)
    }
  }))
}

/** Serves endpoints that send interim responses without end, and returns their URL. */
const endpoints = (): Promise<string> => {
  const server = createServer()
  server.on("connection", (socket) => {
    socket.once("data", () => count("connected"))
    const timer = setInterval(() => socket.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(100)), 1)
    socket.resume().once("error", () => {}).once("close", () => clearInterval(timer))
  })
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resolve(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`)
    })
  })
}

for (const attack of Arguments.chosen("The attack", Attacks.names, [name])) {
  console.log(await start[attack]() ?? "started")
}

setInterval(() => console.log(JSON.stringify(effects)), 500)
