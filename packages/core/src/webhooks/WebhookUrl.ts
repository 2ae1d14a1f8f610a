/** Webhook URLs: which URLs a webhook may have, and their stored form (contract §14). */
import { Result } from "effect"
import { limits } from "../kernel/Limits.ts"

const invisible = /[\p{White_Space}\p{Cc}]/u
const web = /^https?:\/\/[^/\\]/i
const other_protocol = /^(?!https?:)[a-z][a-z0-9+.-]*:\/\//i
const userinfo = /^https?:\/\/[^/\\?#]*@/i
const name = /^(?=.{1,253}\.?$)(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?$/
const internal = /(?:^|\.)(?:localhost|local|internal|home\.arpa|onion)\.?$/
const undotted = /^[^.]+\.?$/
const ipv4 = /^[0-9]+(?:\.[0-9]+){3}$/

/**
 * Returns a host that is an IP address, or null for a name.
 *
 * The URL parser has already converted every form of IPv4 to dotted decimals.
 */
const addressOf = (hostname: string): string | null => {
  if (hostname.startsWith("[")) return hostname.slice(1, -1)
  return ipv4.test(hostname) ? hostname : null
}

const too_long = `The URL must have at most ${limits.url_chars_max} characters, even after percent-encoding.`

/** Percent-encodes what a URI cannot have in its path or query, and WHATWG URL leaves as it is: `|`, `[`, or a lone `%`. */
const percentEncode = (text: string): string =>
  text.replace(/%(?![0-9a-f]{2})|[^\w.~!$&'()*+,;=:@/?%-]/gi, (character) => encodeURIComponent(character))

/**
 * Returns a webhook's URL as it is stored, which is a URI: its serialization in ASCII by
 * WHATWG URL, with what that leaves unescaped; or why a webhook may not have it, as a sentence for the API's client.
 *
 * Only the text is checked, once, when the webhook is created. The transport
 * checks the resolved addresses at every connect, because they may change. With
 * allowed addresses, http and names of private networks are accepted here too;
 * the transport then connects to allowed addresses only.
 */
export const parseUrl = (
  text: string,
  allowed: ((address: string) => boolean) | null
): Result.Result<string, string> => {
  const reason = rejectionOf(text, allowed)
  if (reason !== null) return Result.fail(reason)
  const { origin, pathname, search } = new URL(text)
  const href = `${origin}${percentEncode(pathname)}${percentEncode(search)}`
  return href.length > limits.url_chars_max ? Result.fail(too_long) : Result.succeed(href)
}

const rejectionOf = (text: string, allowed: ((address: string) => boolean) | null): string | null => {
  if (Array.from(text).length > limits.url_chars_max) return too_long
  if (other_protocol.test(text)) return `The URL must begin with https://${allowed === null ? "" : " or http://"}.`
  // These checks use the text, because the parser drops white space, repairs slashes, and removes an empty user or fragment.
  const url = invisible.test(text) || !web.test(text) ? null : URL.parse(text)
  if (url === null) return "The URL must be absolute, such as https://example.com/webhooks."
  if (url.protocol !== "https:" && allowed === null) return "The URL must begin with https://."
  if (userinfo.test(text)) return "The URL must not contain a user name or password."
  if (text.includes("#")) return "The URL must not have a fragment."
  if (url.port !== "" && Number(url.port) < 1024) return "The port of the URL must be 443, or 1024 or higher."
  const address = addressOf(url.hostname)
  if (address !== null) {
    return allowed?.(address) === true ? null : "The URL must name a host, not an IP address."
  }
  if (!name.test(url.hostname)) return "The host of the URL must be a domain name."
  if (allowed === null && (undotted.test(url.hostname) || internal.test(url.hostname))) {
    return "The host of the URL must be a public domain name."
  }
  return null
}
