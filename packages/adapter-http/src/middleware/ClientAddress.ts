/** The IP address of a client, even behind reverse proxies. */
import { Context, Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"

/** Whether an address is a reverse proxy's, whose `X-Forwarded-For` is believed. None by default. */
export const TrustedProxies = Context.Reference<(address: string) => boolean>(
  "@messaging-crm/adapter-http/middleware/ClientAddress/TrustedProxies",
  { defaultValue: () => () => false }
)

/**
 * Returns an address alone. Node writes an IPv4 address as an IPv6 address on a socket that accepts both, and some proxies
 * add the port.
 */
const plain = (address: string): string =>
  address
    .replace(/^\[([^\]]*)\](?::\d+)?$/, "$1")
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1")
    .replace(/^::ffff:(?=\d+\.)/i, "")

/** IPv6 addresses that contain an IPv4 address: of a socket that accepts both, and of a translator. */
const embedding = /^(?:::ffff:|64:ff9b::)/i

/**
 * Returns the address of the connection, or the last address in `X-Forwarded-For` that no trusted proxy has. Addresses
 * before that one come from the client itself. Null for a server without addresses.
 */
export const clientAddress = Effect.gen(function*() {
  const isTrusted = yield* TrustedProxies
  const { headers, remoteAddress } = yield* HttpServerRequest.HttpServerRequest
  const peer = Option.getOrNull(Option.map(remoteAddress, plain))
  if (peer === null || !isTrusted(peer)) return peer
  const forwarded = (headers["x-forwarded-for"] ?? "").split(",").map((each) => plain(each.trim())).filter(Boolean)
  return forwarded.findLast((address) => !isTrusted(address)) ?? peer
})

/** Returns an IPv4 address, or the first groups of 16 bits of an IPv6 address. */
const prefixOf = (address: string, groups: number): string => {
  if (!address.includes(":") || embedding.test(address)) return address
  // The last two groups can be written as an IPv4 address.
  const [head = [], tail = []] = address.replace(/:\d+\.\d+\.\d+\.\d+$/, ":0:0").split("::").map((part) =>
    part === "" ? [] : part.split(":")
  )
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => "0")
  return [...head, ...zeros, ...tail].slice(0, groups).map((group) => Number.parseInt(group, 16).toString(16)).join(":")
}

/**
 * Returns what one client can have to itself: a whole IPv4 address, or the first 64 bits of an IPv6 address, because a host
 * can use any address within them.
 */
export const ipNetworkOf = (address: string): string => prefixOf(address, 4)

/**
 * Returns what one customer of an internet provider can have: a whole IPv4 address, or the first 48 bits of an IPv6 address, which contain 65,536
 * networks (RFC 6177).
 */
export const siteOf = (address: string): string => prefixOf(address, 3)
