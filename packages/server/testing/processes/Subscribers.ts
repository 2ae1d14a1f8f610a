/** Webhook subscribers on 127.0.0.1, which check every signature with the public library of Standard Webhooks. */
import { Clock, Effect, Schema } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Webhook } from "standardwebhooks"
import * as Api from "./Api.ts"
import type * as Servers from "./Servers.ts"
import { startHttpServer } from "./TestHttpServer.ts"

/** An event that a subscriber has received with a valid signature. `at` is the time of receipt in Unix milliseconds. */
export interface ReceivedEvent {
  readonly event_id: string
  readonly body: string
  readonly at: number
}

export interface Subscriber {
  readonly webhook_id: string
  /** The events received so far. Grows while the subscriber runs. */
  readonly received: ReadonlyArray<ReceivedEvent>
  /** The bodies that were posted with an invalid signature. */
  readonly forged: ReadonlyArray<string>
}

/** How a subscriber responds to a request that it has read. */
export type Behavior = (response: ServerResponse) => void

/** Responds with 204 at once. */
export const prompt: Behavior = (response) => response.writeHead(204).end()

/** Responds with 204 after a random delay of at most that many milliseconds. */
export const delayed = (millis_max: number): Behavior => (response) => {
  setTimeout(() => prompt(response), Math.random() * millis_max)
}

/** Never responds. */
export const unresponsive: Behavior = () => {}

/** Responds with 200 and an endless body. */
export const endless: Behavior = (response) => {
  const chunk = Buffer.alloc(16_384, "x")
  const fill = (): void => {
    while (!response.destroyed && response.write(chunk)) { /* until the socket is full */ }
  }
  response.writeHead(200).on("drain", fill)
  fill()
}

const Created = Schema.fromJsonString(Schema.Struct({
  data: Schema.Struct({ id: Schema.String, signing_secret: Schema.String })
}))

const textOf = (request: IncomingMessage, onText: (text: string) => void): void => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk)).once("end", () => onText(Buffer.concat(chunks).toString()))
}

const isVerified = (secret: string, body: string, request: IncomingMessage): boolean => {
  try {
    new Webhook(secret).verify(body, {
      "webhook-id": String(request.headers["webhook-id"]),
      "webhook-timestamp": String(request.headers["webhook-timestamp"]),
      "webhook-signature": String(request.headers["webhook-signature"])
    })
    return true
  } catch {
    return false
  }
}

/** Starts a subscriber and creates its webhook. The server stops with the scope. */
export const subscriber = Effect.fnUntraced(function*(
  server: Servers.Server,
  key: string,
  options: { readonly event_types: ReadonlyArray<string>; readonly behavior: Behavior }
) {
  const clock = yield* Clock.Clock
  const received: Array<ReceivedEvent> = []
  const forged: Array<string> = []
  // Set before the first event arrives: events are raised only after the webhook is created.
  let secret = ""
  const url = yield* startHttpServer((request, response) =>
    textOf(request, (body) => {
      if (!isVerified(secret, body, request)) {
        forged.push(body)
        return response.writeHead(401).end()
      }
      received.push({ event_id: String(request.headers["webhook-id"]), body, at: clock.currentTimeMillisUnsafe() })
      options.behavior(response)
    })
  )
  const json = { url, event_types: options.event_types }
  const { text } = yield* Api.request(server, "POST", "/webhooks", { key, json })
  const { data } = yield* Schema.decodeUnknownEffect(Created)(text)
  secret = data.signing_secret
  return { webhook_id: data.id, received, forged } satisfies Subscriber
})
