/** Signs and verifies webhooks according to Standard Webhooks, with Web Crypto. */
import { isObject, parse } from "./Attempt.ts"
import type { WebhookEvent } from "./Events.ts"

/** The request has no valid signature, or was signed too long ago. */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError"
  readonly reason:
    | "missing_header"
    | "malformed_timestamp"
    | "wrong_secret_format"
    | "too_old"
    | "too_new"
    | "wrong_signature"
    | "not_json"

  constructor(reason: WebhookVerificationError["reason"], message: string) {
    super(message)
    this.reason = reason
  }
}

type HeaderValue = string | ReadonlyArray<string> | null | undefined

interface HeadersWithGet {
  readonly get: (name: string) => HeaderValue
}

/** The headers of a request, in the form of any framework: with a method `get`, such as `Headers`, or a record. */
export type WebhookHeaders = HeadersWithGet | Readonly<Record<string, HeaderValue>>

const hasGet = (headers: WebhookHeaders): headers is HeadersWithGet => typeof headers.get === "function"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const headerOf = (headers: WebhookHeaders, name: string): string => {
  const value = hasGet(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  // `Headers` joins several values in this way too.
  const text = Array.isArray(value) ? value.join(", ") : value
  if (typeof text === "string" && text !== "") return text
  throw new WebhookVerificationError("missing_header", `The request has no ${name} header.`)
}

const fromBase64 = (text: string): Uint8Array<ArrayBuffer> | null => {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return null
  }
}

const keyOf = (secret: string): Promise<CryptoKey> => {
  const bytes = fromBase64(secret.replace(/^whsec_/, ""))
  if (bytes === null || bytes.byteLength === 0) {
    throw new WebhookVerificationError("wrong_secret_format", "The signing secret must be `whsec_` followed by base64.")
  }
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"])
}

const signedBytes = (id: string, timestamp: string, payload: Uint8Array): Uint8Array<ArrayBuffer> => {
  const head = encoder.encode(`${id}.${timestamp}.`)
  const bytes = new Uint8Array(head.byteLength + payload.byteLength)
  bytes.set(head)
  bytes.set(payload, head.byteLength)
  return bytes
}

/** Without types, a body that a framework has parsed can be given too. */
const bytesOf = (payload: string | Uint8Array): Uint8Array => {
  if (typeof payload === "string") return encoder.encode(payload)
  // A `Uint8Array` of another realm is no instance of this one's class.
  if (ArrayBuffer.isView(payload)) return new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength)
  throw new TypeError("payload must be the raw body as a string or Uint8Array, before it is parsed.")
}

const checkTime = (timestamp: string, tolerance: number): void => {
  if (!/^[0-9]{1,15}$/.test(timestamp)) {
    throw new WebhookVerificationError(
      "malformed_timestamp",
      "The webhook-timestamp header is not a number of seconds."
    )
  }
  const age = Math.floor(Date.now() / 1000) - Number(timestamp)
  if (age >= -tolerance && age <= tolerance) return
  const reason = age < 0 ? "too_new" : "too_old"
  throw new WebhookVerificationError(reason, `The request was not signed within ${tolerance} seconds of now.`)
}

/**
 * Verifies a request to your webhook and returns its event.
 *
 * - `payload` is the raw body, before it is parsed.
 * - `secret` is the `signing_secret` of the webhook. Of several secrets, and of
 *   several signatures in the request, one valid pair is enough.
 * - `tolerance` is the maximum age of a signature, 300 seconds by default.
 *
 * Signatures are compared in constant time. An event may be delivered again:
 * store its `id` to process it only once.
 */
export const verifyWebhook = async (request: {
  readonly payload: string | Uint8Array
  readonly headers: WebhookHeaders
  readonly secret: string | ReadonlyArray<string>
  readonly tolerance?: number
}): Promise<WebhookEvent> => {
  const { headers, secret, tolerance = 300 } = request
  const payload = bytesOf(request.payload)
  const id = headerOf(headers, "webhook-id")
  const timestamp = headerOf(headers, "webhook-timestamp")
  const given = headerOf(headers, "webhook-signature").split(" ")
  checkTime(timestamp, tolerance)
  const keys = await Promise.all((typeof secret === "string" ? [secret] : secret).map(keyOf))
  const signatures = given.flatMap((each) => each.startsWith("v1,") ? fromBase64(each.slice(3)) ?? [] : [])
  const bytes = signedBytes(id, timestamp, payload)
  const verdicts = await Promise.all(
    keys.flatMap((key) => signatures.map((signature) => crypto.subtle.verify("HMAC", key, signature, bytes)))
  )
  if (!verdicts.includes(true)) {
    throw new WebhookVerificationError(
      "wrong_signature",
      "No signature is valid. Verify the raw body, before it is parsed."
    )
  }
  const event = parse(decoder.decode(payload))
  if (!isObject(event)) throw new WebhookVerificationError("not_json", "The signed body is not a JSON object.")
  // The service has signed it.
  return event as unknown as WebhookEvent
}

/** Returns the signature headers for a body, as the service would send them. For tests of your own handler. */
export const signWebhook = async (request: {
  readonly payload: string | Uint8Array
  readonly secret: string
  readonly id?: string
  readonly timestamp?: Date
}): Promise<Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string>> => {
  const { id = crypto.randomUUID(), timestamp = new Date() } = request
  const seconds = String(Math.floor(timestamp.getTime() / 1000))
  const bytes = signedBytes(id, seconds, bytesOf(request.payload))
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", await keyOf(request.secret), bytes))
  return {
    "webhook-id": id,
    "webhook-timestamp": seconds,
    "webhook-signature": `v1,${btoa(String.fromCharCode(...signature))}`
  }
}
