import { Context } from "effect"
import type { ApiKeyId, MemberId, OrganizationId } from "./Ids.ts"

/**
 * The organization whose data an operation reads and writes, and who carries it
 * out: an API key, and the member for whom it acts (contract §4.1).
 *
 * `member_id` is null and `key_id` is absent for an operator at the command line.
 */
export interface Actor {
  readonly organization_id: OrganizationId
  readonly member_id: MemberId | null
  readonly key_id?: ApiKeyId
}

/**
 * The actor of the current request.
 *
 * Every operation on an organization's data requires it, so a call that does
 * not provide an organization does not compile.
 */
export class CurrentActor extends Context.Service<CurrentActor, Actor>()("@messaging-crm/core/Actor/CurrentActor") {}

/** The id of the current request, as in its `X-Request-Id` header; null outside of a request. */
export const RequestId = Context.Reference<string | null>("@messaging-crm/core/Actor/RequestId", {
  defaultValue: () => null
})
