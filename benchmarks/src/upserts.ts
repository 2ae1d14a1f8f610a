/**
 * Measures upserts of contacts, and whether each person gets one contact: `npm run bench:upserts`.
 *
 * One process serves the API on a real database. Over one connection, the benchmark alternately updates a contact, updates many
 * by an upsert, and creates as many by another. Then concurrent requests upsert overlapping groups of people. Finally, the
 * process is killed during several upserts, and another process gets the same requests. Prints one JSON document, and exits
 * with 1 if the results are not within the limits (`Limits.areUpsertsWithin`).
 */
import { Duration, Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as Benchmark from "./harness/Benchmark.ts"
import { Api, Servers } from "./harness/Fixtures.ts"
import * as Limits from "./harness/Limits.ts"
import { median } from "./harness/Percentiles.ts"
import * as Service from "./harness/Service.ts"

const rounds = 60
/** The number of people in each upsert. */
const size = 100
const concurrent_upserts = 50
/** The number of people of all concurrent upserts in total, which overlap. */
const concurrent_people = 120
const interrupted_upserts = 4
const interrupted_people = interrupted_upserts * size

/** Returns the number of contacts of a group of people, and the number of people with any. */
const contactsOf = (group: string) =>
  Effect.map(
    SqlClient.SqlClient.use((sql) =>
      sql<Limits.People>`
        SELECT count(*)::integer AS contacts, count(DISTINCT email_key)::integer AS people
        FROM contacts
        WHERE email_key LIKE ${`${group}-%`}
      `
    ),
    ([row = { contacts: 0, people: 0 }]) => row
  )

/** Makes a function that sends a write, and one that upserts some people of a group. */
const clientOf = (server: Servers.Server, key: string) => {
  const send = (method: "PATCH" | "POST", path: string, idempotency_key: string, json: unknown) =>
    Effect.flatMap(
      Api.request(server, method, path, { key, idempotency_key, json }),
      ({ status, text }) => status < 300 ? Effect.succeed(text) : Effect.die(new Error(text))
    )
  const upsert = (group: string, first: number, city: string) =>
    send("POST", "/contacts/upsert", `${group}-${first}-${city}`, {
      match: "primary_email",
      contacts: Array.from(
        { length: size },
        (_, index) => ({ primary_email: `${group}-${first + index}@acme.example`, city })
      )
    })
  return { send, upsert }
}

type Client = ReturnType<typeof clientOf>

/** Returns the time of an update, of an upsert that updates contacts, and of one that creates them. */
const compareTimes = Effect.fnUntraced(function*({ send, upsert }: Client) {
  const text = yield* send("POST", "/contacts", "first-contact", { first_name: "Kim" })
  const { id }: { readonly id: string } = JSON.parse(text).data
  const times: Array<ReadonlyArray<number>> = []
  for (let round = 0; round < rounds; round++) {
    const city = `City ${round}`
    const responses = yield* Effect.forEach([
      send("PATCH", `/contacts/${id}`, `update-${round}`, { city }),
      upsert("known", 0, city),
      upsert("new", round * size, "Bonn")
    ], Effect.timed)
    times.push(responses.map(([time]) => Duration.toMillis(time)))
  }
  // The process compiles its code in the first rounds.
  const medianOf = (position: number) => median(times.slice(rounds / 3).map((round) => round[position] ?? NaN))
  const [update_ms, upsert_ms, create_ms] = [medianOf(0), medianOf(1), medianOf(2)]
  return { update_ms, upsert_ms, create_ms, updates_per_upsert: upsert_ms / update_ms }
})

/** Lets concurrent requests each upsert some of the same people. */
const upsertConcurrently = ({ upsert }: Client) =>
  Effect.forEach(
    Array.from({ length: concurrent_upserts }, (_, index) => index),
    (index) => upsert("shared", index % (concurrent_people - size + 1), `City ${index}`),
    { concurrency: "unbounded", discard: true }
  )

/** Sends the upserts that the end of the process interrupts. */
const upsertInterrupted = ({ upsert }: Client) =>
  Effect.forEach(
    Array.from({ length: interrupted_upserts }, (_, index) => index),
    (index) => Effect.exit(upsert("killed", index * size, "Bonn")),
    { concurrency: "unbounded", discard: true }
  )

/** Waits until more than one upsert has created contacts, for a minute at most. */
const untilUpsertsAreStored = contactsOf("killed").pipe(
  Effect.repeat({ schedule: Schedule.spaced("2 millis"), until: ({ contacts }) => contacts > size }),
  Effect.timeout("1 minute"),
  Effect.orDie
)

const measureUpserts = Effect.gen(function*() {
  const { acme, database_url, environment, server } = yield* Service.cluster(1)
  const client = clientOf(server, acme.key)
  const serve = Servers.serve(environment, server)
  /** The process is killed at the end of the scope. */
  const measureUntilKilled = Effect.scoped(Effect.gen(function*() {
    yield* serve
    const times = yield* compareTimes(client)
    yield* upsertConcurrently(client)
    const concurrent = yield* contactsOf("shared")
    yield* Effect.forkChild(upsertInterrupted(client))
    yield* untilUpsertsAreStored
    return { times, concurrent }
  }))
  return yield* Effect.gen(function*() {
    const { concurrent, times } = yield* measureUntilKilled
    const killed = yield* contactsOf("killed")
    yield* serve
    yield* upsertInterrupted(client)
    const retried = yield* contactsOf("killed")
    return { times, concurrent, killed, retried }
  }).pipe(Effect.provide(Benchmark.database(database_url, 2)))
})

await Benchmark.run(() => measureUpserts, {
  isWithin: (measured) =>
    Limits.areUpsertsWithin(measured, { concurrent: concurrent_people, interrupted: interrupted_people }),
  timeout: "3 minutes"
})
