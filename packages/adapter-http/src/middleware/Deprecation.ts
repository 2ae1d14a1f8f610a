import type { Deprecation } from "@messaging-crm/core/Operations"

/** Returns the headers of every response of a deprecated operation: `Deprecation` (RFC 9745) and `Sunset` (RFC 8594). */
export const headersOf = ({ since, sunset }: Deprecation): Readonly<Record<string, string>> => ({
  deprecation: `@${Date.parse(since) / 1000}`,
  ...(sunset === null ? {} : { sunset: new Date(sunset).toUTCString() })
})
