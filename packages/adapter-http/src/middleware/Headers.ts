import { Context, Effect } from "effect"

/**
 * The headers of the response to the current request, even if that is an error: one object, which each step adds to.
 * It is not read outside of a request.
 */
export const ResponseHeaders = Context.Reference<Record<string, string>>(
  "@messaging-crm/adapter-http/middleware/Headers/ResponseHeaders",
  { defaultValue: () => ({}) }
)

/** Adds headers to the response to the current request. */
export const addResponseHeaders = (headers: Readonly<Record<string, string>>): Effect.Effect<void> =>
  Effect.map(ResponseHeaders, (all) => void Object.assign(all, headers))
