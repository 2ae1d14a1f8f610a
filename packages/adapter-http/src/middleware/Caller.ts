/** The caller of the current request, for the log line and the span around its authentication. */
import type { Actor } from "@messaging-crm/core/Actor"
import { Context, Effect } from "effect"

/** The IDs of the organization, and of the key or of the member without one; empty until the request is authenticated. */
type CallerIds = Partial<Record<"key_id" | "member_id" | "organization_id", string>>

/** The caller of the current request: one object, which authentication fills. It is not read outside of a request. */
export const Caller = Context.Reference<CallerIds>("@messaging-crm/adapter-http/middleware/Caller", {
  defaultValue: () => ({})
})

/** Names the caller in the log entries and on the span of the current request. */
export const identify = (
  { key_id, member_id, organization_id }: Pick<Actor, "key_id" | "organization_id"> & Partial<Pick<Actor, "member_id">>
): Effect.Effect<void> =>
  Effect.flatMap(Caller, (caller) => {
    const own = key_id === undefined ? typeof member_id === "string" ? { member_id } : {} : { key_id }
    const ids = { organization_id, ...own }
    Object.assign(caller, ids)
    return Effect.annotateCurrentSpan(ids)
  })
