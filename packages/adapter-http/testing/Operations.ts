/** Every endpoint of the contract with the rules of its operation, for tests that hold for all of them. */
import { Api } from "@messaging-crm/adapter-http/api/Api"
import { type KeyedOperation, operations as table } from "@messaging-crm/core/Operations"
import { Context } from "effect"
import { HttpApi } from "effect/http-api"
import { rulesFor, Runs } from "../src/api/Pipeline.ts"

export interface Operation {
  readonly method: string
  readonly path: string
  readonly name: KeyedOperation
  readonly scope: typeof table[KeyedOperation]["scope"]
  readonly policy: "required" | "optional" | null
}

const found: Array<Operation> = []
HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) => {
    const name = Context.getUnsafe(endpoint.annotations, Runs)
    const { idempotency: policy } = rulesFor(endpoint)
    found.push({ method: endpoint.method, path: endpoint.path, name, scope: table[name].scope, policy })
  }
})

export const operations: ReadonlyArray<Operation> = found

/** A body that fits the operation, so that only the ID is at fault. */
export const bodyFor = (
  { method, path }: Pick<Operation, "method" | "path">
): { readonly json?: unknown } => {
  if (path.endsWith("/replay")) return { json: { since: new Date().toISOString() } }
  if (path.endsWith("/messages")) return { json: { type: "text", text: "x" } }
  if (path.endsWith("/notes")) return { json: { text: "x" } }
  if (path.endsWith("/assignment")) return { json: { assigned_user_id: null } }
  if (method === "PATCH" && path.endsWith("/webhooks/:webhook_id")) return { json: { event_types: ["message.sent"] } }
  if (path.endsWith("/contacts/:contact_id")) return { json: { first_name: "A" } }
  return {}
}
