/** The fake Graph API responds to published clients of the Graph API as Meta's servers do. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { HttpRouter } from "effect/http"
import { createServer } from "node:http"
import * as FakeGraph from "../src/fake/FakeGraph.ts"
import { greatDetail, kapso } from "./PublishedClients.mjs"

const token = "the token"

/** Layer for a fake Graph API of its own. */
const network = HttpRouter.serve(
  FakeGraph.layer({ token: Redacted.make(token), app_secret: Redacted.make("secret") }).pipe(Layer.fresh),
  { disableLogger: true, disableListenLog: true }
).pipe(Layer.provide(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0, gracefulShutdownTimeout: 0 })))

const png = Uint8Array.from([137, 80, 78, 71, 13, 10, 26, 10])
const png_sha256 = "4c4b6a3be1314ab86138bef4314dde022e600960d8689a2c8f8631802d20dab6"

for (const [name, clientOf] of Object.entries({ kapso, greatDetail })) {
  it.layer(network)(`the client ${name}`, (it) => {
    const connected = Effect.map(FakeGraph.FakeGraph, (fake) => ({
      fake,
      client: clientOf({ url: fake.url, token, account: "acme", number: "106540352242922" })
    }))

    it.effect("sends texts and templates, and gets the rejections of the network", () =>
      Effect.gen(function*() {
        const { client, fake } = yield* connected
        const before = (yield* fake.accepted).length
        const sent = yield* Effect.promise(() => client.sendText("+49 151 123-45678", "Hello"))
        assert.deepStrictEqual([sent.input, sent.wa_id], ["+49 151 123-45678", "4915112345678"])
        yield* Effect.promise(() => client.sendTemplate("appointment_reminder", "Kim", "4711"))
        const accepted = (yield* fake.accepted).slice(before)
        assert.deepStrictEqual(accepted.map(({ recipient }) => recipient), ["4915112345678", "4915112345678"])
        assert.strictEqual(yield* Effect.promise(() => client.rejectedTemplate("unknown")), 132001)
        assert.strictEqual(yield* Effect.promise(() => client.rejectedTemplate("appointment_reminder", "Kim")), 132000)
        assert.strictEqual(yield* Effect.promise(() => client.rejectedText("")), 100)
        assert.strictEqual(yield* Effect.promise(() => client.rejectedText("x".repeat(4097))), 100)
        assert.lengthOf((yield* fake.accepted).slice(before), 2)
      }))

    it.effect("marks a message as read, which is no message", () =>
      Effect.gen(function*() {
        const { client, fake } = yield* connected
        const before = [yield* fake.accepted, yield* fake.waiting]
        assert.isTrue(yield* Effect.promise(() => client.markRead("wamid.1")))
        assert.deepStrictEqual([yield* fake.accepted, yield* fake.waiting], before)
      }))

    it.effect("lists templates with filters, and gets one", () =>
      Effect.gen(function*() {
        const { client } = yield* connected
        const list = (filters: Readonly<Record<string, string | number>>) =>
          Effect.promise(() => client.templates(filters))
        assert.deepStrictEqual(yield* list({}), ["order_ready", "appointment_reminder"])
        assert.deepStrictEqual(yield* list({ limit: 1 }), ["order_ready"])
        assert.deepStrictEqual(yield* list({ category: "MARKETING" }), ["spring_sale"])
        assert.deepStrictEqual(yield* list({ status: "REJECTED" }), [])
        assert.deepStrictEqual(yield* list({ language: "en", limit: 2 }), ["order_ready", "appointment_reminder"])
        assert.strictEqual(yield* Effect.promise(() => client.template("920070352646140")), "order_ready")
      }))

    it.effect("uploads a file, looks it up, downloads it, and deletes it", () =>
      Effect.gen(function*() {
        const { client } = yield* connected
        const id = yield* Effect.promise(() => client.upload(png, "image/png"))
        const { url: _, ...link } = yield* Effect.promise(() => client.link(id))
        assert.deepInclude(link, { file_size: 8, sha256: png_sha256 })
        assert.deepStrictEqual(yield* Effect.promise(() => client.download(id)), png)
        assert.isTrue(yield* Effect.promise(() => client.remove(id)))
        assert.strictEqual(yield* Effect.promise(() => client.rejectedMedia(id)), 100)
      }))

    it.effect("reads and writes the business profile", () =>
      Effect.gen(function*() {
        const { client } = yield* connected
        assert.hasAllKeys(
          yield* Effect.promise(() => client.profile()),
          name === "kapso"
            ? ["messagingProduct", "about", "email"]
            : ["messaging_product", "about", "email"]
        )
        assert.isTrue(yield* Effect.promise(() => client.setProfile("Open until eight")))
        assert.deepInclude(yield* Effect.promise(() => client.profile()), { about: "Open until eight" })
      }))

    it.effect("gets an error body for everything else", () =>
      Effect.gen(function*() {
        const { fake: { url } } = yield* connected
        const ask = (method: string, path: string, authorization = `Bearer ${token}`) =>
          Effect.promise(async () => {
            const response = await fetch(`${url}${path}`, { method, headers: { authorization } })
            const { error } = await response.json()
            return [response.status, error.code]
          })
        assert.deepStrictEqual(yield* ask("GET", "/v25.0/1/unknown_edge"), [404, 2500])
        assert.deepStrictEqual(yield* ask("PATCH", "/"), [404, 2500])
        assert.deepStrictEqual(yield* ask("POST", "/v25.0/1/messages"), [400, 100])
        assert.deepStrictEqual(yield* ask("POST", "/v25.0/1/media"), [400, 100])
        assert.deepStrictEqual(yield* ask("DELETE", "/v25.0/1"), [400, 100])
        assert.deepStrictEqual(yield* ask("GET", "/v25.0/1/message_templates", "Bearer wrong"), [401, 190])
      }))
  })
}
