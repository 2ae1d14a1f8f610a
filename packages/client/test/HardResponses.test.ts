/** Every operation, with responses that the service never sends. The clock is the test's. */
import { assert, describe, it } from "@effect/vitest"
import { type Fetch, MessagingCrm, MessagingCrmError, Pages, type Retry, SendPendingError } from "@messaging-crm/client"
import { integer } from "@messaging-crm/conformance/Arbitraries"
import { Arbitrary, Effect, Schema } from "effect"
import { afterEach, beforeEach, vi } from "vitest"

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }))
afterEach(() => void vi.useRealTimers())

/** Lets time pass until a promise has settled, and returns its value or its error. */
const outcomeOf = async (promise: Promise<unknown>): Promise<unknown> => {
  const state = { isSettled: false }
  const outcome = promise.catch((error: unknown) => error).finally(() => void (state.isSettled = true))
  while (!state.isSettled) {
    await new Promise(setImmediate)
    if (!state.isSettled) await vi.advanceTimersToNextTimerAsync()
  }
  return outcome
}

/** The most requests of a call: the polls of `waitFor` with their retries. Each other call has at most two pages. */
const most_requests = 100

const connect = (respond: () => Response) => {
  const requests: Array<string> = []
  const retries: Array<Retry> = []
  const fetch: Fetch = async (url) => {
    if (requests.push(url) > most_requests) throw new Error("The client does not stop.")
    return respond()
  }
  const onRetry = (retry: Retry) => void retries.push(retry)
  return {
    crm: new MessagingCrm({ apiKey: "svc_live_x", baseUrl: "http://crm.example/v1", fetch, onRetry }),
    requests,
    retries
  }
}

/** Followers retry without a limit: `FollowedEvents.test.ts` and `StreamedEvents.test.ts` test them. */
const unlimited = new Set(["events.follow", "events.stream"])

/** Calls every other method of a client. A text serves as ID, query, body, and options. */
const operationsOf = (crm: MessagingCrm) =>
  Object.entries(crm).flatMap(([resource, methods]) =>
    Object.entries<(...parameters: ReadonlyArray<unknown>) => unknown>(methods).map(([name, method]) => ({
      name: `${resource}.${name}`,
      call: () => method("x", "x", "x")
    }))
  ).filter(({ name }) => !unlimited.has(name))

const json = (body: unknown, status = 200) => () => Response.json(body, { status })

/** Calls each operation with a client of its own, so that the requests of each can be counted. */
const eachOperation = async (
  respond: () => Response,
  check: (outcome: unknown, context: { name: string; requests: number; retries: ReadonlyArray<Retry> }) => void
) => {
  for (const { name } of operationsOf(connect(respond).crm)) {
    const { crm, requests, retries } = connect(respond)
    const result = operationsOf(crm).find((operation) => operation.name === name)?.call()
    const outcome = await outcomeOf(result instanceof Pages ? result.toArray({ limit: 1000 }) : Promise.resolve(result))
    check(outcome, { name, requests: requests.length, retries })
  }
}

const isUnexpected = (outcome: unknown) =>
  outcome instanceof MessagingCrmError && outcome.code === "unexpected_response" && outcome.param === null

describe("a response that is not from the API", () => {
  const bodies = [{}, { status: "ok" }, [], null, 1, { data: null }, { data: "x" }, { data: [[]], next_cursor: null }]

  for (const body of bodies) {
    it(`is unexpected for every operation: ${JSON.stringify(body)}`, () =>
      eachOperation(json(body), (outcome, { name, requests }) => {
        assert.isTrue(isUnexpected(outcome), `${name}: ${String(outcome)}`)
        assert.strictEqual(requests, 1, name)
      }))
  }

  it("is unexpected if it is a list instead of a resource, or a resource instead of a list", async () => {
    const { crm } = connect(json({ data: [], next_cursor: null }))
    assert.isTrue(isUnexpected(await outcomeOf(crm.contacts.get("c1"))))
    for (const body of [{ data: {} }, { data: { length: 0 }, next_cursor: null }, { data: [] }]) {
      const lists = connect(json(body)).crm
      assert.isTrue(isUnexpected(await outcomeOf(lists.contacts.list().page())), JSON.stringify(body))
      assert.isTrue(isUnexpected(await outcomeOf(lists.tags.list().toArray({ limit: 1 }))), JSON.stringify(body))
    }
  })

  it("is unexpected if the next page is the same page", async () => {
    for (const next_cursor of ["c1", ""]) {
      const { crm, requests } = connect(json({ data: [{ id: "1" }], next_cursor }))
      assert.isTrue(isUnexpected(await outcomeOf(crm.contacts.list().toArray({ limit: 1000 }))))
      assert.lengthOf(requests, 2)
      assert.isTrue(isUnexpected(await outcomeOf(crm.contacts.list({ cursor: next_cursor }).page())))
      assert.lengthOf(requests, 3)
    }
  })

  it("is unexpected if it is an error of a different API", async () => {
    const error = { code: "not_found", message: "No.", param: null, request_id: "r1" }
    const others: ReadonlyArray<readonly [string, unknown]> = [
      ["code", 404],
      ["message", {}],
      ["message", { toString: null }],
      ["param", []],
      ["param", undefined]
    ]
    for (const [name, value] of others) {
      const { crm, requests } = connect(json({ error: { ...error, [name]: value } }, 404))
      assert.isTrue(isUnexpected(await outcomeOf(crm.contacts.get("c1"))), name)
      assert.lengthOf(requests, 1)
    }
    for (const status of [200, 302]) {
      assert.isTrue(isUnexpected(await outcomeOf(connect(json({ error }, status)).crm.contacts.get("c1"))))
    }
  })
})

it("an empty page of a list is followed by the next page", async () => {
  const pages = [{ data: [], next_cursor: "c1" }, { data: [{ id: "1" }], next_cursor: null }]
  const { crm, requests } = connect(() => Response.json(pages.shift()))
  assert.deepStrictEqual(await outcomeOf(crm.contacts.list().toArray({ limit: 9 })), [{ id: "1" }])
  assert.lengthOf(requests, 2)
})

/** Checks that a call ended with a result or an error of the client, after few requests. */
const checkEnding = (status: number): Parameters<typeof eachOperation>[1] => (outcome, { name, requests, retries }) => {
  const context = outcome instanceof Error ? `${name}: ${String(outcome)}` : name
  assert.isAtMost(requests, name === "sends.waitFor" ? most_requests : 4, context)
  for (const { pause } of retries) assert.isTrue(pause >= 0 && pause <= 68_000, context)
  if (outcome instanceof MessagingCrmError) {
    assert.strictEqual(outcome.status, status)
    assert.isTrue(outcome.param === null || typeof outcome.param === "string", context)
    assert.isTrue(outcome.retryAfter === null || outcome.retryAfter >= 0, context)
    for (const text of [outcome.code, outcome.message, outcome.requestId]) assert.isString(text, context)
  } else {
    // No `ConnectionError` either: each request has a response.
    assert.isTrue(!(outcome instanceof Error) || outcome instanceof SendPendingError, context)
    assert.strictEqual(Math.floor(status / 100), 2, context)
  }
}

/** The places of a response that can have a value of a wrong type. */
const places: ReadonlyArray<(value: unknown) => unknown> = [
  (value) => value,
  (data) => ({ data }),
  (data) => ({ data, next_cursor: null }),
  (item) => ({ data: [item], next_cursor: null }),
  (next_cursor) => ({ data: [{}], next_cursor }),
  (status) => ({ data: { id: "s1", status, message_id: status } }),
  (error) => ({ error }),
  (code) => ({ error: { code, message: "No.", param: null, request_id: "r1" } }),
  (message) => ({ error: { code: "conflict", message, param: null, request_id: "r1" } }),
  (param) => ({ error: { code: "conflict", message: "No.", param, request_id: "r1" } })
]

describe("a result or an error of the client", () => {
  /** The last one is an object that no template can contain. */
  const values: ReadonlyArray<unknown> = [null, true, 0, "", "x", [], {}, [null], { toString: null, valueOf: null }]
  /** The last one has names with a meaning for promises, for objects, and for the client. */
  const texts = ["", "<html>", "{", "NaN", "[".repeat(100_000), "\uFEFF{}"].concat(
    "{\"data\":{\"then\":1,\"__proto__\":null,\"lastResponse\":1}}"
  )

  for (const status of [200, 409]) {
    it(`follows each wrong type in each place of a ${status}`, async () => {
      for (const place of places) {
        for (const value of values) await eachOperation(json(place(value), status), checkEnding(status))
      }
    })

    it(`follows each text with ${status}`, async () => {
      for (const text of texts) await eachOperation(() => new Response(text, { status }), checkEnding(status))
    })
  }

  const pauses = ["", "0", "7", "60", "61", "-1", "1.5", "1e9", "Infinity", "soon", "9".repeat(400)]
    .concat("Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT")

  /** One of the choices. */
  const one = <A>(choices: ReadonlyArray<A>) =>
    integer({ min: 0, max: choices.length - 1 }).pipe(Arbitrary.map((index) => choices[index] as A))

  it.effect.prop("follows any response", {
    place: one(places),
    retry_after: one(pauses),
    status: one([200, 201, 202, 206, 302, 400, 401, 404, 408, 409, 429, 500, 503]),
    type: one(["application/json", "text/html", "", "image/png", "application/json; charset=utf-16"]),
    value: Arbitrary.schema(Schema.Json)
  }, ({ place, retry_after, status, type, value }) =>
    Effect.promise(() => {
      const headers = { "content-type": type, "retry-after": retry_after }
      return eachOperation(() => new Response(JSON.stringify(place(value)), { status, headers }), checkEnding(status))
    }))
})
