import { assert, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { clientAddress, TrustedProxies } from "../src/middleware/ClientAddress.ts"

const addressOf = (peer: string, forwarded?: string) => {
  const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded }
  const request = HttpServerRequest.fromWeb(new Request("http://crm.example/", { headers }))
  return clientAddress.pipe(
    Effect.provideService(HttpServerRequest.HttpServerRequest, request.modify({ remoteAddress: Option.some(peer) })),
    Effect.provideService(TrustedProxies, (address) => address.startsWith("10."))
  )
}

it.effect("the client is the last address that no trusted proxy has", () =>
  Effect.gen(function*() {
    for (
      const [peer, forwarded, expected] of [
        ["203.0.113.9", undefined, "203.0.113.9"],
        ["203.0.113.9", "198.51.100.1", "203.0.113.9"],
        ["10.0.0.1", "198.51.100.1", "198.51.100.1"],
        ["::ffff:10.0.0.1", "192.0.2.1, 198.51.100.1, 10.0.0.2", "198.51.100.1"],
        ["10.0.0.1", "10.0.0.3", "10.0.0.1"],
        ["10.0.0.1", undefined, "10.0.0.1"],
        ["10.0.0.1", " , ", "10.0.0.1"]
      ] as const
    ) {
      assert.strictEqual(yield* addressOf(peer, forwarded), expected)
    }
  }))
