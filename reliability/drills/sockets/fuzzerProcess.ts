/**
 * Sends seeded garbage over raw sockets, in a process of its own: `node fuzzerProcess.ts SECONDS SEED KEY PORT…`.
 *
 * It connects to 127.0.0.1 only, and prints as JSON how many sockets it has opened, by what they sent and how they ended.
 */
import { randomNumbers } from "@messaging-crm/conformance/RandomNumbers"
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

const [, , seconds = "30", seed = "1", key = "", ...ports] = process.argv
const sockets_at_once = 24
const until_millis = performance.now() + Number(seconds) * 1000

const host = "Host: crm.example"
const request = (line: string, ...headers: ReadonlyArray<string>) => [line, host, ...headers, "", ""].join("\r\n")
const known = `Authorization: Bearer ${key}`
const unknown = `Authorization: Bearer svc_live_${"0".repeat(43)}`
const json = "Content-Type: application/json"

const texts: Readonly<Record<string, string>> = {
  connect: request("CONNECT x:1 HTTP/1.1"),
  connect_with_body: `${request("CONNECT x:1 HTTP/1.1", "Content-Length: 5")}hello`,
  probe: request("GET /health/live HTTP/1.1"),
  metrics: request("GET /metrics HTTP/1.1"),
  docs: request("GET /docs HTTP/1.1", "Accept-Encoding: gzip"),
  read: request("GET /v1/contacts?page_size=5 HTTP/1.1", known),
  stranger: request("GET /v1/contacts HTTP/1.1", unknown),
  write: `${request("POST /v1/tags HTTP/1.1", known, json, "Content-Length: 2")}{}`,
  chunks: `${request("POST /v1/tags HTTP/1.1", known, json, "Transfer-Encoding: chunked")}2\r\n{}\r\n0\r\n\r\n`,
  callback: `${request("POST /ingress/graph HTTP/1.1", "X-Hub-Signature-256: x", "Content-Length: 5")}hello`,
  expect: `${request("POST /v1/tags HTTP/1.1", known, json, "Expect: 100-continue", "Content-Length: 2")}{}`,
  upgrade: request("GET /health/live HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket"),
  absolute: request("GET http://[/v1/tags HTTP/1.1"),
  old: "GET /health/live HTTP/1.0\r\n\r\n",
  twice: request("POST /v1/tags HTTP/1.1", known, "Idempotency-Key: 12345678", "Idempotency-Key: 12345678"),
  garbage: "\u0000\r\n: x\r\n\r\n"
}

type Random = () => number

const pick = <A>(random: Random, values: ReadonlyArray<A>): A | undefined =>
  values[Math.floor(random() * values.length)]

/** Changes a text: repeats it, cuts it, or puts another byte or text into it. */
const changed = (random: Random, text: string): string => {
  const at = Math.floor(random() * (text.length + 1))
  const kind = random()
  if (kind < 0.25) return text.repeat(1 + Math.floor(random() * 500))
  if (kind < 0.5) return text.slice(0, at)
  if (kind < 0.6) return text.slice(0, at) + String.fromCharCode(Math.floor(random() * 256)) + text.slice(at)
  if (kind < 0.7) return text + (pick(random, Object.values(texts)) ?? "").repeat(1 + Math.floor(random() * 20))
  return text
}

const endings: Readonly<Record<string, (socket: Socket, random: Random) => Promise<unknown> | undefined>> = {
  reset: (socket) => void socket.resetAndDestroy(),
  reset_later: (socket, random) => sleep(random() * 20).then(() => socket.resetAndDestroy()),
  half_close: (socket) => void socket.resume().end(),
  read: (socket) => void socket.resume(),
  never_read: (socket) => void socket.pause()
}

const counts: Record<string, number> = {}
const count = (...words: ReadonlyArray<string>) => {
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1
}

/** Sends a text in up to three parts, and ends the socket in one of the ways, after half a second at the latest. */
const send = (random: Random) =>
  new Promise<void>((resolve) => {
    const name = pick(random, Object.keys(texts)) ?? ""
    const ending = pick(random, Object.keys(endings)) ?? ""
    const text = changed(random, texts[name] ?? "")
    const cut = random() < 0.3 ? Math.floor(random() * text.length) : text.length
    const socket = connect({ host: "127.0.0.1", port: Number(pick(random, ports)) })
    const timer = setTimeout(() => socket.destroy(), 500)
    socket.once("error", () => count("refused_or_reset"))
    socket.once("close", () => {
      clearTimeout(timer)
      resolve()
    })
    socket.once("connect", () => {
      count("sockets", name, ending)
      socket.write(text.slice(0, cut), "latin1")
      if (cut < text.length) socket.write(text.slice(cut), "latin1")
      void endings[ending]?.(socket, random)
    })
  })

await Promise.all(Array.from({ length: sockets_at_once }, async (_, number) => {
  const random = randomNumbers(Number(seed) * 1000 + number)
  while (performance.now() < until_millis) await send(random)
}))
console.log(JSON.stringify(counts))
process.exit(0)
