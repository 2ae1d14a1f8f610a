import type { IncomingMessage, RequestListener } from "node:http"
import { text } from "node:stream/consumers"
import { Webhook } from "standardwebhooks"

/** The fields of every event. Read the current message or send with the IDs in `data`. */
export interface Event {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly data: { readonly conversation_id: string }
}

const headerOf = ({ headers }: IncomingMessage, name: string) => String(headers[name] ?? "")

/** Returns a listener that verifies each webhook request, responds at once, and handles each event once. */
export const receiver = (signing_secret: string, handle: (event: Event) => void): RequestListener => {
  const webhook = new Webhook(signing_secret)
  // In your application: a table with a unique key, written in one transaction with the changes of the handler.
  const seen = new Set<string>()

  return async (request, response) => {
    // The signature covers the received bytes. JSON that is parsed and printed again can differ.
    const body = await text(request)
    const id = headerOf(request, "webhook-id")
    try {
      webhook.verify(body, {
        "webhook-id": id,
        "webhook-timestamp": headerOf(request, "webhook-timestamp"),
        "webhook-signature": headerOf(request, "webhook-signature")
      })
    } catch {
      return void response.writeHead(401).end()
    }
    // If the response is lost, the service posts the event again with the same ID.
    const isRepeat = seen.has(id)
    seen.add(id)
    // The response must not wait for the handler: an attempt fails after 15 seconds.
    response.writeHead(200).end()
    if (!isRepeat) handle(JSON.parse(body))
  }
}
