/**
 * The baseline of `npm run bench`: the service's most frequent operations as its users would write them with Fastify and
 * `pg`.
 *
 * `DATABASE_URL` is that of a database with the schema `baseline`; `DRIVER` is `pool` or
 * `pipeline`. Prints its address as JSON once it listens.
 */
import fastify from "fastify"
import { randomUUID } from "node:crypto"
import * as Authentication from "./Authentication.ts"
import * as Contacts from "./Contacts.ts"
import * as ContactUpdates from "./ContactUpdates.ts"
import * as Database from "./Database.ts"
import * as Errors from "./Errors.ts"
import * as Messages from "./Messages.ts"

const { DATABASE_URL = "", DRIVER = "pool", PORT = "0", RATE_LIMIT_PER_MINUTE = "120" } = process.env

const query = DRIVER === "pipeline"
  ? await Database.pipeline(DATABASE_URL, 4)
  : await Database.pool(DATABASE_URL, 10)

const app = fastify({
  bodyLimit: 65_536,
  exposeHeadRoutes: false,
  requestIdHeader: false,
  genReqId: ({ headers }) => {
    const id = headers["x-request-id"]
    return typeof id === "string" && /^[A-Za-z0-9._-]{1,128}$/.test(id) ? id : randomUUID()
  },
  ajv: { customOptions: { coerceTypes: false, removeAdditional: false } }
})
app.setErrorHandler(Errors.sendError)
app.setNotFoundHandler(() => {
  throw Errors.notFound("path")
})

await app.register(async (api) => {
  // With the declaration, all requests have the same shape.
  api.decorateRequest("key")
  api.addHook("onRequest", Authentication.hook(query, Number(RATE_LIMIT_PER_MINUTE)))
  Contacts.routes(api, query)
  ContactUpdates.routes(api, query)
  Messages.routes(api, query)
}, { prefix: "/v1" })

console.log(JSON.stringify({ url: await app.listen({ host: "127.0.0.1", port: Number(PORT) }) }))
