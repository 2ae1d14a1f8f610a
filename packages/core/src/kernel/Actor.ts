import { Context } from "effect"
import type { MemberId, OrganizationId } from "./Ids.ts"

/**
 * Who is asking: the organization whose data is in view, and the member a key
 * acts for (contract §4.1). `member_id` is null for an operator at the command line.
 */
export interface Actor {
  readonly organization_id: OrganizationId
  readonly member_id: MemberId | null
}

/**
 * The actor of the current request.
 *
 * Every operation that touches organization data lists it among its
 * requirements, so forgetting to say whose data is meant does not compile.
 */
export class CurrentActor extends Context.Service<CurrentActor, Actor>()("@messaging-crm/core/Actor/CurrentActor") {}
