import { assert, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { vi } from "vitest"
import { compare, compareRejections } from "../src/http/Responses.ts"
import type { Target } from "../src/load/Targets.ts"
import type { Request } from "../src/load/Workloads.ts"

const service: Target = { name: "service", pid: 1, port: 1 }
const pool: Target = { name: "pool", pid: 2, port: 2 }

/** The body of a response, and its status, which is 200 by default. */
interface Answer {
  readonly status?: number
  readonly [field: string]: unknown
}

/** Replaces `fetch` by programs, which respond to the number of their request. */
const stubPrograms = (programs: Readonly<Record<Target["port"], (number: number) => Answer>>) => {
  const counts = new Map<number, number>()
  vi.stubGlobal("fetch", async (url: string) => {
    const port = Number(new URL(url).port)
    const number = counts.get(port) ?? 0
    counts.set(port, number + 1)
    const { status = 200, ...body } = programs[port]?.(number) ?? {}
    return Response.json(body, { status })
  })
}

const reads: ReadonlyArray<Request> = [1, 2, 3].map((number) => ({
  method: "GET",
  path: `/tags/${number}`,
  key: "key"
}))
const writes = reads.map((read): Request => ({ ...read, method: "PATCH", body: [`{"name":"`, `"}`] }))

/** Returns the message with which a check dies; null if it succeeds. */
const failureOf = <A, E>(check: Effect.Effect<A, E>) =>
  Effect.map(Effect.exit(check), (exit) => Exit.isSuccess(exit) ? null : Cause.pretty(exit.cause))

const compareOf = (requests: ReadonlyArray<Request>) =>
  failureOf(compare("tags", [[service, requests], [pool, requests]]))

it.effect("programs with the same responses are equal, also with different cursors and generated fields", () =>
  Effect.gen(function*() {
    stubPrograms({
      1: () => ({ data: [{ id: "t" }], next_cursor: "a" }),
      2: () => ({ data: [{ id: "t" }], next_cursor: "b" })
    })
    assert.isNull(yield* compareOf(reads))
    stubPrograms({ 1: () => ({ data: { id: "a", name: "x" } }), 2: () => ({ data: { id: "b", name: "x" } }) })
    assert.isNull(yield* compareOf(writes))
  }))

it.effect("a difference is reported with its workload", () =>
  Effect.gen(function*() {
    const written = (data: object) => () => ({ data })
    const cases = [
      [reads, () => ({ data: { id: "a" } }), () => ({ data: { id: "b" } })],
      [writes, written({ id: "a", name: "x" }), written({ id: "b", name: "y" })],
      [writes, written({ id: "a", name: "x" }), written({ id: 1, name: "x" })],
      [writes, written({ id: "a", name: "x" }), written({ name: "x" })],
      [writes, () => ({ data: {}, status: 201 }), () => ({ data: {} })]
    ] as const
    for (const [requests, first, second] of cases) {
      stubPrograms({ 1: first, 2: second })
      assert.include(yield* compareOf(requests), "The responses differ: tags")
    }
  }))

it.effect("a repetition with another response is reported with its program", () =>
  Effect.gen(function*() {
    stubPrograms({ 1: () => ({ data: { id: "a" } }), 2: (number) => ({ data: { id: String(number) } }) })
    assert.include(yield* compareOf(writes), "A repetition differs: tags, pool")
  }))

it.effect("a rejected request is reported with its program, and so are too few requests", () =>
  Effect.gen(function*() {
    stubPrograms({ 1: () => ({ data: null }), 2: () => ({ status: 404, error: { code: "not_found", param: null } }) })
    assert.include(yield* compareOf(reads), "pool: GET /tags/1: 404")
    stubPrograms({ 1: () => ({ data: null }), 2: () => ({ data: null }) })
    assert.include(yield* compareOf(reads.slice(1)), "There are too few requests: tags")
  }))

it.effect("rejections are equal if their status, code, and parameter are, and a difference is reported with its request", () =>
  Effect.gen(function*() {
    const rejection = (code: string, param: string, message: string) => () => ({
      status: 422,
      error: { code, param, message }
    })
    const first = rejection("invalid_input", "city", "One.")
    const check = failureOf(compareRejections([service, pool]))
    stubPrograms({ 1: first, 2: rejection("invalid_input", "city", "Another.") })
    assert.isNull(yield* check)
    const others = [
      rejection("not_found", "city", "One."),
      rejection("invalid_input", "name", "One."),
      () => ({ ...first(), status: 400 })
    ]
    for (const second of others) {
      stubPrograms({ 1: first, 2: second })
      assert.include(yield* check, "The rejections differ: GET /contacts/")
    }
  }))
