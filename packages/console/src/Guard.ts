/** Rejects requests from other origins, and for host names that are not configured (DNS rebinding). */

/** Returns the host name of a `Host` header or of an origin, without the port; null if it is invalid. */
const hostNameOf = (url: string): string | null => URL.canParse(url) ? new URL(url).hostname : null

/**
 * Returns why a request is rejected, or null.
 *
 * The host name must be one of `hosts`: any other name that resolves to this address is DNS rebinding. A request that
 * a page of another origin sends is rejected, by its `Origin` and `Sec-Fetch-Site` headers. Navigation to
 * the page itself is allowed from anywhere.
 */
export const rejectionOf = (request: Request, hosts: ReadonlyArray<string>): string | null => {
  const host = request.headers.get("host") ?? new URL(request.url).host
  const name = hostNameOf(`http://${host}`)
  if (name === null || !hosts.includes(name)) {
    return `The host name is not allowed. Use one of: ${hosts.join(", ")}.`
  }
  const origin = request.headers.get("origin")
  const isCrossOrigin = origin !== null && (!URL.canParse(origin) || new URL(origin).host !== host)
  const isNavigation = request.method === "GET" && request.headers.get("sec-fetch-mode") === "navigate"
  const site = request.headers.get("sec-fetch-site") ?? "none"
  if (isCrossOrigin || (!isNavigation && site !== "none" && site !== "same-origin")) {
    return "Requests from other origins are not allowed."
  }
  // Every browser sends the header with a write.
  return request.method !== "GET" && origin === null ? "The Origin header is missing." : null
}
