import { Context } from "effect"
import type { MemberId, OrganizationId } from "./Ids.ts"

/**
 * The organization whose data an operation reads and writes, and the member for
 * whom the API key acts (contract §4.1). `member_id` is null for an operator at
 * the command line.
 */
export interface Actor {
  readonly organization_id: OrganizationId
  readonly member_id: MemberId | null
}

/**
 * The actor of the current request.
 *
 * Every operation on an organization's data requires it, so a call that does
 * not provide an organization does not compile.
 */
export class CurrentActor extends Context.Service<CurrentActor, Actor>()("@messaging-crm/core/Actor/CurrentActor") {}
