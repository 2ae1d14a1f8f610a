import { serve } from "@hono/node-server"
import * as Http from "@messaging-crm/adapter-http"
import * as WebhookTransport from "@messaging-crm/adapter-http/WebhookTransport"
import * as Memory from "@messaging-crm/adapter-memory"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey } from "@messaging-crm/core/ApiKeys"
import * as Crm from "@messaging-crm/core/Crm"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { Worker } from "@messaging-crm/core/Worker"
import * as MockProvider from "@messaging-crm/provider-mock"
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { Hono } from "hono"
import assert from "node:assert/strict"
import { once } from "node:events"

const crm = ManagedRuntime.make(
  Worker.layerLoop.pipe(
    Layer.provideMerge(Crm.layer),
    Layer.provide([Memory.layer, MockProvider.layer, WebhookTransport.layer()])
  )
)
// Before the server listens: if the services cannot be built, the process ends.
const api = await Http.toWebHandler(crm)

// An existing app, with the API added to it.
const app = new Hono()
app.get("/", (context) => context.text("The shop"))
app.all("/v1/*", (context) => api(context.req.raw))
app.all("/media/*", (context) => api(context.req.raw))

// An operator creates the organization and its key: the REST API has no operation for them.
const key = await crm.runPromise(Effect.gen(function*() {
  const { organization, owner } = yield* Organizations.use((organizations) =>
    organizations.create(
      CreateOrganization.make({ name: "The shop", owner_name: "Ada", owner_email: "ada@shop.example" })
    )
  )
  const { key } = yield* ApiKeys.use((keys) =>
    keys.create(
      CreateApiKey.make({
        created_by: owner.id,
        name: "app",
        scopes: ["contacts:read", "contacts:write"],
        expires: "1y"
      })
    )
  ).pipe(Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: owner.id }))
  return Redacted.value(key)
}))

const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 })
await once(server, "listening")
const address = server.address()
const port = typeof address === "object" ? address?.port : undefined

const response = await fetch(`http://127.0.0.1:${port}/v1/contacts`, {
  method: "POST",
  headers: {
    "authorization": `Bearer ${key}`,
    "content-type": "application/json",
    "idempotency-key": "signup-4711"
  },
  body: JSON.stringify({ first_name: "Kim", primary_phone: "+49 151 12345678" })
})
assert.equal(response.status, 201)
console.log(await response.json())

// Requests in progress need the services until their responses are sent.
server.close()
await once(server, "close")
await crm.dispose()
