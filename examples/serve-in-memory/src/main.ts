import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import * as Http from "@messaging-crm/adapter-http"
import * as WebhookTransport from "@messaging-crm/adapter-http/WebhookTransport"
import * as Memory from "@messaging-crm/adapter-memory"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey } from "@messaging-crm/core/ApiKeys"
import * as Crm from "@messaging-crm/core/Crm"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { Worker } from "@messaging-crm/core/Worker"
import * as MockProvider from "@messaging-crm/provider-mock"
import { Console, Effect, Layer } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse, HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"

/** The whole service: the API, its worker, and everything in memory. */
const service = Layer.merge(
  HttpRouter.serve(Http.layer, { routerConfig: Http.routerConfig, disableLogger: true }),
  Worker.layerLoop
).pipe(
  Layer.provideMerge(Crm.layer),
  Layer.provide([Memory.layer, MockProvider.layer, WebhookTransport.layer()]),
  Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 }))
)

/** Creates the organization and an API key, which the REST API leaves to operators. */
const newKey = Effect.gen(function*() {
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
  return key
})

/** Sends a request to the service. To keep the service running, use `Layer.launch(service)` instead. */
const program = Effect.gen(function*() {
  const base_url = yield* HttpServer.addressFormattedWith(Effect.succeed)
  const request = HttpClientRequest.post(`${base_url}/v1/contacts`).pipe(
    HttpClientRequest.bearerToken(yield* newKey),
    HttpClientRequest.setHeader("idempotency-key", "signup-4711"),
    HttpClientRequest.bodyJsonUnsafe({ first_name: "Kim", primary_phone: "+49 151 12345678" })
  )
  const response = yield* Effect.flatMap(HttpClient.execute(request), HttpClientResponse.filterStatusOk)
  yield* Console.log(yield* response.json)
})

NodeRuntime.runMain(Effect.provide(program, [service, FetchHttpClient.layer]))
