/** A process whose SECRET_KEY is not that of its database. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Api from "../../testing/processes/Api.ts"
import * as Cluster from "../../testing/processes/Cluster.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import * as Servers from "../../testing/processes/Servers.ts"

const nowhere: Servers.Server = { port: 0, url: "" }

const readiness = ({ url }: Servers.Server) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}/health/ready`)
    return { status: response.status, body: await response.json() }
  })

it.live(
  "a server with another SECRET_KEY than its database is not ready, says why, and leaves the sends queued",
  () =>
    Effect.gen(function*() {
      const { acme, environment, servers: [first = nowhere, second = nowhere] } = yield* Cluster.make({
        servers: 2,
        environment: {}
      })
      yield* Servers.serveApi(environment, first)
      assert.strictEqual((yield* readiness(first)).status, 200)
      const json = Api.newConversation(acme.channel_id, "+49 151 7654321", "Kim")
      const options = { key: acme.key, json, idempotency_key: "start-1234" }
      const started = yield* Api.request(first, "POST", "/conversations", options)
      assert.strictEqual(started.status, 202)
      const args = ["serve", "--port", String(second.port), "--host", "127.0.0.1"]
      const SECRET_KEY = Buffer.alloc(32, 9).toString("base64")
      yield* Processes.startMain(args, { ...environment, SECRET_KEY })
      yield* Processes.untilUp(`${second.url}/health/live`)
      assert.deepStrictEqual(yield* readiness(second), {
        status: 503,
        body: { status: "unavailable", reason: "secret_key" }
      })
      const { id } = (JSON.parse(started.text) as { readonly data: { readonly id: string } }).data
      assert.include((yield* Api.request(first, "GET", `/sends/${id}`, { key: acme.key })).text, "\"queued\"")
    })
)
