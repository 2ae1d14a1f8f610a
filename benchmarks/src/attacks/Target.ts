/** The server under attack: requests and sockets to it, and the number of their effects. */
import { Agent, request, type RequestOptions } from "node:http"
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
  /** The number of responses by status, and of connected sockets. */
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
