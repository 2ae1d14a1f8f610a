import { Context, Schema } from "effect"
import type { ApiKeyId, MemberId, OrganizationId } from "./Ids.ts"

/** Schema for a permission of an API key: each operation of the REST API requires exactly one scope. */
export const Scope = Schema.Literals([
  "contacts:read",
  "contacts:write",
  "conversations:read",
  "conversations:write",
  "messages:send",
  "templates:read",
  "members:read",
  "tags:read",
  "webhooks:manage"
])
export type Scope = typeof Scope.Type

/**
 * The organization whose data an operation reads and writes, and the caller: an API
 * key, and the member for whom it acts (contract §4.1).
 *
 * `member_id` is null for an operator at the command line. `key_id` is absent without an API key. `scopes` are absent for
 * an operator, who can run every operation. A member with a session has scopes and no key.
 */
export interface Actor {
  readonly organization_id: OrganizationId
  readonly member_id: MemberId | null
  readonly key_id?: ApiKeyId
  readonly scopes?: ReadonlyArray<Scope>
}

/**
 * The actor of the current request.
 *
 * Every operation on an organization's data requires it, so a call that does
 * not provide an organization does not compile.
 */
export class CurrentActor extends Context.Service<CurrentActor, Actor>()("@messaging-crm/core/Actor/CurrentActor") {}

/** The ID of the current request, as in its `X-Request-Id` header; null outside of a request. */
export const RequestId = Context.Reference<string | null>("@messaging-crm/core/Actor/RequestId", {
  defaultValue: () => null
})

/** The form of a request ID that a client can send in `X-Request-Id`. The OpenAPI document repeats it. */
export const request_id_pattern = /^[A-Za-z0-9._-]{1,128}$/
