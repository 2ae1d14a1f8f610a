/** The webhook endpoints of each organization behind a proxy. They check signatures at the end of the run. */
import { Effect } from "effect"
import { createHmac } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import * as TcpProxy from "../../../packages/server/testing/processes/TcpProxy.ts"
import { startHttpServer } from "../../../packages/server/testing/processes/TestHttpServer.ts"
import type { ReceivedDelivery } from "../History.ts"

interface Received extends Omit<ReceivedDelivery, "is_signed"> {
  readonly timestamp: string
  readonly signatures: ReadonlyArray<string>
}

const header = ({ headers }: IncomingMessage, name: string): string => String(headers[name] ?? "")

/** Most requests succeed, and a few get an error. */
const statusOf = (number: number): number => number % 23 === 22 ? 500 : 204

const isSignedWith = ({ event_id, signatures, text, timestamp }: Received) => (secret: string): boolean => {
  const bytes = Buffer.from(secret.replace(/^whsec_/, ""), "base64")
  const digest = createHmac("sha256", bytes).update(`${event_id}.${timestamp}.${text}`).digest("base64")
  return signatures.includes(`v1,${digest}`)
}

interface State {
  readonly received: Array<Received>
  readonly now: () => number
  /** Whether some requests get an error. */
  has_errors: boolean
}

/** Records a request to an endpoint, and responds. */
const receive = (state: State, organization: number, request: IncomingMessage, response: ServerResponse): void => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk)).once("end", () => {
    const status = state.has_errors ? statusOf(state.received.length) : 204
    state.received.push({
      organization,
      endpoint: request.url ?? "",
      event_id: header(request, "webhook-id"),
      text: Buffer.concat(chunks).toString(),
      at: state.now(),
      status,
      timestamp: header(request, "webhook-timestamp"),
      signatures: header(request, "webhook-signature").split(" ")
    })
    response.writeHead(status).end()
  })
}

const startProxy = Effect.fnUntraced(function*(state: State, organization: number) {
  const url = yield* startHttpServer((request, response) => receive(state, organization, request, response))
  return yield* TcpProxy.make(Number(new URL(url).port))
})

/** Starts the endpoints. `now` is the clock of the history. */
export const make = Effect.fnUntraced(function*(organizations: number, now: () => number) {
  const state: State = { received: [], now, has_errors: true }
  const proxies = yield* Effect.forEach(
    Array.from({ length: organizations }).keys(),
    (organization) => startProxy(state, organization)
  )
  return {
    proxies,
    /** Returns the URL of an endpoint, whose path is unique. */
    urlOf: (organization: number, path: string) => `http://127.0.0.1:${proxies[organization]?.port}${path}`,
    /** Makes every further request succeed. */
    stopErrors: Effect.sync(() => {
      state.has_errors = false
    }),
    /** Returns the deliveries so far. `secretsOf` returns the secrets of an endpoint; null if they are not certain. */
    received: (secretsOf: (endpoint: string) => ReadonlyArray<string> | null): ReadonlyArray<ReceivedDelivery> =>
      state.received.map((one) => {
        const { signatures: _, timestamp: __, ...delivery } = one
        const secrets = secretsOf(one.endpoint)
        return { ...delivery, is_signed: secrets === null ? null : secrets.some(isSignedWith(one)) }
      })
  }
})

export type Endpoints = Effect.Success<ReturnType<typeof make>>
