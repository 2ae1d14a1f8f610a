import type { IncomingMessage, RequestListener } from "node:http"
import { Webhook } from "standardwebhooks"

/** The fields of every event. Read the current message or send with the IDs in `data`. */
export interface Event {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly data: { readonly conversation_id: string }
}

/** The largest events, with their resource, have about a megabyte. */
const body_bytes_max = 2_000_000

/** Reads a body as text. The signature covers the received bytes: JSON that is parsed and printed again can differ. */
const textOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength
    if (bytes > body_bytes_max) throw new Error("The body is too large.")
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Returns a listener that verifies each webhook request, handles its event once, and then responds with a 2xx. */
export const receiver = (signing_secret: string, handle: (event: Event) => Promise<void>): RequestListener => {
  const webhook = new Webhook(signing_secret)
  // In your application: a table with a unique key, written in one transaction with the changes of the handler.
  const handled = new Map<string, Promise<void>>()

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
    const event = verify(await textOf(request), request.headers)
    if (event === null) return 401
    // The service repeats an event, with the same ID, if the response is lost or takes longer than 15 seconds. So the first
    // handler can still be running.
    const handling = handled.get(event.id) ?? handle(event)
    handled.set(event.id, handling)
    await handling.catch((error: unknown) => {
      handled.delete(event.id)
      throw error
    })
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
