/** A proxy for PostgreSQL that simulates failures of the network. */
import { Effect, Redacted } from "effect"
import { connect, createServer, type Server, type Socket } from "node:net"

interface Message {
  /** Its first letter; none for the message that begins a session. */
  readonly type: string
  readonly body: Buffer
  readonly bytes: Buffer
}

/** Cuts a stream of the PostgreSQL protocol into its messages. */
class Messages {
  private rest = Buffer.alloc(0)
  private typed: boolean

  constructor(typed: boolean) {
    this.typed = typed
  }

  /** Returns the messages that are complete with this chunk. */
  push(chunk: Buffer): ReadonlyArray<Message> {
    this.rest = Buffer.concat([this.rest, chunk])
    const messages: Array<Message> = []
    while (true) {
      const head = this.typed ? 1 : 0
      if (this.rest.length < head + 4) return messages
      const end = head + this.rest.readInt32BE(head)
      if (this.rest.length < end) return messages
      const type = this.rest.toString("latin1", 0, head)
      messages.push({ type, body: this.rest.subarray(head + 4, end), bytes: this.rest.subarray(0, end) })
      this.rest = this.rest.subarray(end)
      this.typed = true
    }
  }
}

/** Returns the texts before the first zeros of a message. */
const texts = (body: Buffer): ReadonlyArray<string> => body.toString("utf8").split("\0", 2)

/** Returns whether the response to a statement is lost and the connection closed. */
type Loses = (statement: string) => boolean

/** A connection through the proxy. Responses come in the order of the requests: one `Z` of the server for each `S` of the client. */
class Connection {
  private readonly client: Socket
  private readonly server: Socket
  private readonly statements = new Map<string, string>()
  private readonly loses: Loses
  private silent = false
  private syncs = 0
  private responded = -1
  /** The number of the response that is lost. */
  private lost = Number.POSITIVE_INFINITY

  constructor(client: Socket, server: Socket, loses: Loses) {
    this.client = client
    this.server = server
    this.loses = loses
    const [sent, returned] = [new Messages(false), new Messages(true)]
    client.on("data", (chunk: Buffer) => this.silent || sent.push(chunk).forEach((message) => this.ask(message)))
    server.on(
      "data",
      (chunk: Buffer) => this.silent || returned.push(chunk).forEach((message) => this.respond(message))
    )
    for (const [socket, other] of [[client, server], [server, client]] as const) {
      socket.setNoDelay(true)
      socket.on("error", () => {})
      socket.on("end", () => this.silent || other.end())
      socket.on("close", () => this.silent || other.destroy())
    }
  }

  /** Drops everything from now on, including the end of either side. */
  silence(): void {
    this.silent = true
  }

  cut(): void {
    this.client.destroy()
    this.server.destroy()
  }

  private ask({ body, bytes, type }: Message): void {
    const [first = "", second = ""] = texts(body)
    if (type === "P") this.statements.set(first, second)
    if (type === "B" && this.loses(this.statements.get(second) ?? "")) this.lost = Math.min(this.lost, this.syncs)
    if (type === "S") this.syncs += 1
    this.server.write(bytes)
  }

  private respond({ bytes, type }: Message): void {
    // The server reports that it is ready once before the first request, so the count begins at -1.
    const number = this.responded
    if (type === "Z") this.responded += 1
    if (number < this.lost) this.client.write(bytes)
    else if (type === "Z") this.cut()
  }
}

export interface Proxy {
  /** The database's URL, through the proxy. */
  readonly url: Redacted.Redacted
  /** Silently drops all data of the open connections. Later connections work. */
  readonly silence: Effect.Effect<void>
  /** Closes the connection of the next matching statement after the server's response, which is dropped. */
  readonly loseResponse: (isMeant: (statement: string) => boolean) => Effect.Effect<void>
}

const portOf = (server: Server): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

/** Starts a proxy for the database at a URL. The end of the scope closes it, with every connection through it. */
export const make = Effect.fnUntraced(function*(url: Redacted.Redacted) {
  const through = new URL(Redacted.value(url))
  const connections = new Set<Connection>()
  const meant = new Set<Loses>()
  const loses: Loses = (statement) => {
    const found = Array.from(meant).find((isMeant) => isMeant(statement))
    return found !== undefined && meant.delete(found)
  }
  const { hostname, port } = through
  const server = yield* Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const server = createServer({ allowHalfOpen: true }, (client) => {
        const upstream = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
        connections.add(new Connection(client, upstream, loses))
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.sync(() => {
        server.close()
        for (const connection of connections) connection.cut()
      })
  )
  through.hostname = "127.0.0.1"
  through.port = String(portOf(server))
  return {
    url: Redacted.make(through.href),
    silence: Effect.sync(() => connections.forEach((connection) => connection.silence())),
    loseResponse: (isMeant) => Effect.sync(() => meant.add(isMeant))
  } satisfies Proxy
})
