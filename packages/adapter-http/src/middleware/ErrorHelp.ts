/** Links from errors to their documentation. */
import { Context } from "effect"
import type { HttpServerResponse } from "effect/http"
import { errorCodeOf } from "../api/ErrorCode.ts"

/** Reference for the URL of the published guides, without a slash at its end; null if errors have no link. */
export const DocsUrl = Context.Reference<string | null>("@messaging-crm/adapter-http/middleware/ErrorHelp/DocsUrl", {
  defaultValue: () => null
})

/** Returns the header of an error that links to the description of its code; none for other responses. */
export const helpOf = (
  docs_url: string | null,
  response: HttpServerResponse.HttpServerResponse
): Readonly<Record<string, string>> => {
  const code = docs_url === null ? null : errorCodeOf(response)
  return code === null ? {} : { link: `<${docs_url}/contract.html#error-${code}>; rel="help"` }
}
