/** A host whose clock is wrong makes nothing late and nothing early: the database's clock is everyone's. */
import { assert, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Effect, Redacted, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "../testing/Processes.ts"

const nowhere: Processes.Server = { port: 0, url: "" }

/** Puts a process on a host that is 73 hours ahead. */
const ahead = {
  NODE_OPTIONS: `--import=data:text/javascript,${
    encodeURIComponent("const now = Date.now; Date.now = () => now() + 73 * 3_600_000")
  }`
}

/** The times that commands, requests and workers wrote, which the provider had no say in. */
const written = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly name: string; readonly is_now: boolean | null }>`
    SELECT name, bool_and(at BETWEEN now() - interval '5 minutes' AND now() + interval '1 second') AS is_now
    FROM (
      SELECT 'organization', created_at FROM organizations
      UNION ALL SELECT 'key', created_at FROM api_keys
      UNION ALL SELECT 'contact', updated_at FROM contacts
      UNION ALL SELECT 'conversation', created_at FROM conversations
      UNION ALL SELECT 'message', created_at FROM messages
      UNION ALL SELECT 'attempt', first_attempt_at FROM sends
    ) AS times (name, at)
    GROUP BY name
  `
)

it.live(
  "commands, requests and workers on a host that is 73 hours ahead write the database's time",
  () =>
    Effect.gen(function*() {
      const { acme, database_url, environment, servers: [server = nowhere] } = yield* Processes.cluster({
        servers: 1,
        environment: ahead
      })
      yield* Processes.serve(environment, server)
      const json = Processes.greeting(acme.channel_id, "+49 151 7654321", "Kim")
      const options = { key: acme.key, json, idempotency_key: "start-1234" }
      assert.strictEqual((yield* Processes.request(server, "POST", "/conversations", options)).status, 202)

      const done = written.pipe(
        Effect.filterOrFail((rows) => rows.length === 6 && rows.every(({ is_now }) => is_now !== null)),
        Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 300 }),
        Effect.provide(Client.layer({ url: Redacted.make(database_url), connections: 1 }))
      )
      const times = Object.fromEntries((yield* done).map(({ is_now, name }) => [name, is_now]))
      const names = ["organization", "key", "contact", "conversation", "message", "attempt"]
      assert.deepStrictEqual(times, Object.fromEntries(names.map((name) => [name, true])))

      const ready = yield* Effect.promise(() => fetch(`${server.url}/health/ready`))
      assert.strictEqual(ready.status, 200)
      assert.deepStrictEqual(yield* Effect.promise(() => ready.json()), {
        status: "ok",
        warning: "This host's clock is 3d 1h ahead of the database's. The service uses the database's clock."
      })
    }).pipe(Effect.scoped),
  120_000
)
