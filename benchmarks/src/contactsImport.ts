/**
 * Imports a CSV file of 100,000 contacts twice with the command: `npm run bench:import`.
 * `-- 1000` sets another number of lines.
 *
 * Prints one JSON document: for each run the output of the command, its duration, and
 * the peak memory of its process, and whether the second run changed a row of the
 * database. Reads `/proc`, so it works on Linux only.
 */
import { Clock, Effect, Ref, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { createWriteStream } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import * as Arguments from "./harness/Arguments.ts"
import * as Benchmark from "./harness/Benchmark.ts"
import { folder, Processes } from "./harness/Fixtures.ts"

const { lines } = Arguments.numbers({ lines: 100_000 })

const header =
  "first_name,last_name,primary_email,primary_phone,company,city,lifecycle_stage,source,notes,tags,custom_values.number\n"

const first_names = ["Lea", "Oskar", "Zeynep", "Tomás", "Ngozi", "Mei", "Ravi", "Freya", "Łukasz", "花子"]
const last_names = ["Schmidt", "Costa", "Okafor", "Chen", "Nowak", "Haddad", "Lindqvist"]
const stages = ["lead", "customer", "opportunity", ""]

const line = (index: number): string => {
  const number = String(index).padStart(7, "0")
  const first = first_names[index % first_names.length]
  const last = `${last_names[index % last_names.length]} ${number}`
  const notes = `"Met at stand ${index % 40}, hall 7.\r\nAsked for the ""spring"" list."`
  const tags = index % 3 === 0 ? "VIP;Newsletter" : ""
  const company = `"Acme ${index % 5000}, Ltd"`
  const stage = stages[index % stages.length]
  return `${first},${last},p${number}@demo.example,+4915${number}00,${company},Köln,${stage},fair,${notes},${tags},C-${number}\n`
}

const writeLines = (file: string) =>
  Effect.promise(() =>
    pipeline(
      Readable.from(function*() {
        yield header
        for (let index = 0; index < lines; index++) yield line(index)
      }()),
      createWriteStream(file)
    )
  )

/** Returns the peak memory of a process up to now, in MiB; 0 once it has ended. */
const memoryPeak = (pid: number) =>
  Effect.tryPromise(() => readFile(`/proc/${pid}/status`, "utf8")).pipe(
    Effect.map((status) => Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024)
  )

/** Returns what a process prints until it exits. Dies if it exits with another code than 0. */
const outputOf = (child: ChildProcessByStdio<null, Readable, null>) =>
  Effect.callback<string>((resume) => {
    const chunks: Array<Buffer> = []
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk))
    child.once("close", (code) =>
      resume(
        code === 0
          ? Effect.succeed(Buffer.concat(chunks).toString())
          : Effect.die(new Error(`The import exited with ${code}.`))
      ))
  })

const runImport = Effect.fnUntraced(function*(organization: string, file: string, environment: Processes.Environment) {
  const started_at = yield* Clock.currentTimeMillis
  const peak = yield* Ref.make(0)
  const program = yield* Processes.Program
  const args = [...program.words, "contacts", "import", "--organization", organization, "--json", file]
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env["PATH"] ?? "", ...program.environment, ...environment },
    stdio: ["ignore", "pipe", "inherit"]
  })
  yield* memoryPeak(child.pid ?? 0).pipe(
    Effect.flatMap((mebibytes) => Ref.update(peak, (most) => Math.max(most, mebibytes))),
    Effect.repeat(Schedule.spaced("20 millis")),
    Effect.ignore,
    Effect.forkScoped
  )
  const output = yield* outputOf(child)
  const seconds = ((yield* Clock.currentTimeMillis) - started_at) / 1000
  return { ...JSON.parse(output), seconds, memory_peak_mib: Math.round(yield* Ref.get(peak)) }
}, Effect.scoped)

/** All rows that an import writes, as one text. */
const checksum = SqlClient.SqlClient.use((sql) =>
  sql`
    SELECT
      (SELECT count(*)::integer FROM contacts) AS contacts,
      (SELECT count(*)::integer FROM contact_tags) AS tags,
      (SELECT max(updated_at)::text FROM contacts) AS updated_at,
      (SELECT md5(string_agg(md5(c::text), '' ORDER BY c.id)) FROM contacts c) AS rows
  `
).pipe(Effect.map(([row]) => JSON.stringify(row)))

const Created = Schema.Struct({ organization: Schema.Struct({ id: Schema.String }) })

/** Migrates the database, and returns the ID of an organization with the field and the tags of the file. */
const prepareOrganization = Effect.fnUntraced(function*(environment: Processes.Environment) {
  yield* Processes.command(["migrate"], environment)
  const created = yield* Processes.command(
    ["organizations", "create", "--name", "Acme", "--owner-name", "Ada", "--owner-email", "ada@acme.example"],
    environment
  )
  const { organization: { id } } = yield* Schema.decodeUnknownEffect(Created)(created)
  const field = ["--key", "number", "--name", "Number", "--type", "text"]
  yield* Processes.command(["contact-fields", "create", "--organization", id, ...field], environment)
  yield* SqlClient.SqlClient.use((sql) =>
    sql`
      INSERT INTO tags (organization_id, id, name, name_key, color)
      VALUES
        (${id}, gen_random_uuid(), 'VIP', 'vip', 'amber'),
        (${id}, gen_random_uuid(), 'Newsletter', 'newsletter', 'teal')
    `
  )
  return id
})

const measureImport = Effect.fnUntraced(function*(database_url: string) {
  const file = join(yield* folder, "contacts.csv")
  yield* writeLines(file)
  const environment = { DATABASE_URL: database_url, PROVIDER: "mock", LOG_LEVEL: "error" }
  return yield* Effect.gen(function*() {
    const organization_id = yield* prepareOrganization(environment)
    const first = yield* runImport(organization_id, file, environment)
    const before = yield* checksum
    const second = yield* runImport(organization_id, file, environment)
    const after = yield* checksum
    return { lines, first, second, rows: JSON.parse(before), changed: before !== after }
  }).pipe(Effect.provide(Benchmark.database(database_url)))
})

await Benchmark.run(measureImport, { timeout: "20 minutes" })
