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

/** Returns what takes webhooks in: verified, answered at once, and each event handled once. */
export const receiver = (signing_secret: string, handle: (event: Event) => void): RequestListener => {
  const webhook = new Webhook(signing_secret)
  // In your app: a table with a unique key, written in one transaction with the work that the event means.
  const seen = new Set<string>()

  return async (request, response) => {
    // The bytes as they came: a body that was parsed and printed again has another signature.
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
    // An answer that is lost on its way makes the service post the event again, with the same id.
    const isRepeat = seen.has(id)
    seen.add(id)
    // At once: after 15 seconds the attempt counts as failed.
    response.writeHead(200).end()
    if (!isRepeat) handle(JSON.parse(body))
  }
}
