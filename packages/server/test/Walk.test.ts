/** A long list read to its end while it changes. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Option, Random, Ref, Schema } from "effect"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Processes from "../testing/Processes.ts"

const contacts_count = 10_000
const page_size = 7

const Page = Schema.fromJsonString(Schema.Struct({
  data: Schema.Array(Schema.Struct({ id: Schema.String, source: Schema.NullOr(Schema.String) })),
  next_cursor: Schema.NullOr(Schema.String)
}))

/** A CSV file with so many contacts, of which every tenth is marked to be changed later. */
const contactsFile = Effect.acquireRelease(
  Effect.promise(async () => {
    const directory = await mkdtemp(join(tmpdir(), "messaging-crm-walk-"))
    const file = join(directory, "contacts.csv")
    const lines = Array.from(
      { length: contacts_count },
      (_, index) => `Contact ${index},${index % 10 === 0 ? "changes" : "stays"}\n`
    )
    await writeFile(file, `first_name,source\n${lines.join("")}`)
    return { directory, file }
  }),
  ({ directory }) => Effect.promise(() => rm(directory, { recursive: true }))
)

it.live(
  "a walk over 10,000 contacts, others of which are updated, shows each that is not exactly once",
  () =>
    Effect.gen(function*() {
      const { acme, environment, servers } = yield* Processes.cluster({
        servers: 2,
        environment: { RATE_LIMIT_PER_MINUTE: "1000000" }
      })
      const { file } = yield* contactsFile
      const imported = yield* Processes.command(
        ["contacts", "import", "--organization", acme.organization_id, file],
        environment
      )
      assert.deepInclude(imported, { created: contacts_count, failed: 0 })
      yield* Effect.forEach(servers, (server) => Processes.serve(environment, server), { concurrency: "unbounded" })
      const serverOf = (index: number) => Effect.fromOption(Option.fromUndefinedOr(servers[index % servers.length]))

      const get = Effect.fnUntraced(function*(path: string, index: number) {
        const { status, text } = yield* Processes.request(yield* serverOf(index), "GET", path, { key: acme.key })
        assert.strictEqual(status, 200, text)
        return yield* Schema.decodeUnknownEffect(Page)(text)
      })
      const all: Array<{ readonly id: string; readonly source: string | null }> = []
      let cursor: string | null = ""
      while (cursor !== null) {
        const page: typeof Page.Type = yield* get(`/contacts?page_size=100&cursor=${encodeURIComponent(cursor)}`, 0)
        all.push(...page.data)
        cursor = page.next_cursor
      }
      assert.strictEqual(all.length, contacts_count)
      const changing = all.filter(({ source }) => source === "changes").map(({ id }) => id)

      const updates = yield* Ref.make(0)
      const update = Effect.gen(function*() {
        const id = changing[yield* Random.nextIntBetween(0, changing.length - 1)]
        const number = yield* Ref.updateAndGet(updates, (count) => count + 1)
        const { status } = yield* Processes.request(yield* serverOf(number), "PATCH", `/contacts/${id}`, {
          key: acme.key,
          json: { job_title: `Update ${number}` },
          idempotency_key: `update-${number}`
        })
        assert.strictEqual(status, 200)
      })
      const others = yield* Effect.forkScoped(Effect.replicateEffect(Effect.forever(update), 4, { concurrency: 4 }))

      const seen = new Map<string, number>()
      let pages = 0
      cursor = ""
      while (cursor !== null) {
        const path = `/contacts?page_size=${page_size}&cursor=${encodeURIComponent(cursor)}`
        const page: typeof Page.Type = yield* get(path, pages)
        for (const { id } of page.data) seen.set(id, (seen.get(id) ?? 0) + 1)
        cursor = page.next_cursor
        pages++
      }
      yield* Fiber.interrupt(others)

      const untouched = all.filter(({ source }) => source === "stays")
      assert.strictEqual(untouched.length, 9 * contacts_count / 10)
      assert.deepStrictEqual(untouched.filter(({ id }) => seen.get(id) !== 1), [])
      // One that moved to the front may have been missed on the way, but is not shown twice.
      assert.deepStrictEqual(changing.filter((id) => (seen.get(id) ?? 0) > 1), [])
      assert.isAtLeast(pages, untouched.length / page_size)
      assert.isAtLeast(yield* Ref.get(updates), 100)
    }).pipe(Effect.scoped),
  300_000
)
