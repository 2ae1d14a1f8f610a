/** The connection of a process to NATS. */
import { jetstream, type JetStreamClient } from "@nats-io/jetstream"
import { connect, type ConnectionOptions, type NatsConnection } from "@nats-io/transport-node"
import type { Address } from "./Address.ts"

const connect_millis_max = 5000
const reconnect_millis = 500

/** There is no connection, because NATS is unavailable. */
export class Disconnected extends Error {}

const optionsOf = ({ servers }: Address): ConnectionOptions => {
  const urls = servers.map((server) => new URL(server))
  const [first] = urls
  const [user, pass] = [first?.username ?? "", first?.password ?? ""].map(decodeURIComponent)
  return {
    name: "messaging-crm",
    servers: urls.map(({ host }) => host),
    timeout: connect_millis_max,
    maxReconnectAttempts: -1,
    reconnectTimeWait: reconnect_millis,
    ...(urls.some(({ protocol }) => protocol === "tls:") ? { tls: {} } : {}),
    ...(user === "" || user === undefined ? {} : pass === "" || pass === undefined ? { token: user } : { user, pass })
  }
}

/**
 * A connection that is opened at the first use.
 *
 * While NATS is unavailable, `open` fails at once. The library would keep each message in memory until it reconnects.
 */
export class Connection {
  readonly #options: ConnectionOptions
  #opening: Promise<NatsConnection> | null = null
  #isConnected = false

  constructor(address: Address) {
    this.#options = optionsOf(address)
  }

  async #connect(): Promise<NatsConnection> {
    try {
      const opened = await connect(this.#options)
      this.#isConnected = true
      void this.#watch(opened)
      return opened
    } catch (error) {
      this.#opening = null
      throw error
    }
  }

  async #watch(opened: NatsConnection): Promise<void> {
    for await (const { type } of opened.status()) {
      if (type === "disconnect") this.#isConnected = false
      if (type === "reconnect") this.#isConnected = true
    }
    this.#opening = null
  }

  /** Returns a client of JetStream on the connection. */
  async open(): Promise<JetStreamClient> {
    this.#opening ??= this.#connect()
    const opened = await this.#opening
    if (!this.#isConnected) throw new Disconnected()
    return jetstream(opened)
  }

  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => null)
    await opened?.close()
  }
}
