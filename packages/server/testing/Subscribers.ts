/** Subscribers of webhooks on 127.0.0.1, which check every signature with the public library of Standard Webhooks. */
import { Clock, Effect, Schema } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Webhook } from "standardwebhooks"
import { answering } from "./Answering.ts"
import * as Processes from "./Processes.ts"

/** What a subscriber was told at a time, once its signature was found to fit. */
export interface Heard {
  readonly event_id: string
  readonly body: string
  readonly at: number
}

export interface Subscriber {
  readonly webhook_id: string
  /** Grows as the subscriber is told. */
  readonly heard: ReadonlyArray<Heard>
  /** What was posted under a signature that does not fit. */
  readonly forged: ReadonlyArray<string>
}

/** How a subscriber answers a post that it has read. */
export type Manner = (response: ServerResponse) => void

/** Takes what it is told at once. */
export const prompt: Manner = (response) => response.writeHead(204).end()

/** Takes what it is told after a while, of up to that many milliseconds. */
export const leisurely = (millis_max: number): Manner => (response) => {
  setTimeout(() => prompt(response), Math.random() * millis_max)
}

/** Never answers. */
export const silent: Manner = () => {}

/** Answers that it took what it is told, and goes on answering as fast as it is read. */
export const endless: Manner = (response) => {
  const chunk = Buffer.alloc(16_384, "x")
  const pour = (): void => {
    while (!response.destroyed && response.write(chunk)) { /* until the socket is full */ }
  }
  response.writeHead(200).on("drain", pour)
  pour()
}

const Created = Schema.fromJsonString(Schema.Struct({
  data: Schema.Struct({ id: Schema.String, signing_secret: Schema.String })
}))

const textOf = (request: IncomingMessage, take: (text: string) => void): void => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk)).once("end", () => take(Buffer.concat(chunks).toString()))
}

const fits = (secret: string, body: string, request: IncomingMessage): boolean => {
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

/** Subscribes to some types of events for as long as the scope lasts. */
export const subscriber = Effect.fnUntraced(function*(
  server: Processes.Server,
  key: string,
  options: { readonly event_types: ReadonlyArray<string>; readonly manner: Manner }
) {
  const clock = yield* Clock.Clock
  const heard: Array<Heard> = []
  const forged: Array<string> = []
  // Set before the first event is raised: nobody is told of a webhook that is not created.
  let secret = ""
  const url = yield* answering((request, response) =>
    textOf(request, (body) => {
      if (!fits(secret, body, request)) {
        forged.push(body)
        return response.writeHead(401).end()
      }
      heard.push({ event_id: String(request.headers["webhook-id"]), body, at: clock.currentTimeMillisUnsafe() })
      options.manner(response)
    })
  )
  const json = { url, event_types: options.event_types }
  const { text } = yield* Processes.request(server, "POST", "/webhooks", { key, json })
  const { data } = yield* Schema.decodeUnknownEffect(Created)(text)
  secret = data.signing_secret
  return { webhook_id: data.id, heard, forged } satisfies Subscriber
})
