/** The server under attack: requests and sockets to it, and the number of their effects. */
import { Agent, request, type RequestOptions, type Server } from "node:http"
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

export interface Target {
  readonly hostname: string
  readonly port: string
  /** An API key of the attacker's organization. */
  readonly key: string
  /** The path of a link to a large file. */
  readonly link: string
  readonly agent: Agent
  /** The number of responses by status, of connected sockets, and of events that webhooks received. */
  readonly effects: Record<string, number>
}

/** Makes a target. Dies unless its address is 127.0.0.1. */
export const make = (url: string, key: string, link: string): Target => {
  const { hostname, port } = new URL(url)
  if (hostname !== "127.0.0.1") throw new Error("Attacks are for 127.0.0.1.")
  return { hostname, port, key, link, agent: new Agent({ keepAlive: true, maxSockets: Infinity }), effects: {} }
}

export const count = ({ effects }: Target, effect: number | string): void => {
  effects[effect] = (effects[effect] ?? 0) + 1
}

/** Sends a request, and reads any response to its end. */
export const send = (target: Target, options: RequestOptions, body: Uint8Array | string = ""): Promise<void> =>
  new Promise((resolve) => {
    const { agent, hostname, port } = target
    const sent = request({ agent, hostname, port, ...options }, (response) => {
      count(target, response.statusCode ?? 0)
      response.resume().once("close", resolve)
    })
    sent.once("error", () => resolve())
    sent.end(body)
  })

/** The headers of a write, by default with a new idempotency key. */
export const writeHeaders = ({ key }: Target, idempotency_key: string = globalThis.crypto.randomUUID()) => ({
  "content-type": "application/json",
  authorization: `Bearer ${key}`,
  "idempotency-key": idempotency_key
})

/** The part of a response that attacks use. */
interface Row {
  readonly id: string
}

/** Sends a request that prepares an attack, and returns the `data` of its response. Throws unless it succeeds. */
export function callApi(target: Target, method: "GET", path: string): Promise<ReadonlyArray<Row>>
export function callApi(target: Target, method: "PATCH" | "POST", path: string, body: object): Promise<Row>
export async function callApi(target: Target, method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(`http://${target.hostname}:${target.port}/v1${path}`, {
    method,
    headers: writeHeaders(target),
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${text}`)
  return JSON.parse(text).data
}

/** Lets a server of the attacker listen, and returns its URL. */
export const listen = (server: Server): Promise<string> =>
  new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resolve(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`)
    })
  })

/** Repeats an action without end, with a number of concurrent clients. */
export const repeat = (clients: number, act: (client: number) => Promise<void>): void => {
  for (let client = 0; client < clients; client++) {
    void (async () => {
      for (;;) {
        await act(client)
        await sleep(1)
      }
    })()
  }
}

/** Keeps a number of sockets open. Each sends a text, and `use` does the rest. */
export const keepSockets = (
  target: Target,
  connections: number,
  textOf: (connection: number) => string,
  use: (target: Target, socket: Socket) => void
): void =>
  repeat(connections, (connection) =>
    new Promise((resolve) => {
      const socket = connect({ host: target.hostname, port: Number(target.port) }, () => {
        count(target, "connected")
        socket.write(textOf(connection))
      })
      socket.once("error", () => {})
      socket.once("close", () => void sleep(500).then(resolve))
      use(target, socket)
    }))

/** Reads everything that a socket receives, and counts the response that it begins with. */
export const readAll = (target: Target, socket: Socket): void =>
  void socket.once("data", (chunk: Buffer) => count(target, /^HTTP\/1\.1 (\d+)/.exec(chunk.toString())?.[1] ?? 0))
    .resume()
