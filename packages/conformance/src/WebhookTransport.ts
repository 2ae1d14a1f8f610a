/** Tests of the guarantees of `WebhookTransport`, for any adapter. */
import { assert, describe, it } from "@effect/vitest"
import { Text } from "@messaging-crm/core/Text"
import { AllowedAddresses, type WebhookRequest, WebhookTransport } from "@messaging-crm/core/WebhookTransport"
import { Arbitrary, type Duration, Effect, Layer, Ref, Result, Schema, type Scope } from "effect"
import { bytes, hardText, integer } from "./Arbitraries.ts"

/** How a receiver responds to every request. */
export type Manner =
  | { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string | Uint8Array }
  /** Responds with 200 and an endless body: as fast as the client reads, or one byte at intervals. */
  | "endless"
  | "dripping"
  /** Reads the request and never responds. */
  | "unresponsive"

/** An HTTP endpoint on 127.0.0.1. */
export interface Receiver {
  readonly url: string
  /** The requests that it received. Names of headers are in lower case. */
  readonly received: Effect.Effect<ReadonlyArray<Omit<WebhookRequest, "url">>>
  /** How many connections clients opened to it. */
  readonly connections: Effect.Effect<number>
}

/** The adapter under test, as the suite requires it. */
export interface Options {
  /** Layer for the transport with this name resolution and this timeout of an attempt. */
  readonly layer: (options: {
    readonly resolve: (hostname: string) => Effect.Effect<ReadonlyArray<string>>
    readonly deadline: Duration.Input
  }) => Layer.Layer<WebhookTransport>
  /** Starts a receiver, and stops it when the scope closes. */
  readonly receive: (manner: Manner) => Effect.Effect<Receiver, never, Scope.Scope>
}

const responding = (
  status: number,
  headers: Readonly<Record<string, string>> = {},
  body: string | Uint8Array = ""
): Manner => ({
  status,
  headers,
  body
})

const request = (url: string): WebhookRequest => ({ url, headers: { "content-type": "application/json" }, body: "{}" })

const post = (request: WebhookRequest) => WebhookTransport.use((transport) => Effect.result(transport.post(request)))

const loopback = "127.0.0.1"

const isLoopback = (address: string) => address === loopback

/** Returns the receiver of an adapter, and functions that provide its transport. */
const adapterOf = ({ layer, receive }: Options) => {
  /** Provides a transport that posts to these addresses, or to public ones only. */
  const allowing = (
    allowed: ((address: string) => boolean) | null,
    { deadline = "15 seconds", resolve = () => Effect.succeed([]) }: Partial<Parameters<Options["layer"]>[0]> = {}
  ) => Effect.provide(layer({ deadline, resolve }).pipe(Layer.provide(Layer.succeed(AllowedAddresses, allowed))))
  return {
    allowing,
    allowingLoopback: allowing(isLoopback),
    /** Provides a transport with a short timeout, for endpoints whose response never ends. */
    briefly: allowing(isLoopback, { deadline: "1 second" }),
    receive
  }
}
type Adapter = ReturnType<typeof adapterOf>

const requests = ({ allowingLoopback, receive }: Adapter) => {
  it.live.prop("the endpoint receives the body byte for byte, and every header", {
    text: hardText({ min: 0, max: 200 }),
    value: Arbitrary.schema(Schema.String.check(Schema.isPattern(/^[!-~]{1,20}$/)))
  }, ({ text, value }) =>
    Effect.gen(function*() {
      const receiver = yield* receive(responding(200))
      const body = JSON.stringify({ text })
      yield* post({ url: receiver.url, headers: { "content-type": "application/json", "x-value": value }, body })
      const received = yield* receiver.received
      assert.deepStrictEqual(received.map(({ body }) => body), [body])
      for (const { headers } of received) {
        assert.strictEqual(headers["content-type"], "application/json")
        assert.strictEqual(headers["x-value"], value)
        assert.strictEqual(headers["content-length"], String(new TextEncoder().encode(body).length))
      }
    }).pipe(allowingLoopback, Effect.scoped), { arbitrary: { runs: 50 } })
}

const responses = ({ allowingLoopback, receive }: Adapter) => {
  for (const status of [200, 201, 204, 304, 400, 404, 410, 429, 500, 503]) {
    it.live(`${status} is a response`, () =>
      Effect.gen(function*() {
        const body = status === 204 || status === 304 ? "" : "Grüße"
        const { url } = yield* receive(responding(status, { "retry-after": "7" }, body))
        assert.deepStrictEqual(yield* post(request(url)), Result.succeed({ status, body, retry_after: "7" }))
      }).pipe(allowingLoopback, Effect.scoped))
  }

  for (const status of [301, 302, 303, 307, 308]) {
    it.live(`${status} is a response, and its redirect is not followed`, () =>
      Effect.gen(function*() {
        const other = yield* receive(responding(200))
        const { url } = yield* receive(responding(status, { location: other.url }))
        assert.deepStrictEqual(yield* post(request(url)), Result.succeed({ status, body: "", retry_after: null }))
        assert.strictEqual(yield* other.connections, 0)
      }).pipe(allowingLoopback, Effect.scoped))
  }
}

const bodies = ({ allowingLoopback, briefly, receive }: Adapter) => {
  for (const manner of ["endless", "dripping"] as const) {
    it.live(`a body that is ${manner} is not read to its end, and its status is the response`, () =>
      Effect.gen(function*() {
        const { url } = yield* receive(manner)
        const { body, status } = Result.getOrThrow(yield* post(request(url)))
        assert.strictEqual(status, 200)
        assert.isAtMost(new TextEncoder().encode(body).length, 4096)
      }).pipe(briefly, Effect.scoped))
  }

  it.live.prop("keeps only the beginning of a body, as text that can be stored", {
    part: bytes,
    times: integer({ min: 0, max: 200 })
  }, ({ part, times }) =>
    Effect.gen(function*() {
      const whole = Uint8Array.from(Array.from({ length: times }, () => [...part]).flat())
      const { url } = yield* receive(responding(500, {}, whole))
      const { body } = Result.getOrThrow(yield* post(request(url)))
      assert.isTrue(Schema.is(Text)(body))
      assert.isAtMost(new TextEncoder().encode(body).length, 4096)
    }).pipe(allowingLoopback, Effect.scoped), { arbitrary: { runs: 50 } })

  it.live("a body that is too long is cut between two characters", () =>
    Effect.gen(function*() {
      const { url } = yield* receive(responding(200, {}, `x${"é".repeat(3000)}`))
      assert.strictEqual(Result.getOrThrow(yield* post(request(url))).body, `x${"é".repeat(2047)}`)
    }).pipe(allowingLoopback, Effect.scoped))
}

const failures = ({ allowing, briefly, receive }: Adapter) => {
  it.live("a response without a status before the deadline is a timeout", () =>
    Effect.gen(function*() {
      const receiver = yield* receive("unresponsive")
      const failure = Result.getOrThrow(Result.flip(yield* post(request(receiver.url))))
      assert.strictEqual(failure.failure_code, "timeout")
      assert.lengthOf(yield* receiver.received, 1)
    }).pipe(briefly, Effect.scoped))

  it.live("a name that does not resolve is a DNS error", () =>
    Effect.gen(function*() {
      const failure = Result.getOrThrow(Result.flip(yield* post(request("https://hooks.example"))))
      assert.strictEqual(failure.failure_code, "dns_error")
    }).pipe(allowing(null)))
}

const blockedAddresses = ({ allowing, receive }: Adapter) => {
  it.live("an address that is not public gets no request unless it is allowed, as an IP address or behind a name", () =>
    Effect.gen(function*() {
      const receiver = yield* receive(responding(200))
      const named = receiver.url.replace(loopback, "hooks.example")
      for (const url of [receiver.url, named, named.replace("http:", "https:")]) {
        for (const allowed of [null, () => false]) {
          const result = yield* post(request(url)).pipe(
            allowing(allowed, { resolve: () => Effect.succeed([loopback]) })
          )
          assert.strictEqual(Result.getOrThrow(Result.flip(result)).failure_code, "blocked_address", url)
        }
      }
      assert.strictEqual(yield* receiver.connections, 0)
    }).pipe(Effect.scoped))

  it.live("an address that is not allowed gets no request, even if the name resolved to an allowed address before", () =>
    Effect.gen(function*() {
      const receiver = yield* receive(responding(200))
      const url = receiver.url.replace(loopback, "hooks.example")
      const unused = "127.0.0.2"
      const turns = [[unused], [loopback], [unused, loopback], [loopback, unused]]
      const turn = yield* Ref.make(0)
      const resolve = () => Ref.modify(turn, (now) => [turns[now % turns.length] ?? [], now + 1] as const)
      const results = yield* Effect.replicateEffect(post(request(url)), 1000).pipe(
        allowing((address) => address === unused, { resolve })
      )
      const blocked = results.filter((result) =>
        Result.isFailure(result) && result.failure.failure_code === "blocked_address"
      )
      assert.lengthOf(blocked, 750)
      assert.strictEqual(yield* receiver.connections, 0)
    }).pipe(Effect.scoped))
}

/** Registers the tests of every guarantee of a transport, for one adapter. */
export const suite = (adapter: string, options: Options): void => {
  const transport = adapterOf(options)
  describe(adapter, () => {
    for (const group of [requests, responses, bodies, failures, blockedAddresses]) group(transport)
  })
}
