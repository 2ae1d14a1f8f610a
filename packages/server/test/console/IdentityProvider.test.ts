/** Requests to an identity provider with TLS. */
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { afterEach, vi } from "vitest"
import * as IdentityProvider from "../../src/console/IdentityProvider.ts"

afterEach(() => void vi.unstubAllGlobals())

const issuer = "https://login.example"

/** Answers every request as a provider whose configuration has the given token endpoint. Returns the requested addresses. */
const serve = (token_endpoint: string) => {
  const requested: Array<string> = []
  vi.stubGlobal("fetch", async (address: string | URL) => {
    requested.push(String(address))
    return Response.json({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ["code"]
    })
  })
  return requested
}

for (
  const [token_endpoint, isRequested] of [["https://login.example/token", true], [
    "http://login.example/token",
    false
  ]] as const
) {
  it.effect(`${isRequested ? "reach" : "never reach"} ${token_endpoint}`, () =>
    Effect.gen(function*() {
      const requested = serve(token_endpoint)
      const provider = yield* IdentityProvider.make({
        issuer,
        client_id: "console",
        client_secret: Redacted.make("secret"),
        redirect_uri: "https://crm.example/callback",
        post_logout_redirect_uri: "https://crm.example/"
      })
      const { attempt } = yield* provider.begin({ again: false })
      const query = `?code=1&state=${attempt.state}&iss=${encodeURIComponent(issuer)}`
      yield* Effect.flip(provider.complete(attempt, query))
      assert.deepStrictEqual(requested.slice(1), isRequested ? [token_endpoint] : [])
    }))
}
