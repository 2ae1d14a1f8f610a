import { type CustomerMessage, makeConsole, Monitor } from "@messaging-crm/console"
import { globSync } from "node:fs"
import { assert, describe, it } from "vitest"

const apiKey = "svc_live_of_this_test"

const origin = "http://127.0.0.1:3000"
const options = { apiKey, baseUrl: `${origin}/v1`, path: "/console", hosts: ["127.0.0.1", "localhost", "[::1]"] }

const callRequest = (name: string, body: string, headers: Readonly<Record<string, string>> = { origin }) =>
  new Request(`${origin}/console/call/${name}`, { method: "POST", headers, body })

/** A console over a service that responds to every call with an empty list, and the calls that it made. */
const consoleOf = (development: "absent" | "real network" | "simulated" = "simulated") => {
  const calls: Array<{ readonly url: string; readonly authorization: string | null }> = []
  const customerMessages: Array<CustomerMessage> = []
  const monitor = new Monitor()
  const writeAsCustomer = async (message: CustomerMessage) => void customerMessages.push(message)
  const console = makeConsole({
    ...options,
    fetch: async (url, init) => {
      calls.push({ url, authorization: new Headers(init.headers).get("authorization") })
      return Response.json({ data: [], next_cursor: null })
    },
    ...development === "absent"
      ? {}
      : { development: { monitor, writeAsCustomer: development === "simulated" ? writeAsCustomer : null } }
  })
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    console.handle(new Request(`${origin}${path}`, { headers }))
  const call = (name: string, input: unknown = {}, headers: Readonly<Record<string, string>> = {}) =>
    console.handle(callRequest(name, JSON.stringify(input), { origin, "content-type": "application/json", ...headers }))
  return { call, calls, console, customerMessages, get, monitor }
}

/** Returns the status and the error code of a call over a service with this `fetch`. */
const errorOver = async (fetch: () => Promise<Response>) => {
  const console = makeConsole({ ...options, fetch })
  const response = await console.handle(callRequest("conversation", "{}"))
  console.close()
  return [response.status, (await response.json()).error.code]
}

it("closes the oldest stream when more than 100 are open", async () => {
  const { console, get, monitor } = consoleOf()
  const streams = await Promise.all(Array.from({ length: 101 }, () => get("/console/stream")))
  monitor.request({ method: "GET", path: "/v1/tags", status: 200, code: null, error: null, duration_ms: 1 })
  console.close()
  const received = await Promise.all(streams.map((stream) => stream.text()))
  assert.deepStrictEqual(
    received.map((text) => text.includes("/v1/tags")),
    [false, ...Array.from({ length: 100 }, () => true)]
  )
})

describe("the check of Host and Origin", () => {
  for (const host of ["127.0.0.1:3000", "localhost:9999", "[::1]:3000", "LOCALHOST"]) {
    it(`allows ${host}`, async () => {
      assert.strictEqual((await consoleOf().get("/console", { host })).status, 200)
    })
  }

  for (
    const host of [
      "evil.example",
      "127.0.0.1.evil.example:3000",
      "localhost.evil.example",
      "127.0.0.1@evil.example",
      "",
      " "
    ]
  ) {
    it(`rejects the host ${JSON.stringify(host)}`, async () => {
      for (const path of ["/console", "/console/stream", "/console/page/main.mjs"]) {
        assert.strictEqual((await consoleOf().get(path, { host })).status, 403)
      }
    })
  }

  for (const other of ["https://evil.example", "null", "http://127.0.0.1:3001", "http://localhost:3000", "nonsense"]) {
    it(`rejects a call and the stream for the origin ${other}`, async () => {
      const { call, calls, get } = consoleOf()
      assert.strictEqual((await call("conversations", {}, { origin: other })).status, 403)
      assert.strictEqual((await get("/console/stream", { origin: other })).status, 403)
      assert.deepStrictEqual(calls, [])
    })
  }

  it("rejects a call without an origin", async () => {
    const { console } = consoleOf()
    assert.strictEqual((await console.handle(callRequest("conversations", "{}", {}))).status, 403)
  })

  for (const site of ["cross-site", "same-site"]) {
    it(`lets a ${site} page link here, and read nothing`, async () => {
      const { get } = consoleOf()
      const headers = { "sec-fetch-site": site }
      assert.strictEqual((await get("/console", { ...headers, "sec-fetch-mode": "navigate" })).status, 200)
      assert.strictEqual((await get("/console/stream", { ...headers, "sec-fetch-mode": "no-cors" })).status, 403)
    })
  }
})

describe("the page", () => {
  it("runs its own scripts only, and cannot be framed", async () => {
    const policy = (await consoleOf().get("/console")).headers.get("content-security-policy") ?? ""
    assert.match(policy, /^default-src 'none'; script-src 'self' 'sha256-[^']+'; style-src 'self';/)
    assert.match(policy, /connect-src 'self'.*frame-ancestors 'none'/)
  })

  it("serves its own files, and no others", async () => {
    const { get } = consoleOf()
    for (const name of [...globSync("**/*.*", { cwd: new URL("../page", import.meta.url) }), "lit-html.js"]) {
      assert.strictEqual((await get(`/console/page/${name}`)).status, 200, name)
    }
    for (
      const name of [
        "..%2fpackage.json",
        "../src/index.ts",
        "inbox/..%2f..%2fsrc/index.ts",
        "none.mjs",
        "constructor",
        "__proto__",
        ""
      ]
    ) {
      assert.strictEqual((await get(`/console/page/${name}`)).status, 404)
    }
  })
})

describe("the operations", () => {
  it("are called with the key, which no response contains", async () => {
    const { call, calls, get } = consoleOf()
    const responses = [
      await call("conversations", { status: "open" }),
      await call("setup"),
      await get("/console"),
      await get("/console/page/main.mjs")
    ]
    assert.strictEqual(calls[0]?.url, "http://127.0.0.1:3000/v1/conversations?page_size=100&status=open")
    assert.isTrue(calls.every(({ authorization }) => authorization === `Bearer ${apiKey}`))
    for (const response of responses) {
      assert.notInclude(await response.text() + JSON.stringify(Array.from(response.headers)), apiKey)
    }
  })

  it("read the newest messages of at most 20 conversations", async () => {
    const { call, calls } = consoleOf()
    const ids = Array.from({ length: 25 }, (_, index) => `c${index}`)
    assert.lengthOf(await (await call("newestMessages", { ids })).json(), 20)
    assert.lengthOf(calls, 20)
  })

  it("are those of the inbox only, without a service in development", async () => {
    const { call } = consoleOf("absent")
    assert.strictEqual((await call("conversations")).status, 200)
    for (const name of ["webhooks", "retry", "writeAsCustomer", "constructor", "toString"]) {
      assert.strictEqual((await call(name)).status, 404)
    }
  })

  it("reject invalid input and a malformed body", async () => {
    const { call, console } = consoleOf()
    assert.strictEqual((await call("send", null)).status, 400)
    assert.strictEqual((await console.handle(callRequest("send", "{"))).status, 400)
  })

  it("report that the service does not respond", async () => {
    assert.deepStrictEqual(await errorOver(() => Promise.reject(new TypeError("fetch failed"))), [502, "unreachable"])
  })

  it("report at once that the key has to wait for a minute", async () => {
    const message = "The API key exceeded its limit of 120 requests per minute. Retry after 60 s."
    const error = { code: "rate_limited", message, param: null }
    const console = makeConsole({
      ...options,
      fetch: () => Promise.resolve(Response.json({ error }, { status: 429, headers: { "retry-after": "60" } }))
    })
    const response = await console.handle(callRequest("close", "{}"))
    console.close()
    assert.deepStrictEqual([response.status, await response.json()], [429, { error }])
  })

  it("are repeated after a short pause", async () => {
    const headers = { "retry-after": "0" }
    const error = { code: "overloaded", message: "Retry.", param: null }
    const responses = [Response.json({ error }, { status: 503, headers }), Response.json({ data: { id: "1" } })]
    const console = makeConsole({ ...options, fetch: async () => responses.shift() ?? Response.error() })
    const response = await console.handle(callRequest("close", "{}"))
    console.close()
    assert.deepStrictEqual([response.status, await response.json()], [200, { id: "1" }])
  })

  for (const status of [200, 204, 304, 404]) {
    it(`report a proxy that responds with ${status}`, async () => {
      const body = status === 200 || status === 404 ? "<html>" : null
      const error = await errorOver(() => Promise.resolve(new Response(body, { status })))
      assert.deepStrictEqual(error, [502, "unexpected_response"])
    })
  }

  it("write as a customer only if the network is simulated", async () => {
    const message = { channel_id: "1", from: "+4915112345678", name: "Kim", text: "Hello" }
    const simulated = consoleOf("simulated")
    assert.strictEqual((await simulated.call("writeAsCustomer", message)).status, 200)
    assert.deepStrictEqual(simulated.customerMessages, [message])
    assert.strictEqual((await consoleOf("real network").call("writeAsCustomer", message)).status, 404)
  })
})

describe("the stream", () => {
  const read = async (reader: ReadableStreamDefaultReader<Uint8Array>) =>
    new TextDecoder().decode((await reader.read()).value)

  it("starts with a snapshot, continues with changes, and ends with the console", async () => {
    const { console, get, monitor } = consoleOf()
    monitor.request({ method: "GET", path: "/v1/tags", status: 200, code: null, error: null, duration_ms: 3 })
    monitor.send({ id: "s", status: "queued", text: "Hello" })
    const reader = (await get("/console/stream")).body?.getReader()
    assert.isDefined(reader)
    const first = await read(reader)
    assert.match(first, /^event: snapshot\ndata: \{"requests":\[\{"method":"GET","path":"\/v1\/tags"/)
    monitor.send({ id: "s", status: "sent" })
    assert.strictEqual(
      await read(reader),
      "event: send\ndata: {\"id\":\"s\",\"status\":\"sent\",\"text\":\"Hello\"}\n\n"
    )
    console.close()
    assert.isTrue((await reader.read()).done)
  })

  it("ends for a page that disconnects or does not read", async () => {
    const { get, monitor } = consoleOf()
    await (await get("/console/stream")).body?.cancel()
    const reader = (await get("/console/stream")).body?.getReader()
    assert.isDefined(reader)
    for (let count = 0; count < 3000; count++) monitor.change({ conversation_id: String(count) })
    let received = 0
    while (!(await reader.read()).done) received++
    assert.isBelow(received, 3000)
  })

  it("continues for the other pages when it ends for one that does not read", async () => {
    const { console, get, monitor } = consoleOf()
    const [slow, reading] = await Promise.all([get("/console/stream"), get("/console/stream")])
    const reader = reading.body?.getReader()
    assert.isDefined(reader)
    await read(reader)
    for (let count = 0; count < 3000; count++) {
      monitor.change({ conversation_id: String(count) })
      assert.include(await read(reader), `"${count}"`)
    }
    assert.strictEqual(console.countPages(), 1)
    await slow.body?.cancel()
    console.close()
  })
})

describe("a visitor", () => {
  const visitor = (name: string) => {
    const calls: Array<string> = []
    return {
      name,
      token: `token of ${name}`,
      calls,
      fetch: async (url: string) => {
        calls.push(url)
        return Response.json({ data: [], next_cursor: null })
      }
    }
  }

  it("calls the service by their own function, and not by that of the console", async () => {
    const { calls, console } = consoleOf("absent")
    const ada = visitor("Ada")
    await console.handle(callRequest("templates", "{}"), ada)
    assert.deepStrictEqual([calls.length, ada.calls], [0, [`${origin}/v1/templates`]])
    await console.handle(callRequest("templates", "{}"))
    assert.deepStrictEqual([calls.length, ada.calls.length], [1, 1])
  })

  it("gets a page with their name and token, which cannot contain markup", async () => {
    const { console, get } = consoleOf("absent")
    const page = await console.handle(new Request(`${origin}/console`), visitor("<b> \"&"))
    const text = await page.text()
    assert.include(text, "data-token=\"token of &#60;b&#62; &#34;&#38;\" data-visitor=\"&#60;b&#62; &#34;&#38;\"")
    assert.notInclude(await (await get("/console")).text(), "data-token")
  })
})

it("counts the open pages, and closes the oldest above the given number", async () => {
  const console = makeConsole({ ...options, pagesMax: 2 })
  const open = async () => (await console.handle(new Request(`${origin}/console/stream`))).body?.getReader()
  const first = await open()
  await open()
  assert.strictEqual(console.countPages(), 2)
  await open()
  assert.strictEqual(console.countPages(), 2)
  await first?.read()
  assert.isTrue((await first?.read())?.done)
  console.close()
  assert.strictEqual(console.countPages(), 0)
})

it("ends the streams of the open pages, which can then open new ones", async () => {
  const console = makeConsole(options)
  const open = async () => (await console.handle(new Request(`${origin}/console/stream`))).body?.getReader()
  const first = await open()
  await first?.read()
  console.reconnect()
  assert.isTrue((await first?.read())?.done)
  const second = await open()
  await second?.read()
  console.publish({ id: "e1" } as never)
  assert.include(new TextDecoder().decode((await second?.read())?.value), "\"e1\"")
  console.close()
})
