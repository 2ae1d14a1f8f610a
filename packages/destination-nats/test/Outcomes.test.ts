/** The outcome of each answer and each error of NATS, and of an attempt that takes too long. */
import { assert, describe, it } from "@effect/vitest"
import type { WebhookRequestFailed, WebhookResponse } from "@messaging-crm/core/WebhookTransport"
import { JetStreamApiError } from "@nats-io/jetstream"
import { errors } from "@nats-io/transport-node"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { createServer, type Socket } from "node:net"
import { Disconnected } from "../src/Connection.ts"
import { make } from "../src/index.ts"
import { failed, stored } from "../src/Outcomes.ts"

const jetStream = (code: number) => new JetStreamApiError({ code, err_code: 10_054, description: "rejected" })
const unheard = new errors.RequestError("", { cause: new errors.NoRespondersError("crm") })
const because = (cause: Error) => new Error("connect failed", { cause })

const noStream = { status: 503, body: "No stream stores the subject." }
const rejected = (status: number) => ({ status, body: "rejected" })

type Outcome = Pick<WebhookResponse, "body" | "status"> | WebhookRequestFailed["failure_code"]

const outcomes: ReadonlyArray<readonly [error: unknown, outcome: Outcome]> = [
  [jetStream(400), rejected(400)],
  [jetStream(404), rejected(404)],
  [jetStream(409), rejected(409)],
  [jetStream(411), rejected(411)],
  [jetStream(503), rejected(503)],
  [jetStream(599), rejected(599)],
  // A webhook is disabled after a 410.
  [jetStream(410), rejected(500)],
  [jetStream(200), rejected(500)],
  [jetStream(399), rejected(500)],
  [jetStream(600), rejected(500)],
  [new errors.NoRespondersError("crm"), noStream],
  [unheard, noStream],
  [because(new errors.NoRespondersError("crm")), noStream],
  [because(unheard), noStream],
  [
    new errors.PermissionViolationError("no", "publish", "crm"),
    { status: 403, body: "The user cannot publish to the subject." }
  ],
  [new errors.AuthorizationError("no"), { status: 401, body: "NATS rejected the credentials." }],
  [
    new errors.InvalidArgumentError("too long"),
    { status: 413, body: "The event exceeds the maximum size of NATS." }
  ],
  [new errors.TimeoutError(), "timeout"],
  [because(new errors.TimeoutError()), "timeout"],
  [new Disconnected(), "connection_refused"],
  [new Error("connect ECONNREFUSED: connection refused"), "connection_refused"],
  [because(new Error("Connection refused")), "connection_refused"],
  [new Error("getaddrinfo ENOTFOUND nats.invalid"), "dns_error"],
  [because(new Error("getaddrinfo EAI_AGAIN nats.invalid")), "dns_error"],
  [new Error("self-signed certificate"), "tls_error"],
  [because(new Error("no TLS")), "tls_error"],
  [new Error("ssl alert"), "tls_error"],
  [new errors.ClosedConnectionError(), "connection_reset"],
  [new errors.RequestError("no"), "connection_reset"],
  ["anything else", "connection_reset"]
]

/** Starts a server that accepts connections, and never sends anything. */
const silentServer = () =>
  new Promise<{ readonly url: string; readonly stop: () => void }>((resolve) => {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => void sockets.add(socket))
    const stop = () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    }
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resolve({ url: `nats://127.0.0.1:${typeof address === "object" ? address?.port : ""}`, stop })
    })
  })

describe("an attempt", () => {
  for (const [error, outcome] of outcomes) {
    const cause = error instanceof Error && error.cause !== undefined ? `, because of ${error.cause}` : ""
    const status = error instanceof JetStreamApiError ? ` ${error.status}` : ""
    it.effect(`that fails with ${error}${status}${cause} is ${JSON.stringify(outcome)}`, () =>
      Effect.gen(function*() {
        const found = yield* Effect.match(failed(error), {
          onFailure: ({ failure_code }) => failure_code,
          onSuccess: (response) => response
        })
        assert.deepStrictEqual(found, typeof outcome === "string" ? outcome : { retry_after: null, ...outcome })
      }))
  }

  it.effect("that the stream acknowledges is 200", () =>
    Effect.gen(function*() {
      for (const duplicate of [false, true]) {
        assert.deepStrictEqual(yield* stored({ stream: "CRM", seq: 7, duplicate, domain: "d" }), {
          status: 200,
          body: JSON.stringify({ stream: "CRM", seq: 7, duplicate }),
          retry_after: null
        })
      }
    }))

  it.effect("ends within 15 seconds, even if no server responds", () =>
    Effect.gen(function*() {
      const silent = yield* Effect.promise(silentServer)
      const { post } = yield* make({ servers: [silent.url] })
      const request = { url: "nats://crm", headers: { "webhook-id": "e1" }, body: "{}" }
      const attempt = yield* Effect.forkChild(Effect.flip(post(request)), { startImmediately: true })
      yield* TestClock.adjust("15 seconds")
      assert.isDefined(attempt.pollUnsafe())
      assert.strictEqual((yield* Fiber.join(attempt)).failure_code, "timeout")
      yield* Effect.sync(silent.stop)
    }))
})
