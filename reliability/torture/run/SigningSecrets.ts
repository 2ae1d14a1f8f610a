/** The signing secrets that responses contain, with which the endpoints check signatures. */
import type { Call } from "../History.ts"

/** The part of a response that contains a signing secret. */
interface WithSecret {
  readonly data?: { readonly url?: string; readonly signing_secret?: string }
}

/**
 * Returns a function from an endpoint to its signing secrets. It returns null if a secret can be missing, because its creation
 * got no response, or because a rotation got none, whose webhook could be any.
 */
export const signingSecrets = (calls: ReadonlyArray<Call>) => {
  const requests = Map.groupBy(
    calls.filter(({ operation }) => operation === "webhooks.create" || operation === "webhooks.rotate_secret"),
    ({ index, organization, request }) => `${organization} ${request.idempotency_key ?? index}`
  )
  const responses = Array.from(requests.values(), (attempts) => ({
    request: attempts[0]?.request,
    // A repetition of a completed request can lack a response of its own.
    response: attempts.find(({ response }) => response !== null && response.status < 500 && response.status !== 401)
      ?.response
  }))
  const shown = responses.flatMap(({ response }) => (response?.body as WithSecret | undefined)?.data ?? []) // the API's body
  const pending = responses.filter(({ response }) => response === undefined).map(({ request }) =>
    JSON.stringify(request?.body)
  )
  return (endpoint: string): ReadonlyArray<string> | null =>
    pending.some((body) => body === "null" || body?.includes(`${endpoint}"`) === true)
      ? null
      : shown.flatMap(({ signing_secret, url }) =>
        url?.endsWith(endpoint) === true && signing_secret !== undefined ? [signing_secret] : []
      )
}
