import { Schema } from "effect"

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
