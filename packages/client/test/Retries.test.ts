/** Tests of failed attempts: every call has one effect, ends, and waits as long as the response asks. The clock is the test's. */
import { assert, describe, it } from "@effect/vitest"
import {
  ConnectionError,
  type Fetch,
  MessagingCrm,
  MessagingCrmError,
  type MessagingCrmOptions,
  type Retry,
  SendPendingError,
  TimeoutError
} from "@messaging-crm/client"
import { afterAll, afterEach, beforeEach, vi } from "vitest"
import { start } from "../../adapter-http/testing/Service.ts"

const service = start()
afterAll(() => service.stop())
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }))
afterEach(() => void vi.useRealTimers())

let running = 0

/** Asks the service, for which time stands still. */
const ask: Fetch = async (url, { signal: _, ...init }) => {
  running += 1
  return service.fetch(url, init).finally(() => void (running -= 1))
}

/** Lets time pass until a promise has settled. Time stands still while a response is read. */
const settled = async <A>(promise: Promise<A>): Promise<A> => {
  const state = { isSettled: false }
  promise.catch(() => {}).finally(() => void (state.isSettled = true))
  while (!state.isSettled) {
    await new Promise(setImmediate)
    if (running === 0 && !state.isSettled) await vi.advanceTimersToNextTimerAsync()
  }
  return promise
}

const failure = async (promise: Promise<unknown>): Promise<unknown> => {
  const error = await settled(promise.then(() => undefined, (error: unknown) => error))
  assert.isDefined(error)
  return error
}

const rejection = async (promise: Promise<unknown>): Promise<MessagingCrmError> => {
  const error = await failure(promise)
  assert.instanceOf(error, MessagingCrmError)
  return error
}

const untilAborted = (signal: AbortSignal | null | undefined): Promise<never> =>
  new Promise((_, reject) => {
    const end = () => reject(signal?.reason)
    if (signal?.aborted === true) end()
    else signal?.addEventListener("abort", end)
  })

const rejected = (status: number, code: string, headers: Record<string, string> = {}): Fetch => async () =>
  Response.json({ error: { code, message: "No.", param: null, request_id: "r1" } }, { status, headers })

/** The faults of one attempt. The service executes each request that it receives, even if its response is lost. */
const faults: Readonly<Record<string, Fetch>> = {
  "connection refused": async () => {
    throw new TypeError("fetch failed")
  },
  "response lost": async (url, init) => {
    await ask(url, init)
    throw new TypeError("terminated")
  },
  "body lost": async (url, init) => {
    await ask(url, init)
    const body = new ReadableStream({ start: (controller) => controller.error(new TypeError("terminated")) })
    return new Response(body, { status: 201 })
  },
  "nothing heard, nothing done": (_, init) => untilAborted(init.signal),
  "nothing heard, all done": async (url, init) => {
    await ask(url, init)
    return untilAborted(init.signal)
  },
  "failed": rejected(500, "internal_error"),
  "proxy's 502": async () => new Response("<html>Bad Gateway</html>", { status: 502 }),
  "too slow": rejected(408, "request_timeout"),
  "too many": rejected(429, "rate_limited", { "retry-after": "7" }),
  "still running": rejected(409, "request_processing", { "retry-after": "1" }),
  "contended": rejected(409, "conflict", { "retry-after": "1" })
}

interface Attempt {
  readonly at: number
  readonly headers: Headers
}

/** A client whose attempts go through these, one after another, and then to the service. */
const connect = async (script: ReadonlyArray<Fetch>, options: Partial<MessagingCrmOptions> = {}) => {
  const { key } = await service.organization()
  const attempts: Array<Attempt> = []
  const fetch: Fetch = (url, init) => {
    const step = script[attempts.length] ?? ask
    attempts.push({ at: Date.now(), headers: new Headers(init.headers) })
    return step(url, init)
  }
  const settings = { apiKey: key, baseUrl: "http://localhost/v1" }
  const crm = new MessagingCrm({ ...settings, fetch, ...options })
  return { attempts, crm, sure: new MessagingCrm({ ...settings, fetch: ask }) }
}

const pauses = (attempts: ReadonlyArray<Attempt>): ReadonlyArray<number> =>
  attempts.slice(1).map(({ at }, index) => at - (attempts[index]?.at ?? 0))

const pairs = Object.keys(faults).flatMap((first) => Object.keys(faults).map((second) => [first, second] as const))

describe("a write", () => {
  for (const names of pairs) {
    it(`has one effect after: ${names.join(", ")}`, async () => {
      const script = names.flatMap((name) => faults[name] ?? [])
      const { attempts, crm, sure } = await connect(script)
      const made = await settled(crm.contacts.create({ first_name: "Kim" }))
      assert.lengthOf(attempts, 3)
      assert.strictEqual(new Set(attempts.map(({ headers }) => headers.get("idempotency-key"))).size, 1)
      assert.strictEqual(new Set(attempts.map(({ headers }) => headers.get("x-request-id"))).size, 3)
      assert.deepStrictEqual(await settled(sure.contacts.list().toArray({ limit: 10 })), [made])
    })
  }

  it("has one effect even if its key is optional", async () => {
    for (const name of ["response lost", "nothing heard, all done"]) {
      const { crm, sure } = await connect([ask, faults[name] ?? ask])
      const { id } = await settled(crm.contacts.create({ first_name: "Kim" }))
      await settled(crm.contacts.addNote(id, { text: "called" }))
      assert.strictEqual((await settled(sure.contacts.get(id))).notes, "called")
    }
  })

  it("has one effect if two calls with the same key run concurrently", async () => {
    const { crm, sure } = await connect([])
    const create = () => crm.contacts.create({ first_name: "Kim" }, { idempotencyKey: "kim-4711" })
    const [one, other] = await settled(Promise.all([create(), create()]))
    assert.deepStrictEqual(one, other)
    assert.lengthOf(await settled(sure.contacts.list().toArray({ limit: 10 })), 1)
  })
})

describe("a call", () => {
  it("is retried three times, then throws the last error", async () => {
    const expected: Readonly<Record<string, string>> = {
      "connection refused": "ConnectionError",
      "response lost": "ConnectionError",
      "body lost": "ConnectionError",
      "nothing heard, nothing done": "TimeoutError",
      "nothing heard, all done": "TimeoutError",
      "failed": "internal_error",
      "too slow": "request_timeout",
      "proxy's 502": "unexpected_response",
      "too many": "rate_limited",
      "still running": "request_processing",
      "contended": "conflict"
    }
    for (const [name, fault] of Object.entries(faults)) {
      const { attempts, crm } = await connect([fault, fault, fault, fault])
      const error = await failure(crm.contacts.create({ first_name: "Kim" }))
      assert.lengthOf(attempts, 4, name)
      const word = error instanceof MessagingCrmError ? error.code : error instanceof ConnectionError ? error.name : ""
      assert.strictEqual(word, expected[name])
    }
  })

  it("can have no timeout", async () => {
    const { attempts, crm } = await connect([], { timeout: Infinity })
    await settled(crm.contacts.create({ first_name: "Kim" }))
    assert.lengthOf(attempts, 1)
  })

  it("is retried at most `maxRetries` times", async () => {
    const fault = faults.failed ?? ask
    const { attempts, crm } = await connect([fault, fault], { maxRetries: 1 })
    await failure(crm.tags.list().page())
    assert.lengthOf(attempts, 2)
    await settled(crm.tags.list({ maxRetries: 0 }).page())
    assert.lengthOf(attempts, 3)
  })

  it("is not retried after a permanent rejection", async () => {
    for (
      const [status, code] of [
        [400, "invalid_input"],
        [401, "unauthorized"],
        [403, "insufficient_scope"],
        [404, "not_found"],
        [409, "conflict"],
        [409, "idempotency_conflict"],
        [412, "precondition_failed"],
        [413, "body_too_large"],
        [415, "unsupported_media_type"]
      ] as const
    ) {
      const { attempts, crm } = await connect([rejected(status, code)])
      const error = await rejection(crm.contacts.create({ first_name: "Kim" }))
      assert.deepStrictEqual([error.status, error.code], [status, code])
      assert.lengthOf(attempts, 1)
    }
  })

  it("is not retried after a response from something other than the service", async () => {
    for (
      const response of [Response.json([], { status: 404 }), new Response("hello"), Response.redirect("http://x", 307)]
    ) {
      const { attempts, crm } = await connect([async () => response])
      assert.strictEqual((await rejection(crm.tags.list().page())).code, "unexpected_response")
      assert.lengthOf(attempts, 1)
    }
  })
})

describe("the pause before a retry", () => {
  it("doubles, with jitter from half to all of it", async () => {
    const fault = faults.failed ?? ask
    const { attempts, crm } = await connect(Array.from({ length: 8 }, () => fault), { maxRetries: 7 })
    await failure(crm.tags.list().page())
    for (const [index, pause] of pauses(attempts).entries()) {
      const whole = Math.min(500 * 2 ** index, 8000)
      assert.isAtLeast(pause, whole / 2 - 1)
      assert.isAtMost(pause, whole + 1)
    }
  })

  it("lasts as long as `Retry-After`", async () => {
    const { attempts, crm } = await connect([faults["too many"] ?? ask])
    await settled(crm.tags.list().page())
    const [pause = 0] = pauses(attempts)
    assert.isAtLeast(pause, 7000)
    assert.isAtMost(pause, 7501)
  })

  it("can be a date from a proxy", async () => {
    const at = new Date(Date.now() + 20_000)
    for (const date of [at.toUTCString(), at.toISOString(), `${at.toDateString()} ${at.toTimeString().slice(0, 8)}`]) {
      vi.setSystemTime(at.getTime() - 20_000)
      const { attempts, crm } = await connect([
        async () => new Response("", { status: 503, headers: { "retry-after": date } })
      ])
      await settled(crm.tags.list().page())
      assert.isAtLeast(pauses(attempts)[0] ?? 0, 18_000, date)
    }
  })

  it("is left to the caller if it would be longer than a minute", async () => {
    const { attempts, crm } = await connect([rejected(503, "provider_unavailable", { "retry-after": "61" })])
    const error = await rejection(crm.templates.list().page())
    assert.strictEqual(error.retryAfter, 61)
    assert.strictEqual(error.requestId, attempts[0]?.headers.get("x-request-id"))
    assert.lengthOf(attempts, 1)
  })
})

describe("a caller", () => {
  it("sets the time limit of an attempt", async () => {
    const hang = faults["nothing heard, nothing done"] ?? ask
    const { attempts, crm } = await connect([hang, hang], { maxRetries: 0, timeout: 1000 })
    const began = Date.now()
    const error = await failure(crm.tags.list().page())
    assert.instanceOf(error, TimeoutError)
    assert.match(error.requestId, /^[0-9a-f-]{36}$/)
    assert.strictEqual(error.requestId, attempts[0]?.headers.get("x-request-id"))
    assert.isAtMost(Date.now() - began, 1050)
    await failure(crm.tags.list({ timeout: 10_000 }).page())
    assert.isAtLeast(Date.now() - began, 11_000)
  })

  it("can abort before, during, and between attempts", async () => {
    const reason = new Error("I gave up")
    const before = await connect([])
    assert.strictEqual(await failure(before.crm.tags.list({ signal: AbortSignal.abort(reason) }).page()), reason)
    assert.lengthOf(before.attempts, 0)
    for (const name of ["nothing heard, nothing done", "too many"]) {
      const { attempts, crm } = await connect([faults[name] ?? ask])
      const caller = new AbortController()
      const call = failure(crm.tags.list({ signal: caller.signal }).page())
      await vi.advanceTimersByTimeAsync(100)
      caller.abort(reason)
      assert.strictEqual(await call, reason)
      await vi.advanceTimersByTimeAsync(60_000)
      assert.lengthOf(attempts, 1, name)
    }
  })

  it("that follows events waits for about a second after an empty page that came at once, unless it started now", async () => {
    let cursor = 0
    const empty: Fetch = async () => Response.json({ data: [], next_cursor: `c${++cursor}` })
    const slow: Fetch = (url, init) => new Promise((resolve) => setTimeout(() => resolve(empty(url, init)), 1000))
    const caller = new AbortController()
    const { attempts, crm } = await connect([empty, empty, slow, empty, empty])
    const pages = crm.events.follow({ after: "now" }, { signal: caller.signal }).pages()
    for (let page = 0; page < 5; page++) await settled(pages.next())
    const [start = -1, first = 0, second = 0, third = -1] = pauses(attempts)
    assert.strictEqual(start, 0)
    assert.isTrue(first >= 500 && first <= 1000, `${first} ms`)
    assert.strictEqual(second, 1000)
    assert.isTrue(third >= 500 && third <= 1000, `${third} ms`)
    const next = failure(pages.next())
    await new Promise(setImmediate)
    caller.abort(new Error("stop"))
    assert.strictEqual(await next, caller.signal.reason)
    assert.lengthOf(attempts, 5)
  })

  it("that follows events ends at once if the signal has aborted before a pause", async () => {
    const caller = new AbortController()
    const empty: Fetch = async () => Response.json({ data: [], next_cursor: "c" })
    const { attempts, crm } = await connect([empty, empty])
    const pages = crm.events.follow({ after: "c" }, { signal: caller.signal }).pages()
    await settled(pages.next())
    caller.abort(new Error("stop"))
    assert.strictEqual(await failure(pages.next()), caller.signal.reason)
    assert.strictEqual(vi.getTimerCount(), 0)
    assert.lengthOf(attempts, 1)
  })

  it("polls a send for two minutes, or for `timeout`", async () => {
    const send = { id: "s1", conversation_id: "c1", status: "unknown", message_id: null, failure_reason: null }
    const still: Fetch = async () => Response.json({ data: send })
    const { attempts, crm } = await connect(Array.from({ length: 200 }, () => still))
    const began = Date.now()
    const error = await failure(crm.sends.waitFor("s1"))
    assert.instanceOf(error, SendPendingError)
    assert.strictEqual(error.send.status, "unknown")
    assert.strictEqual(Date.now() - began, 120_000)
    assert.isAtMost(attempts.length, 60)
    const reason = new Error("I gave up")
    const caller = new AbortController()
    const call = failure(crm.sends.waitFor("s1", { signal: caller.signal }))
    await vi.advanceTimersByTimeAsync(100)
    caller.abort(reason)
    assert.strictEqual(await call, reason)
  })

  it("ends a poll that its caller aborts", async () => {
    const signals: Array<AbortSignal | null | undefined> = []
    const silent: Fetch = (_, init) => {
      signals.push(init.signal)
      return untilAborted(init.signal)
    }
    const { crm } = await connect([silent])
    const caller = new AbortController()
    const call = failure(crm.sends.waitFor("s1", { signal: caller.signal }))
    await vi.advanceTimersByTimeAsync(100)
    caller.abort(new Error("I gave up"))
    assert.deepStrictEqual(signals.map((signal) => signal?.aborted), [true])
    await call
  })

  it("waits at most `timeout` for a silent or slow service", async () => {
    const silent: Fetch = (_, init) => untilAborted(init.signal)
    const slow: Fetch = async (_, { signal }) => {
      await Promise.race([untilAborted(signal), new Promise((resolve) => setTimeout(resolve, 400))])
      return Response.json({ data: { id: "s1", status: "queued" } })
    }
    for (const [fault, kind] of [[silent, TimeoutError], [slow, SendPendingError]] as const) {
      const { crm } = await connect(Array.from({ length: 9 }, () => fault))
      const began = Date.now()
      const error = await failure(crm.sends.waitFor("s1", { timeout: 1000 }))
      assert.isTrue(error instanceof kind)
      assert.strictEqual(Date.now() - began, 1000)
    }
  })

  it("gets the error of a poll that times out before `timeout`", async () => {
    const first: Fetch = async () => Response.json({ data: { id: "s1", status: "queued" } })
    const silent: Fetch = (_, init) => untilAborted(init.signal)
    const { crm } = await connect([first, silent], { maxRetries: 0, timeout: 500 })
    assert.instanceOf(await failure(crm.sends.waitFor("s1")), TimeoutError)
  })

  it("ends with the last failure if a retry would be too late", async () => {
    const { crm } = await connect(Array.from({ length: 9 }, () => rejected(503, "unavailable")))
    const began = Date.now()
    const error = await rejection(crm.sends.waitFor("s1", { timeout: 1000 }))
    assert.strictEqual(error.status, 503)
    assert.isBelow(Date.now() - began, 1000)
  })

  it("gets a send that ended half a second before the timeout", async () => {
    const began = Date.now()
    const sent: Fetch = async () =>
      Response.json({ data: { id: "s1", status: Date.now() - began < 9500 ? "sending" : "sent", message_id: "m1" } })
    const { crm } = await connect(Array.from({ length: 99 }, () => sent))
    assert.strictEqual((await settled(crm.sends.waitFor("s1", { timeout: 10_000 }))).status, "sent")
  })

  it("learns of each retry, and which URL did not respond", async () => {
    const retries: Array<Retry> = []
    const crm = new MessagingCrm({
      apiKey: "svc_live_x",
      baseUrl: "http://crm.example/v1",
      maxRetries: 2,
      fetch: async () => Promise.reject(new TypeError("fetch failed")),
      onRetry: (retry) => retries.push(retry)
    })
    const error = await failure(crm.contacts.list({ query: "Kim" }).page())
    assert.instanceOf(error, ConnectionError)
    assert.include(error.message, "GET http://crm.example/v1/contacts did not respond")
    assert.notInclude(error.message, "Kim")
    assert.deepStrictEqual(retries.map(({ attempt, method, path }) => `${method} ${path} ${attempt}`), [
      "GET /contacts 1",
      "GET /contacts 2"
    ])
    // A timer rounds up, so a pause that is a fraction shorter than the time left would end after it.
    assert.isTrue(retries.every(({ pause }) => Number.isInteger(pause)))
  })

  it("must set the key and the address, and numbers that make sense", () => {
    const good = { apiKey: "svc_live_x", baseUrl: "http://crm.example/v1" }
    for (
      const [wrong, name] of [
        [{ apiKey: "" }, "apiKey"],
        [{ apiKey: "svc_live_x\n" }, "apiKey"],
        [{ apiKey: "svc_live_€" }, "apiKey"],
        [{ baseUrl: "crm" }, "baseUrl"],
        [{ baseUrl: "ftp://crm.example/v1" }, "baseUrl"],
        [{ baseUrl: "http://user:pass@crm.example/v1" }, "baseUrl"],
        [{ baseUrl: "http://crm.example/v1?x=1" }, "baseUrl"],
        [{ baseUrl: "http://crm.example/v1?" }, "baseUrl"],
        [{ baseUrl: "http://crm.example/v1#x" }, "baseUrl"],
        [{ baseUrl: "http://crm.example/v1#" }, "baseUrl"],
        [{ baseUrl: "http://crm.example/v1\n" }, "baseUrl"],
        [{ baseUrl: " http://crm.example/v1" }, "baseUrl"],
        [{ timeout: 0 }, "timeout"],
        [{ timeout: Number.NaN }, "timeout"],
        [{ maxRetries: -1 }, "maxRetries"]
      ] as const
    ) {
      assert.throws(() => new MessagingCrm({ ...good, ...wrong }), TypeError, name)
    }
  })

  it("gets an error at once for a key or a number that no request can have", async () => {
    const { attempts, crm } = await connect([])
    for (const idempotencyKey of ["order-€-4711", "order\n4711", "order\u00004711"]) {
      const error = await failure(crm.contacts.create({ first_name: "Ada" }, { idempotencyKey }))
      assert.instanceOf(error, TypeError)
      assert.include(error.message, "idempotencyKey")
    }
    assert.instanceOf(await failure(crm.tags.list({ timeout: -1 }).page()), TypeError)
    for (const timeout of [0, -1, Number.NaN]) {
      const error = await failure(crm.sends.waitFor("s1", { timeout }))
      assert.instanceOf(error, TypeError)
      assert.include(error.message, "timeout")
    }
    assert.lengthOf(attempts, 0)
  })
})
