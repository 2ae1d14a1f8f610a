/** A long list read to its end while it changes. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Option, Random, Ref, Schema } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { folder } from "../../testing/Folder.ts"
import * as Api from "../../testing/processes/Api.ts"
import * as Cluster from "../../testing/processes/Cluster.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import * as Servers from "../../testing/processes/Servers.ts"

const contacts_count = 1000
const page_size = 7

const Page = Schema.fromJsonString(Schema.Struct({
  data: Schema.Array(Schema.Struct({ id: Schema.String, source: Schema.NullOr(Schema.String) })),
  next_cursor: Schema.NullOr(Schema.String)
}))

/** A CSV file with so many contacts, of which every tenth is marked to be changed later. */
const contactsFile = Effect.gen(function*() {
  const file = join(yield* folder, "contacts.csv")
  const lines = Array.from(
    { length: contacts_count },
    (_, index) => `Contact ${index},${index % 10 === 0 ? "changes" : "stays"}\n`
  )
  yield* Effect.promise(() => writeFile(file, `first_name,source\n${lines.join("")}`))
  return file
})

type Row = typeof Page.Type["data"][number]

/** Two servers with the contacts, and what asks them in turn. */
const service = Effect.gen(function*() {
  const { acme, environment, servers } = yield* Cluster.make({
    servers: 2,
    environment: { RATE_LIMIT_PER_MINUTE: "1000000" }
  })
  const file = yield* contactsFile
  const imported = yield* Processes.command(
    ["contacts", "import", "--organization", acme.organization_id, file],
    environment
  )
  assert.deepInclude(imported, { created: contacts_count, failed: 0 })
  yield* Effect.forEach(servers, (server) => Servers.serve(environment, server), { concurrency: "unbounded" })
  const serverOf = (turn: number) => Effect.fromOption(Option.fromUndefinedOr(servers[turn % servers.length]))

  /** The whole list, in pages of a size. */
  const walk = Effect.fnUntraced(function*(size: number) {
    const rows: Array<Row> = []
    let pages = 0
    let cursor: string | null = ""
    while (cursor !== null) {
      const path = `/contacts?page_size=${size}&cursor=${encodeURIComponent(cursor)}`
      const response = yield* Api.request(yield* serverOf(pages), "GET", path, { key: acme.key })
      assert.strictEqual(response.status, 200, response.text)
      const page: typeof Page.Type = yield* Schema.decodeUnknownEffect(Page)(response.text)
      rows.push(...page.data)
      cursor = page.next_cursor
      pages++
    }
    return { pages, rows }
  })

  const update = Effect.fnUntraced(function*(id: string, number: number) {
    const { status } = yield* Api.request(yield* serverOf(number), "PATCH", `/contacts/${id}`, {
      key: acme.key,
      json: { job_title: `Update ${number}` },
      idempotency_key: `update-${number}`
    })
    assert.strictEqual(status, 200)
  })
  return { update, walk }
})

it.live(
  "pages of 1,000 contacts contain each contact that is not updated meanwhile exactly once",
  () =>
    Effect.gen(function*() {
      const { update, walk } = yield* service
      const { rows: all } = yield* walk(100)
      assert.strictEqual(new Set(all.map(({ id }) => id)).size, contacts_count)
      const idsOf = (source: string) => all.filter((row) => row.source === source).map(({ id }) => id)
      const [changing, untouched] = [idsOf("changes"), idsOf("stays")]
      assert.deepStrictEqual([changing.length, untouched.length], [contacts_count / 10, 9 * contacts_count / 10])

      const updates = yield* Ref.make(0)
      const updateOne = Effect.gen(function*() {
        const id = changing[yield* Random.nextIntBetween(0, changing.length - 1)] ?? ""
        yield* update(id, yield* Ref.updateAndGet(updates, (count) => count + 1))
      })
      const others = yield* Effect.forkScoped(Effect.replicateEffect(Effect.forever(updateOne), 4, { concurrency: 4 }))
      const { pages, rows } = yield* walk(page_size)
      assert.isUndefined(others.pollUnsafe(), "an update was rejected")
      yield* Fiber.interrupt(others)

      const seen = new Map<string, number>()
      for (const { id } of rows) seen.set(id, (seen.get(id) ?? 0) + 1)
      assert.deepStrictEqual(untouched.filter((id) => seen.get(id) !== 1), [])
      // One that moved to the front may have been missed on the way, but is not shown twice.
      assert.deepStrictEqual(changing.filter((id) => (seen.get(id) ?? 0) > 1), [])
      assert.isAtLeast(pages, untouched.length / page_size)
      assert.isAtLeast(yield* Ref.get(updates), 100)
    }).pipe(Effect.scoped)
)
