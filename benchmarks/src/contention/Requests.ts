/** The parts that the measurements of concurrent writers share: servers in turn, and the resources of responses. */
import { Effect, Schema } from "effect"
import type { Api, Servers } from "../harness/Fixtures.ts"
import type * as Service from "../harness/Service.ts"

/** The fields that the measurements read from a resource. */
const Resource = Schema.fromJsonString(Schema.Struct({
  data: Schema.Struct({
    id: Schema.String,
    conversation_id: Schema.optionalKey(Schema.String),
    company: Schema.optionalKey(Schema.NullOr(Schema.String)),
    notes: Schema.optionalKey(Schema.NullOr(Schema.String)),
    tags: Schema.optionalKey(Schema.Array(Schema.Struct({ id: Schema.String })))
  })
}))

/** Returns the resource of a response. */
export const resourceOf = ({ text }: Api.Response) =>
  Effect.map(Schema.decodeUnknownEffect(Resource)(text), ({ data }) => data)

/** Returns a function that picks the servers in turn. */
export const serversOf = ({ servers }: Service.Cluster) => {
  let turn = 0
  return (): Servers.Server => servers[turn++ % servers.length] ?? { port: 0, url: "" }
}
