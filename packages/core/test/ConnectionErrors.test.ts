import { assert, it } from "@effect/vitest"
import { isUnconnected } from "@messaging-crm/core/ConnectionErrors"

const errorOf = (code: string) => new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) })

it("an error before a connection proves that nothing was sent", () => {
  for (const code of ["CERT_HAS_EXPIRED", "EAI_AGAIN", "ECONNREFUSED", "ENOTFOUND", "UND_ERR_CONNECT_TIMEOUT"]) {
    assert.isTrue(isUnconnected(errorOf(code)), code)
  }
})

it("an error of an established connection proves nothing", () => {
  const codes = [
    "ECONNABORTED",
    "ECONNRESET",
    "EPIPE",
    "ETIMEDOUT",
    "HPE_INVALID_CONSTANT",
    "UND_ERR_ABORTED",
    "UND_ERR_BODY_TIMEOUT",
    "UND_ERR_HEADERS_TIMEOUT",
    "UND_ERR_SOCKET"
  ]
  for (const code of codes) assert.isFalse(isUnconnected(errorOf(code)), code)
  for (const other of [undefined, null, "ECONNREFUSED", new Error("ECONNREFUSED")]) assert.isFalse(isUnconnected(other))
})
