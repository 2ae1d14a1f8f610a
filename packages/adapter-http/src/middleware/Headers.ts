import { Context, Effect } from "effect"

/**
 * The headers of whatever the answer to the current request will be, refusals
 * and defects included: one bag, filled on the way. Outside of a request nobody reads it.
 */
export const ResponseHeaders = Context.Reference<Record<string, string>>(
  "@messaging-crm/adapter-http/middleware/Headers/ResponseHeaders",
  { defaultValue: () => ({}) }
)

/** Puts headers on the answer to the current request. */
export const addResponseHeaders = (headers: Readonly<Record<string, string>>): Effect.Effect<void> =>
  Effect.map(ResponseHeaders, (all) => void Object.assign(all, headers))
