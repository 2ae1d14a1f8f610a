/** One policy for every outbound client: where its requests go, with which headers, when it gives up, and with which outcome. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as tls from "node:tls"
import { afterEach, beforeEach, vi } from "vitest"
import { selfSigned } from "../../../adapter-http/test/outbound/Certificate.ts"
import { clients, type OutboundClient, type Situation } from "./Clients.ts"
import * as Host from "./Host.ts"

// The JavaScript client has no clock of Effect.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }))
afterEach(() => void vi.useRealTimers())

/** Lets Node pass on what has arrived. Everything that a test waits for is on this machine. */
const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
const turns_max = 100_000

const advance = (millis: number) =>
  Effect.andThen(TestClock.adjust(millis), Effect.promise(() => vi.advanceTimersByTimeAsync(millis)))

/** Repeats an effect until a condition holds, and fails with what it waited for. */
const until = Effect.fnUntraced(function*(what: string, holds: () => boolean, step: Effect.Effect<unknown> = turn) {
  for (let turns = 0; turns < turns_max && !holds(); turns++) yield* step
  assert.isTrue(holds(), `waited for ${what}`)
})

/** The headers that describe a request and its body. */
const plain =
  /^(?:accept|accept-encoding|accept-language|connection|content-length|content-type|host|sec-fetch-mode|user-agent)$/

const textOf = (body: object | string) => typeof body === "string" ? body : JSON.stringify(body)

const nothing: NonNullable<OutboundClient["before"]> = () => ({})

/** Starts the host of a client, which responds in a manner to the request under test. */
const hostOf = Effect.fnUntraced(function*(
  client: OutboundClient,
  manner: Host.Manner,
  secure: { readonly name: string; readonly certificate: { cert: string; key: string | Buffer } } | null = null
) {
  const { before = nothing, line } = client
  let base_url = ""
  const host = yield* Host.start(
    (heard) => heard.line === line ? manner : { status: 200, body: textOf(before(base_url)[heard.line] ?? {}) },
    secure === null ? null : secure.certificate
  )
  base_url = secure === null ? `http://127.0.0.1:${host.port}` : `https://${secure.name}:${host.port}`
  return { ...host, base_url, reached: () => host.heard.filter((heard) => heard.line === line) }
})
type Reached = Effect.Success<ReturnType<typeof hostOf>>

const fork = (client: OutboundClient, base_url: string) =>
  Effect.forkChild(Effect.withSpan(client.call(base_url), "a span"), { startImmediately: true })

/** Advances the clock after the first attempt, until the client has an outcome, or tries again. */
const outcomeOf = Effect.fnUntraced(
  function*({ hasEnded }: Reached, fiber: Fiber.Fiber<string>, isAgain: () => boolean) {
    const isOver = () => fiber.pollUnsafe() !== undefined || isAgain()
    // While the attempt runs, time would end it.
    yield* until("the end of the first attempt", () => isOver() || hasEnded())
    yield* Effect.replicateEffect(turn, 50)
    yield* until("an outcome", isOver, Effect.andThen(turn, Effect.suspend(() => isOver() ? Effect.void : advance(50))))
    return isAgain() ? "again" : yield* Fiber.join(fiber)
  }
)

/** Checks that only this host was reached, on the known paths, and with the known headers. */
const checkReached = (
  { before = () => ({}), headers, line }: OutboundClient,
  { base_url, heard, reached }: Reached
) => {
  assert.isNotEmpty(reached())
  assert.includeMembers([line, ...Object.keys(before(base_url))], heard.map((each) => each.line))
  for (const each of reached()) {
    assert.sameMembers(Object.keys(each.headers).filter((name) => !plain.test(name)), [...headers])
    assert.strictEqual(each.headers.host, new URL(base_url).host)
  }
}

const statuses: ReadonlyArray<readonly [Situation, number]> = [
  ...[301, 302, 303, 307, 308].map((status) => ["redirect", status] as const),
  ["429", 429],
  ["5xx", 500],
  ["5xx", 503]
]

/** The certificate's name, which every client resolves to this machine. */
const name = "localhost"

for (const [title, client] of Object.entries(clients)) {
  const { deadline, outcomes } = client

  describe(title, () => {
    it.effect("reaches its host, with its headers", () =>
      Effect.gen(function*() {
        const host = yield* hostOf(client, { status: 200, body: textOf(client.body) })
        assert.strictEqual(yield* outcomeOf(host, yield* fork(client, host.base_url), () => false), outcomes.ok)
        checkReached(client, host)
      }))

    for (const [situation, status] of statuses) {
      it.effect(`after ${status} has the outcome: ${outcomes[situation]}`, () =>
        Effect.gen(function*() {
          const elsewhere = yield* Host.start(() => ({ status: 200, body: textOf(client.body) }))
          const location = `http://127.0.0.1:${elsewhere.port}/elsewhere`
          const host = yield* hostOf(client, { status, headers: { location } })
          const outcome = yield* outcomeOf(host, yield* fork(client, host.base_url), () => host.reached().length > 1)
          assert.strictEqual(outcome, outcomes[situation] === "status" ? String(status) : outcomes[situation])
          checkReached(client, host)
          assert.isEmpty(elsewhere.heard)
        }))
    }

    for (const situation of ["silence", "slow body"] as const) {
      if (deadline === null) continue
      it.effect(`gives up after ${deadline} s of ${situation}, with the outcome: ${outcomes[situation]}`, () =>
        Effect.gen(function*() {
          const host = yield* hostOf(client, situation)
          const fiber = yield* fork(client, host.base_url)
          yield* until("a request", () => host.reached().length === 1)
          yield* Effect.replicateEffect(turn, 50)
          const isEarly = () => fiber.pollUnsafe() !== undefined || host.reached().some(({ isAborted }) => isAborted)
          // A client that needs no body has its outcome before.
          assert.strictEqual(isEarly(), outcomes[situation].endsWith(" at once"))
          if (!isEarly()) {
            yield* advance(deadline * 1000 - 1)
            yield* Effect.replicateEffect(turn, 50)
            assert.isFalse(isEarly(), "It has given up too early.")
            yield* advance(1)
            yield* until(`the end of the attempt after ${deadline} s`, () => host.reached()[0]?.isAborted === true)
          }
          const outcome = yield* outcomeOf(host, fiber, () => host.reached().length > 1)
          assert.strictEqual(outcome, outcomes[situation].replace(/ at once$/, ""))
          checkReached(client, host)
        }))
    }

    it.effect(`rejects a certificate for another name, with the outcome: ${outcomes["other certificate"]}`, () =>
      Effect.gen(function*() {
        const certificate = selfSigned(name)
        const trusted = tls.getCACertificates()
        yield* Effect.acquireRelease(
          Effect.sync(() => tls.setDefaultCACertificates([...trusted, certificate.cert])),
          () => Effect.sync(() => tls.setDefaultCACertificates(trusted))
        )
        const manner = { status: 200, body: textOf(client.body) }
        const host = yield* hostOf(client, manner, { name, certificate })
        assert.strictEqual(yield* outcomeOf(host, yield* fork(client, host.base_url), () => false), outcomes.ok)
        const other = yield* hostOf(client, manner, { name: "127.0.0.1", certificate })
        const outcome = yield* outcomeOf(other, yield* fork(client, other.base_url), () => other.connections() > 1)
        assert.strictEqual(outcome, outcomes["other certificate"])
        assert.isEmpty(other.heard)
      }))
  })
}
