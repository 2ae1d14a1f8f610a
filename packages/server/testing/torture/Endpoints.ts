/** The endpoints of both organizations' webhooks, each behind a proxy. They check signatures when the run is over. */
import { Effect } from "effect"
import { createHmac } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import * as TcpProxy from "../TcpProxy.ts"
import { startHttpServer } from "../TestHttpServer.ts"
import type { ReceivedDelivery } from "./History.ts"

interface Received extends Omit<ReceivedDelivery, "is_signed"> {
  readonly timestamp: string
  readonly signatures: ReadonlyArray<string>
}

const header = ({ headers }: IncomingMessage, name: string): string => String(headers[name] ?? "")

/** Most requests succeed. A few get an error, or no response at all. */
const statusOf = (number: number): number => number % 23 === 22 ? 500 : 204

const isSignedWith = ({ event_id, signatures, text, timestamp }: Received) => (secret: string): boolean => {
  const bytes = Buffer.from(secret.replace(/^whsec_/, ""), "base64")
  const digest = createHmac("sha256", bytes).update(`${event_id}.${timestamp}.${text}`).digest("base64")
  return signatures.includes(`v1,${digest}`)
}

/** Starts the endpoints. `now` is the clock of the history. */
export const make = Effect.fnUntraced(function*(organizations: number, now: () => number) {
  const received: Array<Received> = []
  let is_calm = false

  const receive = (organization: number, request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk)).once("end", () => {
      const status = is_calm ? 204 : statusOf(received.length)
      received.push({
        organization,
        endpoint: request.url ?? "",
        event_id: header(request, "webhook-id"),
        text: Buffer.concat(chunks).toString(),
        at: now(),
        status,
        timestamp: header(request, "webhook-timestamp"),
        signatures: header(request, "webhook-signature").split(" ")
      })
      response.writeHead(status).end()
    })
  }

  const proxies = yield* Effect.forEach(
    Array.from({ length: organizations }),
    (_, organization) =>
      Effect.gen(function*() {
        const url = yield* startHttpServer((request, response) => receive(organization, request, response))
        return yield* TcpProxy.make(Number(new URL(url).port))
      })
  )

  return {
    proxies,
    /** The URL of an endpoint, of which the path is unique. */
    urlOf: (organization: number, path: string) => `http://127.0.0.1:${proxies[organization]?.port}${path}`,
    /** From now on every request succeeds. */
    calm: Effect.sync(() => {
      is_calm = true
    }),
    /** The deliveries received so far, with the secrets of each endpoint; null for an endpoint whose secrets are not certain. */
    received: (secretsOf: (endpoint: string) => ReadonlyArray<string> | null): ReadonlyArray<ReceivedDelivery> =>
      received.map((one) => {
        const { signatures: _, timestamp: __, ...delivery } = one
        const secrets = secretsOf(one.endpoint)
        return { ...delivery, is_signed: secrets === null ? null : secrets.some(isSignedWith(one)) }
      })
  }
})

export type Endpoints = Effect.Success<ReturnType<typeof make>>
