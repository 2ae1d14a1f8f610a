/** The move of an organization to another database, step by step, with writes between the steps. */
import { assert, it } from "@effect/vitest"
import * as Steps from "@messaging-crm/adapter-postgres/MoveSteps"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Changes from "@messaging-crm/core/Changes"
import { OrganizationClosed } from "@messaging-crm/core/Commit"
import { EventStore } from "@messaging-crm/core/Events"
import { purges } from "@messaging-crm/core/Housekeeping"
import type { ApiKeyId } from "@messaging-crm/core/Ids"
import { WorkKind, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { Cause, Effect, Exit, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { makeShared, type SharedScene } from "../../conformance/src/Isolation/SharedScene.ts"
import { audited } from "../../conformance/src/Isolation/Writes.ts"
import * as MovedTables from "../src/moves/MovedTables.ts"
import * as Moves from "../src/moves/Moves.ts"
import * as MovesScene from "./MovesScene.ts"
import { waiterFor, whileLocked, whileOpen } from "./Sessions.ts"

/** Runs every operation that writes. Some fail, because an earlier one has removed what they change. */
const writeAll = (scene: SharedScene) =>
  Effect.forEach(
    Object.entries(audited).filter(([name]) => name !== "organizations.create"),
    ([name, write]) => Effect.map(Effect.exit(scene.as(write(scene))), (exit) => [name, exit] as const)
  )

it.layer(MovesScene.source, { timeout: "5 minutes" })("the move of an organization", (it) => {
  it.effect("moves all rows of all tables, and changes no row of another organization", () =>
    Effect.gen(function*() {
      const { at, ours, theirs } = yield* makeShared(Effect.void)
      const { organization_id } = ours
      const sql = yield* SqlClient.SqlClient
      yield* TestClock.setTime(at.earlier)
      const { inTarget, transfer } = yield* MovesScene.transferOf(organization_id)
      const filled = yield* MovesScene.rowsOf(organization_id)
      for (const { name } of yield* MovedTables.read) assert.property(filled, name)
      const countersOf = (id: ApiKeyId) => sql`SELECT count FROM api_key_windows WHERE key_id = ${id}`
      for (const [id, count] of [[ours.api_key.id, 7], [theirs.api_key.id, 8]] as const) {
        yield* sql`INSERT INTO api_key_windows (key_id, opened_at, count) VALUES (${id}, now(), ${count})`
      }
      const others = yield* MovesScene.rowsOf(theirs.organization_id)
      yield* Steps.requireSameTables(transfer)
      assert.strictEqual(yield* Steps.receive(transfer, "old"), "arriving")
      assert.strictEqual(yield* Steps.track(transfer, "new"), "open")
      yield* writeAll(ours)
      yield* Steps.drain(transfer)
      yield* writeAll(ours)
      yield* Steps.close(transfer)
      const before = yield* MovesScene.rowsOf(organization_id)
      const { rows } = yield* Steps.copy(transfer)
      assert.strictEqual(rows, Object.values(before).flat().length)
      yield* Steps.depart(transfer)
      yield* Steps.arrive(transfer)
      yield* Steps.leave(transfer)
      yield* Steps.settle(transfer)
      assert.deepStrictEqual(yield* inTarget(MovesScene.rowsOf(organization_id)), before)
      assert.deepStrictEqual(yield* MovesScene.rowsOf(organization_id), {})
      assert.deepStrictEqual(yield* MovesScene.rowsOf(theirs.organization_id), others)
      assert.deepStrictEqual(yield* countersOf(ours.api_key.id), [])
      assert.deepStrictEqual(yield* countersOf(theirs.api_key.id), [{ count: 8 }])
      assert.deepStrictEqual(yield* transfer.target`SELECT count FROM api_key_windows`, [{ count: 7 }])
      const triggers = MovesScene.triggersOf(organization_id)
      for (const each of [triggers, inTarget(triggers)]) assert.deepStrictEqual(yield* each, [])
    }))

  it.effect("closes the organization only: its commits are rejected, purges skip its rows, and claims find none of its work", () =>
    Effect.gen(function*() {
      const { at, ours, theirs } = yield* makeShared(Effect.void)
      const { organization_id } = ours
      const queue = yield* WorkQueue
      const { transfer } = yield* MovesScene.transferOf(organization_id)
      yield* Steps.receive(transfer, "old")
      yield* Steps.track(transfer, "new")
      yield* Steps.drain(transfer)
      const claimed = (yield* Effect.forEach(WorkKind.literals, (kind) =>
        Effect.flatMap(Fixtures.uuid, (token) =>
          queue.claim({
            kind,
            limit: 100,
            now: Fixtures.lastTime,
            lease_until: Fixtures.lastTime,
            token
          })))).flat()
      assert.isNotEmpty(claimed)
      assert.notInclude(
        claimed.map((item) =>
          item.organization_id
        ),
        organization_id
      )
      yield* Steps.close(transfer)
      const before = yield* MovesScene.rowsOf(organization_id)
      for (const [name, exit] of yield* writeAll(ours)) {
        if (Exit.isFailure(exit)) {
          const failure = Cause.squash(exit.cause)
          assert.isTrue(failure instanceof OrganizationClosed || Cause.hasFails(exit.cause), `${name}: ${failure}`)
        }
      }
      yield* TestClock.setTime(at.later)
      for (const [name, purge] of Object.entries(purges)) {
        // The purge of messages changes rows of their contacts, so it is tried again an hour later.
        if (name !== "old messages and sends") yield* purge
      }
      assert.deepStrictEqual(yield* MovesScene.rowsOf(organization_id), before)
      yield* Fixtures.mustCommit(theirs.organization_id, Changes.raise(yield* Fixtures.newEvent()))
    }))

  it.effect("closes the organization once each writer that began before has ended", () =>
    Effect.gen(function*() {
      const organization_id = yield* Fixtures.organization
      yield* Fixtures.tag(organization_id, "VIP")
      const sql = yield* SqlClient.SqlClient
      const { transfer } = yield* MovesScene.transferOf(organization_id)
      yield* Steps.receive(transfer, "old")
      yield* Steps.track(transfer, "new")
      yield* Steps.drain(transfer)
      const write = sql`UPDATE tags SET color = 'blue' WHERE organization_id = ${organization_id}`
      const [closing, first] = yield* whileOpen(
        write,
        Effect.fnUntraced(function*(pid) {
          const closing = yield* Effect.forkChild(Steps.close(transfer))
          const waits = Effect.as(waiterFor(pid), "it waits")
          return [closing, yield* Effect.raceFirst(waits, Effect.as(Fiber.await(closing), "it ends"))] as const
        })
      )
      assert.strictEqual(first, "it waits")
      yield* Fiber.join(closing)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(write)))
    }))

  it.effect("rejects a writer that began before the organization was closed, and waited until it was", () =>
    Effect.gen(function*() {
      const organization_id = yield* Fixtures.organization
      yield* Fixtures.tag(organization_id, "VIP")
      const sql = yield* SqlClient.SqlClient
      const { transfer } = yield* MovesScene.transferOf(organization_id)
      yield* Steps.receive(transfer, "old")
      yield* Steps.track(transfer, "new")
      yield* Steps.drain(transfer)
      const write = sql`UPDATE tags SET color = 'blue' WHERE organization_id = ${organization_id}`
      const writer = yield* whileLocked(
        sql`organizations WHERE id = ${organization_id}`,
        Effect.fnUntraced(function*(pid) {
          const writer = yield* Effect.forkChild(sql.withTransaction(write))
          yield* waiterFor(pid)
          yield* Moves.asMover(transfer.run, Moves.setState(transfer.run, "closed"))
          return writer
        })
      )
      assert.isTrue(Exit.isFailure(yield* Fiber.await(writer)))
    }))

  it.effect("keeps the order of events, and the cursors of followers", () =>
    Effect.gen(function*() {
      const organization_id = yield* Fixtures.organization
      const { inTarget, transfer } = yield* MovesScene.transferOf(organization_id)
      const raise = Effect.flatMap(Fixtures.newEvent(), (event) =>
        Effect.as(Fixtures.mustCommit(organization_id, Changes.raise(event)), event.id))
      const [first, second] = [yield* Fixtures.newEvent(), yield* Fixtures.newEvent()]
      // The order of commits is not that of the IDs.
      for (const event of [second, first]) {
        yield* Fixtures.mustCommit(organization_id, Changes.raise(event))
      }
      yield* Steps.receive(transfer, "old")
      yield* Steps.track(transfer, "new")
      const [third, fourth] = [yield* Fixtures.newEvent(), yield* Fixtures.newEvent()]
      for (const event of [fourth, third]) {
        yield* Fixtures.mustCommit(organization_id, Changes.raise(event))
      }
      const known = yield* Fixtures.committedEvents(organization_id, 4)
      yield* Steps.drain(transfer)
      yield* Steps.close(transfer)
      yield* Steps.copy(transfer)
      yield* Steps.depart(transfer)
      yield* Steps.arrive(transfer)
      const later = yield* inTarget(raise)
      const ids = [
        ...known.map(({ id }) =>
          id
        ),
        later
      ]
      assert.deepStrictEqual(ids.slice(0, 4), [second.id, first.id, fourth.id, third.id])
      const store = yield* inTarget(EventStore)
      yield* inTarget(Fixtures.committedEvents(organization_id, ids.length))
      for (const [index, from] of known.entries()) {
        const found = yield* store.committed(organization_id, { from, size: 9 })
        assert.deepStrictEqual(found[0], from)
        assert.deepStrictEqual(found.map(({ id }) => id), ids.slice(index))
        assert.deepStrictEqual(yield* store.haveNext([{ ...from, organization_id }]), [true])
      }
    }))

  it.effect("knows the owner of each table with rows", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const found = yield* sql<{ readonly name: string }>`
        SELECT relname::text AS name FROM pg_class
        WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
      `
      const moved = new Set((yield* MovedTables.read).map(({ name }) => name))
      const others = found.map(({ name }) => name).filter((name) => !moved.has(name))
      // The service's own, and the counters of keys, which have a step of their own.
      assert.sameMembers(others, [
        "api_key_windows",
        "organization_moves",
        "messaging_crm_schema",
        "write_probes",
        "secret_canary"
      ])
    }))
})
