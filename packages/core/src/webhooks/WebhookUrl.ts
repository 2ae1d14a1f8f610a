import { Result } from "effect"
import { limits } from "../kernel/Limits.ts"

const invisible = /[\p{White_Space}\p{Cc}]/u
const web = /^https?:\/\/[^/\\]/i
const userinfo = /^https?:\/\/[^/\\?#]*@/i
const name = /^(?=.{1,253}\.?$)(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?$/
const internal = /(?:^|\.)(?:localhost|local|internal|home\.arpa|onion)\.?$/
const undotted = /^[^.]+\.?$/
const ipv4 = /^[0-9]+(?:\.[0-9]+){3}$/

/** Returns the address that a host is written as, or null when it is a name. The parser has put every spelling of IPv4 in dots. */
const literal = (hostname: string): string | null => {
  if (hostname.startsWith("[")) return hostname.slice(1, -1)
  return ipv4.test(hostname) ? hostname : null
}

const tooLong = `The URL must have at most ${limits.url_chars_max} characters, also when it is percent-encoded.`

/**
 * Returns a webhook's URL as it is kept: as WHATWG URL writes it, in ASCII; or why
 * a webhook may not have it, as a sentence for its integrator.
 *
 * What can be told from the text alone is told here, once, at creation. What a
 * name resolves to is checked at each connect, by the transport: it may change.
 * With allowed addresses, http and names of private networks pass here too, and
 * are then connected to at an allowed address only.
 */
export const accepted = (
  text: string,
  allowed: ((address: string) => boolean) | null
): Result.Result<string, string> => {
  const reason = refusalOf(text, allowed)
  if (reason !== null) return Result.fail(reason)
  const { href } = new URL(text)
  return href.length > limits.url_chars_max ? Result.fail(tooLong) : Result.succeed(href)
}

const refusalOf = (text: string, allowed: ((address: string) => boolean) | null): string | null => {
  if (Array.from(text).length > limits.url_chars_max) return tooLong
  // The parser would drop white space, repair slashes, and forget an empty user or fragment.
  const url = invisible.test(text) || !web.test(text) ? null : URL.parse(text)
  if (url === null) return "The URL must be absolute, such as https://example.com/webhooks."
  if (url.protocol !== "https:" && allowed === null) return "The URL must begin with https://."
  if (userinfo.test(text)) return "The URL must not hold a user name or password."
  if (text.includes("#")) return "The URL must not have a fragment."
  if (url.port !== "" && Number(url.port) < 1024) return "The port of the URL must be 443, or 1024 and above."
  const address = literal(url.hostname)
  if (address !== null) {
    return allowed?.(address) === true ? null : "The URL must name a host, not an IP address."
  }
  if (!name.test(url.hostname)) return "The host of the URL must be a domain name."
  if (allowed === null && (undotted.test(url.hostname) || internal.test(url.hostname))) {
    return "The host of the URL must be a public domain name."
  }
  return null
}
