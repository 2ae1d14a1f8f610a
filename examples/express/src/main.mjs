import * as Http from "@messaging-crm/adapter-http"
import * as WebhookTransport from "@messaging-crm/adapter-http/WebhookTransport"
import * as Memory from "@messaging-crm/adapter-memory"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys } from "@messaging-crm/core/ApiKeys"
import * as Crm from "@messaging-crm/core/Crm"
import { Organizations } from "@messaging-crm/core/Organizations"
import { Worker } from "@messaging-crm/core/Worker"
import * as MockProvider from "@messaging-crm/provider-mock"
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import express from "express"
import assert from "node:assert/strict"
import { once } from "node:events"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"

const crm = ManagedRuntime.make(
  Worker.layerLoop.pipe(
    Layer.provideMerge(Crm.layer),
    Layer.provide([Memory.layer, MockProvider.layer, WebhookTransport.layer()])
  )
)
// Before the server listens: if the services cannot be built, the process ends.
const api = await Http.toWebHandler(crm)

/** Converts the request of Node to one of the web, which the API handles, and its response back. */
const handle = async (request, response) => {
  const hasBody = request.method !== "GET" && request.method !== "HEAD"
  // A client that leaves ends its request.
  const left = new AbortController()
  response.once("close", () => left.abort())
  const apiResponse = await api(
    new Request(new URL(request.originalUrl, `http://${request.headers.host}`), {
      method: request.method,
      headers: new Headers(request.headers),
      body: hasBody ? Readable.toWeb(request) : null,
      duplex: "half",
      signal: left.signal
    })
  )
  response.status(apiResponse.status).setHeaders(apiResponse.headers)
  // Streamed, because files of messages can be large.
  if (apiResponse.body === null) response.end()
  else await pipeline(apiResponse.body, response)
}

// An existing app, with the API added to it. The API reads bodies itself, so a body parser must come after it.
const app = express()
// oxlint-disable-next-line oxc/no-async-endpoint-handlers -- Express 5 passes a rejection to its error handler.
app.all(["/v1/{*path}", "/media/{*path}"], handle)
app.get("/", (_request, response) => response.send("The shop"))

// An operator creates the organization and its key: the REST API has no operation for them.
const key = await crm.runPromise(Effect.gen(function*() {
  const { organization, owner } = yield* Organizations.use((organizations) =>
    organizations.create({ name: "The shop", owner_name: "Ada", owner_email: "ada@shop.example" })
  )
  const { key } = yield* ApiKeys.use((keys) =>
    keys.create({ created_by: owner.id, name: "app", scopes: ["contacts:read", "contacts:write"], expires: "1y" })
  ).pipe(Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: owner.id }))
  return Redacted.value(key)
}))

const server = app.listen(0, "127.0.0.1")
await once(server, "listening")

const response = await fetch(`http://127.0.0.1:${server.address().port}/v1/contacts`, {
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
