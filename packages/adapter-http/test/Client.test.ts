/** The contract as an Effect client, against the service. */
import { assert, describe, it } from "@effect/vitest"
import { Client, idempotencyKey } from "@messaging-crm/adapter-http/Client"
import { CreateContact } from "@messaging-crm/core/Contacts"
import { Ids } from "@messaging-crm/core/Ids"
import { CreateTag } from "@messaging-crm/core/Tags"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { afterAll } from "vitest"
import { start } from "../testing/Service.ts"

const service = start()
afterAll(() => service.stop())

type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** A client of a new organization, whose requests go through these, one after another, and then to the service. */
const connect = (script: ReadonlyArray<Fetch> = []) =>
  Layer.unwrap(Effect.gen(function*() {
    const { key } = yield* Effect.promise(() => service.organization())
    const steps = [...script]
    // The client gives a text and an object, and no `Request`.
    const fetch = ((url: URL, init: RequestInit) =>
      (steps.shift() ?? service.fetch)(String(url), init)) as typeof globalThis.fetch
    return Client.layer({ api_key: Redacted.make(key), base_url: "http://localhost/v1" }).pipe(
      Layer.provide(FetchHttpClient.layer),
      Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fetch)),
      Layer.provideMerge(Ids.layer)
    )
  }))

const create = Effect.gen(function*() {
  const crm = yield* Client
  const headers = yield* idempotencyKey
  return yield* crm.contacts.create({ headers, payload: CreateContact.make({ first_name: "Kim" }) })
})

it.live("calls the operations, and fails with the errors of the contract", () =>
  Effect.gen(function*() {
    const crm = yield* Client
    const { data: tag } = yield* crm.tags.create({
      headers: {},
      payload: CreateTag.make({ name: "VIP", color: "amber" })
    })
    assert.deepStrictEqual((yield* crm.tags.list({})).data, [tag])
    const { data: contact } = yield* create
    assert.strictEqual((yield* crm.contacts.get({ params: { contact_id: contact.id } })).data.first_name, "Kim")
    assert.lengthOf((yield* crm.contacts.list({ query: { page_size: 1 } })).data, 1)
    const taken = yield* Effect.flip(
      crm.tags.create({ headers: {}, payload: CreateTag.make({ name: "vip", color: "red" }) })
    )
    assert.isTrue("error" in taken && taken.error.code === "conflict")
  }).pipe(Effect.provide(connect())))

it.live("retries a write whose response was lost, which takes effect once", () =>
  Effect.gen(function*() {
    const crm = yield* Client
    const { data } = yield* create
    assert.deepStrictEqual((yield* crm.contacts.list({ query: {} })).data, [data])
  }).pipe(Effect.provide(connect([
    async (url, init) => {
      await service.fetch(url, init)
      throw new TypeError("terminated")
    }
  ]))))

it.live("repeats a write that is still running", () =>
  Effect.gen(function*() {
    assert.strictEqual((yield* create).data.first_name, "Kim")
  }).pipe(Effect.provide(connect([
    async () =>
      Response.json({ error: { code: "request_processing", message: "Wait.", param: null, request_id: "r1" } }, {
        status: 409,
        headers: { "retry-after": "1" }
      })
  ]))))

describe("every attempt of a write has one idempotency key, and every write has another", () => {
  const rejection = (status: number, code: string) =>
    Response.json({ error: { code, message: "Wait.", param: null, request_id: "r1" } }, {
      status,
      headers: { "retry-after": "1" }
    })
  const tag = { data: { id: "0199abcd-0000-7000-8000-00000000000f", name: "VIP", color: "amber" } }
  const failures = {
    "no response": null,
    "500": rejection(500, "internal_error"),
    "429": rejection(429, "rate_limited"),
    "503": rejection(503, "overloaded"),
    "409 request_processing": rejection(409, "request_processing"),
    "409 conflict": rejection(409, "conflict")
  }

  /** Returns the keys of the attempts of a write whose first attempt fails, and then those of another. */
  const keysOf = (failure: Response | null, headers: { readonly "idempotency-key"?: string }) =>
    Effect.gen(function*() {
      const keys: Array<string | undefined> = []
      const http = HttpClient.make((request) => {
        keys.push(request.headers["idempotency-key"])
        const response = keys.length === 1 ? failure : Response.json(tag)
        return response === null
          ? Effect.fail(
            new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request }) })
          )
          : Effect.succeed(HttpClientResponse.fromWeb(request, response))
      })
      const client = Client.layer({ api_key: Redacted.make("svc_live_1"), base_url: "http://localhost/v1" }).pipe(
        Layer.provide([Layer.succeed(HttpClient.HttpClient, http), Ids.layer])
      )
      const create = Client.use(({ tags }) =>
        tags.create({ headers, payload: CreateTag.make({ name: "VIP", color: "amber" }) })
      )
      const calls = yield* Effect.forkChild(Effect.provide(Effect.andThen(create, create), client))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(calls)
      return keys
    })

  it.effect.each(Object.entries(failures))("after %s", ([, failure]) =>
    Effect.gen(function*() {
      const [first, repeated, other, ...more] = yield* keysOf(failure?.clone() ?? null, {})
      assert.isDefined(first)
      assert.strictEqual(repeated, first)
      assert.isDefined(other)
      assert.notStrictEqual(other, first)
      assert.isEmpty(more)
      const given = { "idempotency-key": "signup-4711" }
      const three = Array.from({ length: 3 }, () => "signup-4711")
      assert.deepStrictEqual(yield* keysOf(failure?.clone() ?? null, given), three)
    }))
})
