import { assert, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { clientAddress, ipNetworkOf, siteOf, TrustedProxies } from "../src/middleware/ClientAddress.ts"

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
        ["10.0.0.1", " , ", "10.0.0.1"],
        ["10.0.0.1", "198.51.100.1:4711", "198.51.100.1"],
        ["10.0.0.1", "[2001:db8::1]:4711", "2001:db8::1"]
      ] as const
    ) {
      assert.strictEqual(yield* addressOf(peer, forwarded), expected)
    }
  }))

it("the network of a client is its IPv4 address, or the first 64 bits of its IPv6 address, however that is written", () => {
  const networks = {
    "203.0.113.9": ["203.0.113.9"],
    "2001:db8:0:1": [
      "2001:db8:0:1::",
      "2001:db8::1:0:0:0:9",
      "2001:0DB8:0000:0001:ffff:1:2:3",
      "2001:db8:0:1::203.0.113.9"
    ],
    "2001:db8:0:2": ["2001:db8:0:2::9"],
    "0:0:0:0": ["::", "::1"],
    "2001:db8:0:3": ["2001:db8::3:2:3:203.0.113.9"],
    "fe80:0:0:0": ["fe80::1%eth0"],
    "64:ff9b::203.0.113.9": ["64:ff9b::203.0.113.9"],
    "::ffff:cb00:7109": ["::ffff:cb00:7109"]
  }
  for (const [network, addresses] of Object.entries(networks)) {
    assert.deepStrictEqual(addresses.map(ipNetworkOf), addresses.map(() => network))
  }
})

it("the site of a client is its IPv4 address, or the first 48 bits of its IPv6 address", () => {
  const sites = {
    "203.0.113.9": ["203.0.113.9"],
    "2001:db8:0": ["2001:db8:0:1::", "2001:db8::ffff:1:2:3:4", "2001:db8::"],
    "2001:db8:1": ["2001:db8:1::"],
    "64:ff9b::203.0.113.9": ["64:ff9b::203.0.113.9"]
  }
  for (const [site, addresses] of Object.entries(sites)) {
    assert.deepStrictEqual(addresses.map(siteOf), addresses.map(() => site))
  }
})

it("a text of a header that is no address is read in one pass", () => {
  // With a pattern that backtracks, this takes a minute.
  assert.strictEqual(ipNetworkOf(`:${".".repeat(100_000)}x`), "NaN:NaN:0:0")
})
