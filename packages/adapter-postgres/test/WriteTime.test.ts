/** Commits of writes whose time is over while they wait behind others. */
import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import type { Changes } from "@messaging-crm/core/Changes"
import { Commit, Conflict } from "@messaging-crm/core/Commit"
import { ContactFieldRows } from "@messaging-crm/core/ContactFields"
import { ContactFieldId, type OrganizationId, TagId } from "@messaging-crm/core/Ids"
import { Rows } from "@messaging-crm/core/Rows"
import { TagRows } from "@messaging-crm/core/Tags"
import { CurrentWriteTime, WriteTime } from "@messaging-crm/core/WriteTime"
import { Effect, Exit, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "./Processes.ts"
import { whileOpen } from "./Sessions.ts"

const newTag = (name: string) =>
  Effect.map(Fixtures.uuid, (id) => TagRows.insert({ id: TagId.make(id), name, color: "red", name_key: name }))

/** Waits until so many backends wait for another one. */
const waiters = Effect.fnUntraced(function*(pid: number, count: number) {
  const sql = yield* SqlClient.SqlClient
  const waiting = sql`SELECT FROM pg_locks WHERE NOT granted AND ${pid}::integer = ANY(pg_blocking_pids(pid))`
  yield* Effect.repeat(waiting, { until: (rows) => rows.length >= count })
})

/** Begins a commit of a write whose time is over at once. */
const commitLate = Effect.fnUntraced(function*(organization_id: OrganizationId, changes: Changes) {
  const { commit } = yield* Commit
  const time = new WriteTime()
  const committing = yield* time.run(commit(organization_id, changes)).pipe(
    Effect.provideService(CurrentWriteTime, time),
    Effect.exit,
    Effect.forkChild({ startImmediately: true })
  )
  assert.isFalse(time.end().may_have_written)
  return committing
})

it.layer(Processes.database, { excludeTestServices: true })("A commit whose time is over", (it) => {
  it.effect("while it waits behind others is not sent, alone or with others of its batch", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const sql = yield* SqlClient.SqlClient
      const fork = (changes: Changes) =>
        Effect.forkChild(Fixtures.commitOutcome(ours, changes), { startImmediately: true })
      const late = yield* newTag("late")
      const alone = ContactFieldRows.insert({
        id: ContactFieldId.make(yield* Fixtures.uuid),
        key: "late",
        name: "late",
        type: "text",
        options: null,
        created_at: Fixtures.noon
      })
      const live = yield* newTag("live")
      const fibers = yield* whileOpen(sql`LOCK TABLE tags IN SHARE MODE`, (pid) =>
        Effect.gen(function*() {
          // As many as run at once.
          for (const count of [1, 2, 3]) {
            yield* fork(yield* newTag(`blocked-${count}`))
            yield* waiters(pid, count)
          }
          return { late: [yield* commitLate(ours, late), yield* commitLate(ours, alone)], live: yield* fork(live) }
        }))
      assert.strictEqual(yield* Fiber.join(fibers.live), "committed")
      for (const fiber of fibers.late) assert.deepStrictEqual(yield* Fiber.join(fiber), Exit.fail(new Conflict()))
      const names = (yield* Rows.use((rows) => rows.list(TagRows, ours))).map(({ name }) => name)
      assert.include(names, "live")
      assert.notInclude(names, "late")
    }))
})
