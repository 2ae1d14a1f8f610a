/** The fake Graph API as a process of its own, as an operator uses it. */
import { assert, it } from "@effect/vitest"
import { path } from "@messaging-crm/provider-cloud/Ingress"
import { Deferred, Effect, Redacted, Schema } from "effect"
import { spawn } from "node:child_process"
import { createServer, type IncomingMessage } from "node:http"
import { fileURLToPath } from "node:url"
import { signature_header, verify } from "../src/SignedBodies.ts"

const app_secret = Redacted.make("the app's secret")
const main = fileURLToPath(new URL("../testing/main.ts", import.meta.url))

interface Callback {
  readonly body: string
  readonly is_signed: boolean
}

const bodyOf = async (request: IncomingMessage) => {
  const slices: Array<Buffer> = []
  for await (const slice of request) slices.push(slice)
  return Uint8Array.from(Buffer.concat(slices))
}

/** Listens for callbacks, and rejects the first one. */
const listen = (received: (callback: Callback) => void) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
      let rejected = 0
      const server = createServer(async (request, response) => {
        const bytes = await bodyOf(request)
        const header = String(request.headers[signature_header])
        const is_signed = await Effect.runPromise(verify(app_secret, bytes, header))
        response.writeHead(rejected++ === 0 ? 500 : 200).end()
        if (rejected > 1) received({ body: new TextDecoder().decode(bytes), is_signed })
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ port, close: () => server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

const start = (environment: Record<string, string>) =>
  Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [main], { env: { ...process.env, ...environment }, stdio: "pipe" })),
    (child) => Effect.sync(() => child.kill())
  ).pipe(
    Effect.flatMap((child) =>
      Effect.callback<string>((resume) => {
        child.stdout.on("data", (line: Buffer) => {
          const [url] = /http:\/\/[0-9.:]+/.exec(line.toString()) ?? []
          if (url !== undefined) resume(Effect.succeed(url))
        })
      })
    )
  )

const AcceptedMessages = Schema.Struct({ accepted: Schema.Array(Schema.Struct({ recipient: Schema.String })) })

it.live(
  "accepts messages, follows a script, and posts signed callbacks until they are accepted",
  () =>
    Effect.gen(function*() {
      const received = yield* Deferred.make<Callback>()
      const { port } = yield* listen((callback) => Deferred.doneUnsafe(received, Effect.succeed(callback)))
      const url = yield* start({
        PORT: "0",
        CALLBACK_URL: `http://127.0.0.1:${port}${path}`,
        APP_SECRET: Redacted.value(app_secret),
        ACCESS_TOKEN: "token"
      })
      const ask = (path: string, body?: object) =>
        Effect.promise(async () => {
          const headers = { "content-type": "application/json", authorization: "Bearer token" }
          const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }
          const response = await fetch(`${url}${path}`, { headers, ...init })
          return { status: response.status, text: await response.text() }
        })
      const message = { messaging_product: "whatsapp", to: "4915112345678", type: "text", text: { body: "Hello" } }
      const behavior = { responses: [{ response: "reject", code: 131026 }], statuses: [], reply: null }
      assert.strictEqual((yield* ask("/fake/script", { next_calls: 1, behavior })).status, 204)
      assert.include((yield* ask("/v25.0/106/messages", message)).text, "131026")
      const write = { object: "page", account: "1784", from: "24601", text: "hi" }
      assert.strictEqual((yield* ask("/fake/write", write)).status, 204)
      const { body, is_signed } = yield* Deferred.await(received)
      assert.isTrue(is_signed)
      assert.include(body, "24601")
      assert.strictEqual((yield* ask("/v25.0/106/messages", message)).status, 200)
      const { accepted } = Schema.decodeSync(Schema.fromJsonString(AcceptedMessages))(
        (yield* ask("/fake/accepted")).text
      )
      assert.deepStrictEqual(accepted, [{ recipient: "4915112345678" }])
    }).pipe(Effect.scoped)
)
