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

/** Returns a listener that verifies each webhook request, handles its event once, and then responds with a 2xx. */
export const receiver = (signing_secret: string, handle: (event: Event) => Promise<void>): RequestListener => {
  const webhook = new Webhook(signing_secret)
  // In your application: a table with a unique key, written in one transaction with the changes of the handler.
  const handled = new Set<string>()

  const verify = (body: string, headers: IncomingMessage["headers"]): Event | null => {
    try {
      // Only `set-cookie` can be a list, and the service sends none. A signed body is an event.
      return webhook.verify(body, headers as Record<string, string>) as Event
    } catch {
      return null
    }
  }

  /** Returns the status of the response, or rejects if the handler fails. */
  const receive = async (request: IncomingMessage): Promise<number> => {
    // The signature covers the received bytes. JSON that is parsed and printed again can differ.
    const event = verify(await text(request), request.headers)
    if (event === null) return 401
    // If the response is lost, the service posts the event again with the same ID.
    if (!handled.has(event.id)) {
      await handle(event)
      handled.add(event.id)
    }
    return 204
  }

  return async (request, response) => {
    const status = await receive(request).catch((error: unknown) => {
      console.error("The event was not handled:", error)
      // The service posts the event again.
      return 500
    })
    response.writeHead(status).end()
  }
}
