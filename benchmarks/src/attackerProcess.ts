/**
 * One attack, in a process of its own until it is killed: `node attackerProcess.ts NAME URL KEY LINK`.
 *
 * It speaks to 127.0.0.1 only. Prints a line when it has begun: the URL of its
 * endpoints, where it has some.
 */
import { Agent, createServer, request, type RequestOptions } from "node:http"
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

const [, , name = "", target = "http://127.0.0.1:1", key = "", link = "/"] = process.argv
const { hostname, port } = new URL(target)
if (hostname !== "127.0.0.1") throw new Error("Attacks are for 127.0.0.1.")
const agent = new Agent({ keepAlive: true, maxSockets: Infinity })

/** Sends a request and reads its response to the end, whatever it is. */
const send = (options: RequestOptions, body: Uint8Array | string = ""): Promise<void> =>
  new Promise((resolve) => {
    const sent = request({ agent, hostname, port, ...options }, (response) => {
      response.resume().once("close", resolve)
    })
    sent.once("error", () => resolve())
    sent.end(body)
  })

/** Does something again and again, so many at a time, with a pause when nothing comes back at all. */
const concurrently = (count: number, act: (number: number) => Promise<void>): void => {
  for (let number = 0; number < count; number++) {
    void (async () => {
      for (;;) {
        await act(number)
        await sleep(1)
      }
    })()
  }
}

/** Keeps a number of sockets open. Each sends a text, and `hold` does the rest. */
const sockets = (count: number, text: (number: number) => string, hold: (socket: Socket) => void): void =>
  concurrently(count, (number) =>
    new Promise((resolve) => {
      const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(text(number)))
      socket.once("error", () => {})
      socket.once("close", () => void sleep(500).then(resolve))
      hold(socket)
    }))

const json = { "content-type": "application/json", authorization: `Bearer ${key}` }
const body = new Uint8Array(22_000_000)
const host = "Host: crm.example"

const attacks: Readonly<Record<string, () => void>> = {
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
  "signed by nobody": () =>
    concurrently(20, () =>
      send({
        method: "POST",
        path: "/ingress/graph",
        headers: { "transfer-encoding": "chunked", "x-hub-signature-256": `sha256=${"0".repeat(64)}` }
      }, body)),
  "upgraded sockets": () =>
    sockets(
      4300,
      () => ["GET /health/live HTTP/1.1", host, "Connection: Upgrade", "Upgrade: websocket", "", ""].join("\r\n"),
      (socket) => void socket.resume()
    ),
  "slow readers": () =>
    sockets(
      1000,
      (number) => [`GET ${[link, "/docs", "/v1/openapi.json"][number % 3]} HTTP/1.1`, host, "", ""].join("\r\n"),
      (socket) => void socket.pause()
    ),
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
        socket.resume().once("close", () => clearInterval(timer))
      }
    ),
  // Beyond what a chunk holds, and beyond the number of requests that a connection may have.
  "pipelined pages": () => {
    const page = ["GET /docs HTTP/1.1", host, "", ""].join("\r\n")
    sockets(101, (number) => number === 0 ? page.repeat(2000) : page, (socket) => void socket.resume())
  },
  "pipelined probes": () => {
    const probe = ["GET /health/live HTTP/1.1", host, "", ""].join("\r\n")
    sockets(200, () => probe.repeat(1000), (socket) => void socket.resume())
  },
  "pipelined strangers": () => {
    const read = ["GET /v1/contacts HTTP/1.1", host, `Authorization: Bearer svc_live_${"0".repeat(43)}`, "", ""]
    sockets(500, () => read.join("\r\n").repeat(1000), (socket) => void socket.resume())
  },
  "expensive searches": () =>
    concurrently(
      8,
      () =>
        send({
          path: `/v1/contacts?query=${"a".repeat(150)}b${"a".repeat(49)}`,
          headers: { authorization: json.authorization }
        })
    ),
  "worst keys": () =>
    concurrently(20, () =>
      send({
        method: "POST",
        path: "/v1/tags",
        headers: { ...json, "idempotency-key": `a${" ".repeat(15_500)}a` }
      }, "{\"name\":\"a\",\"color\":\"red\"}"))
}

/** Creates 20,000 contacts that nearly match the query of the expensive searches at each place of their names. */
const nearlyMatching = async (): Promise<void> => {
  let left = 20_000
  const contact = JSON.stringify({ first_name: `${"a".repeat(99)}b${"a".repeat(100)}` })
  await Promise.all(Array.from({ length: 32 }, async () => {
    while (left-- > 0) {
      const headers = { ...json, "idempotency-key": `contact-${left}-of-20000` }
      await send({ method: "POST", path: "/v1/contacts", headers }, contact)
    }
  }))
}

const endpoints = (): void => {
  const server = createServer()
  server.on("connection", (socket) => {
    const timer = setInterval(() => socket.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(100)), 1)
    socket.resume().once("error", () => {}).once("close", () => clearInterval(timer))
  })
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    console.log(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`)
  })
}

if (name === "hostile endpoints") endpoints()
else {
  if (name === "expensive searches") await nearlyMatching()
  attacks[name]?.()
  console.log("begun")
}
