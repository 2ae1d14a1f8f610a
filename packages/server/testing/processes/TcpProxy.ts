/** A TCP proxy on 127.0.0.1 that simulates network failures. */
import { Effect } from "effect"
import { connect, createServer, type Server, type Socket } from "node:net"

/** The condition of the connections through the proxy. */
export type Condition =
  | { readonly kind: "open" }
  /** Open connections are closed, and each new one at once. */
  | { readonly kind: "rejected" }
  /** The proxy drops all data in both directions. */
  | { readonly kind: "silent" }
  /** Requests arrive, and the proxy drops every response. */
  | { readonly kind: "responses_lost" }
  /** All data arrives later. */
  | { readonly kind: "delayed"; readonly millis: number }

export interface TcpProxy {
  readonly port: number
  /** Changes the condition. The end of a condition closes the connections that have lost data. */
  readonly setCondition: (condition: Condition) => Effect.Effect<void>
}

/** One direction of a connection. Delayed data stays in order. */
class Direction {
  private readonly to: Socket
  private readonly waiting: Array<() => void> = []
  private free_at = 0

  constructor(to: Socket) {
    this.to = to
  }

  private pass(deliver: () => void, delay: number): void {
    const now = performance.now()
    this.free_at = Math.max(this.free_at, now + delay)
    if (this.free_at <= now && this.waiting.length === 0) return deliver()
    this.waiting.push(deliver)
    setTimeout(() => this.waiting.shift()?.(), this.free_at - now)
  }

  write(chunk: Buffer, delay: number): void {
    this.pass(() => void (this.to.destroyed || this.to.write(chunk)), delay)
  }

  end(delay: number): void {
    this.pass(() => void this.to.end(), delay)
  }
}

class Connection {
  private readonly sockets: readonly [client: Socket, server: Socket]
  private condition: Condition
  private has_lost = false

  constructor(client: Socket, server: Socket, condition: Condition, onClose: () => void) {
    this.sockets = [client, server]
    this.condition = condition
    for (const [from, to] of [[client, server], [server, client]] as const) {
      const direction = new Direction(to)
      const drops = (): boolean => {
        const { kind } = this.condition
        const isDropped = kind === "silent" || (kind === "responses_lost" && from === server)
        this.has_lost ||= isDropped
        return isDropped
      }
      const delay = () => this.condition.kind === "delayed" ? this.condition.millis : 0
      from.setNoDelay(true)
      from.on("error", () => {})
      from.on("data", (chunk: Buffer) => void (drops() || direction.write(chunk, delay())))
      from.on("end", () => void (drops() || direction.end(delay())))
      from.on("close", () => {
        if (!this.has_lost) to.destroySoon()
        onClose()
      })
    }
  }

  setCondition(condition: Condition): void {
    if (condition.kind === "rejected" || this.has_lost) this.close()
    this.condition = condition
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy()
  }
}

const portOf = (server: Server): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

/** Starts a proxy for a port. The end of the scope closes it, with every connection through it. */
export const make = Effect.fnUntraced(function*(port: number) {
  const connections = new Set<Connection>()
  let condition: Condition = { kind: "open" }
  const accept = (client: Socket) => {
    if (condition.kind === "rejected") return void client.destroy()
    const upstream = connect({ host: "127.0.0.1", port, allowHalfOpen: true })
    const connection = new Connection(client, upstream, condition, () => connections.delete(connection))
    connections.add(connection)
  }
  const server = yield* Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const server = createServer({ allowHalfOpen: true }, accept)
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.sync(() => {
        server.close()
        for (const connection of connections) connection.close()
      })
  )
  return {
    port: portOf(server),
    setCondition: (next) =>
      Effect.sync(() => {
        condition = next
        for (const connection of connections) connection.setCondition(next)
      })
  } satisfies TcpProxy
})
