/** Verifies webhooks according to Standard Webhooks. */
import { createHmac, timingSafeEqual } from "node:crypto"

/** The maximum age of a request, and of its clock's difference, in seconds. */
const tolerance_seconds = 300

/** Returns whether a request is from the service, and was sent at most five minutes ago. A header can have several signatures. */
export const isSigned = (
  secret: string,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: Uint8Array,
  now_millis: number
): boolean => {
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    headers[name]
  )
  if (typeof id !== "string" || typeof timestamp !== "string" || typeof signatures !== "string") return false
  if (!/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(now_millis / 1000 - Number(timestamp)) > tolerance_seconds) return false
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64")
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest()
  return signatures.split(" ").some((signature) => {
    const [version, text = ""] = signature.split(",")
    const given = Buffer.from(text, "base64")
    return version === "v1" && given.byteLength === expected.byteLength && timingSafeEqual(given, expected)
  })
}
