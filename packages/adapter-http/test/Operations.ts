/** Every operation of the contract, for tests that hold for all of them. */
import { Api } from "@messaging-crm/adapter-http/api/Api"
import type { Scope } from "@messaging-crm/core/ApiKeys"
import { Context, type Option } from "effect"
import { HttpApi } from "effect/http-api"
import { IdempotencyPolicy, RequiredScope } from "../src/api/Pipeline.ts"

export interface Operation {
  readonly method: string
  readonly path: string
  readonly scope: Option.Option<Scope>
  readonly policy: Option.Option<string>
}

const found: Array<Operation> = []
HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) => {
    found.push({
      method: endpoint.method,
      path: endpoint.path,
      scope: Context.getOption(endpoint.annotations, RequiredScope),
      policy: Context.getOption(endpoint.annotations, IdempotencyPolicy)
    })
  }
})

export const operations: ReadonlyArray<Operation> = found

/** A body that fits the operation, so that only the id is at fault. */
export const bodyFor = (path: string): { readonly json?: unknown } => {
  if (path.endsWith("/messages")) return { json: { type: "text", text: "x" } }
  if (path.endsWith("/notes")) return { json: { text: "x" } }
  if (path.endsWith("/assignment")) return { json: { assigned_user_id: null } }
  if (path.endsWith("/contacts/:contact_id")) return { json: { first_name: "A" } }
  return {}
}
