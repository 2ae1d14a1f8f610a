/** Requests to the API of a server. */
import { Effect } from "effect"
import * as Network from "./Network.ts"
import type { Server } from "./Servers.ts"

export interface Response {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Sends one request. Fails when the connection does. */
export const request = (
  server: Server,
  method: "GET" | "PATCH" | "POST",
  path: string,
  options: { readonly key: string; readonly json?: unknown; readonly idempotency_key?: string }
) =>
  Effect.tryPromise(async (signal): Promise<Response> => {
    const headers = new Headers({ authorization: `Bearer ${options.key}` })
    if (options.idempotency_key !== undefined) headers.set("idempotency-key", options.idempotency_key)
    if (options.json !== undefined) headers.set("content-type", "application/json")
    const body = options.json === undefined ? null : JSON.stringify(options.json)
    const init = body === null ? { method, headers, signal } : { method, headers, signal, body }
    const response = await fetch(`${server.url}/v1${path}`, init)
    return { status: response.status, headers: response.headers, text: await response.text() }
  })

/** Returns the body of a request that starts a conversation with a number. */
export const newConversation = (
  channel_id: string,
  phone: string,
  name: string,
  template_id: string = Network.template_id
) => ({
  channel_id,
  phone,
  template: {
    id: template_id,
    components: [
      { type: "header", parameters: [{ type: "text", text: "1" }] },
      { type: "body", parameters: [{ type: "text", text: name }, { type: "text", text: "1" }] },
      { type: "button", sub_type: "url", index: 0, parameters: [{ type: "text", text: "1" }] }
    ]
  }
})
