/** The API as a function, on a runtime of the embedder's. */
import { assert, it } from "@effect/vitest"
import * as Http from "@messaging-crm/adapter-http"
import * as Memory from "@messaging-crm/adapter-memory"
import * as WebhookTransport from "@messaging-crm/adapter-memory/WebhookTransport"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey, RequestsPerMinute } from "@messaging-crm/core/ApiKeys"
import * as Crm from "@messaging-crm/core/Crm"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import * as Mock from "@messaging-crm/provider-mock"
import { Context, Effect, Layer, ManagedRuntime, Redacted, References } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"

const crm = ManagedRuntime.make(
  Crm.layer.pipe(
    Layer.provide([Memory.layer, Mock.layer, WebhookTransport.layer]),
    Layer.provideMerge([Layer.succeed(RequestsPerMinute, 2), Layer.succeed(References.MinimumLogLevel, "None")])
  )
)
const api = await Http.toWebHandler(crm)

it("uses the runtime's services, with their tuning", async () => {
  const { actor, key } = await crm.runPromise(Effect.gen(function*() {
    const { organization, owner } = yield* Organizations.use((organizations) =>
      organizations.create(
        CreateOrganization.make({ name: "Acme", owner_name: "Ada", owner_email: "ada@acme.example" })
      )
    )
    const actor = { organization_id: organization.id, member_id: owner.id }
    const { key } = yield* ApiKeys.use((keys) =>
      keys.create(CreateApiKey.make({ created_by: owner.id, name: "test", scopes: ["tags:read"], expires: "90d" }))
    ).pipe(Effect.provideService(CurrentActor, actor))
    return { actor, key: Redacted.value(key) }
  }))
  const vip = await crm.runPromise(
    Effect.provideService(
      Tags.use((tags) => tags.create(CreateTag.make({ name: "VIP", color: "amber" }))),
      CurrentActor,
      actor
    )
  )
  const list = () => api(new Request("http://crm.example/v1/tags", { headers: { authorization: `Bearer ${key}` } }))
  const first = await list()
  assert.strictEqual(first.headers.get("x-ratelimit-limit"), "2")
  assert.deepStrictEqual(await first.json(), { data: [vip], next_cursor: null })
  await list()
  assert.strictEqual((await list()).status, 429)
  await crm.dispose()
})

it("fails before the first request if the services of the runtime cannot be built", async () => {
  const broken = ManagedRuntime.make(Layer.effectContext(Effect.fail("The database is unavailable.")))
  const failure = await Http.toWebHandler(broken).then(() => "", String)
  assert.include(failure, "The database is unavailable.")
})

it("leaves an embedder's own paths alone, however they are spelled", async () => {
  const paths = ["/", "/shop/", "/caf%C3%A9", "/shop;v=1", "/metrics"]
  const yours = HttpRouter.add("GET", "*", HttpServerResponse.text("The shop"))
  const { dispose, handler } = HttpRouter.toWebHandler(
    Layer.merge(Http.layer, yours).pipe(
      Layer.provide(Crm.layer),
      Layer.provide([Memory.layer, Mock.layer, WebhookTransport.layer, HttpServer.layerServices]),
      Layer.provide(Layer.succeed(References.MinimumLogLevel, "None"))
    ),
    { routerConfig: Http.routerConfig, disableLogger: true }
  )
  const statusOf = async (path: string) =>
    (await handler(new Request(`http://crm.example${path}`), Context.empty() as never)).status
  for (const path of paths) assert.strictEqual(await statusOf(path), 200, path)
  assert.strictEqual(await statusOf("/v1/contacts"), 401)
  for (const path of ["/v1/contacts/", "/%761/tags", "/v1/tags;x=1"]) {
    assert.strictEqual(await statusOf(path), 404, path)
  }
  await dispose()
})
