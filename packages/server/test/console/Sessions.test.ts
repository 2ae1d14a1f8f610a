/** Sessions of the console: their checks on each request, their end, and the limits of what a stranger can send. */
import { assert, describe, it } from "@effect/vitest"
import { MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { MemberSessions } from "@messaging-crm/core/MemberSessions"
import { DateTime, Effect, Layer, Redacted } from "effect"
import { HttpServerResponse } from "effect/http"
import { randomUUID } from "node:crypto"
import { afterAll } from "vitest"
import * as Sessions from "../../src/console/Sessions.ts"
import { Browser, type Received } from "./Browser.ts"
import { login_cookie, session_cookie, sessionKey, startConsole } from "./ConsoleScene.ts"

const scene = await startConsole()
afterAll(scene.stop)

const { origin } = scene

/** A browser whose session is this text. */
const withSession = (text: string): Browser => {
  const browser = new Browser()
  browser.cookiesOf(origin).set(session_cookie, text)
  return browser
}

const sessionOf = (browser: Browser): string => browser.cookiesOf(origin).get(session_cookie) ?? ""

/** Reads with a session as the page's script does. */
const read = (browser: Browser) =>
  browser.send("POST", scene.at("/console/call/setup"), { headers: { origin }, body: "{}" })

const codeOf = ({ text }: Received): string => JSON.parse(text).error.code

const assertOutcome = (received: Received, status: number, code: string) =>
  assert.deepStrictEqual([received.status, codeOf(received)], [status, code])

describe("a session", () => {
  it("lets a member work, under their own name, without an API key in the page", async () => {
    const grace = await scene.add("grace@acme.example")
    const { call, page } = await scene.loggedIn(grace.email)
    assert.notInclude(page.text, "svc_live_")
    assert.include(page.text, "data-visitor=\"Grace Hopper\"")
    const { channels, members } = JSON.parse((await call("setup")).text)
    assert.lengthOf(channels, 2)
    assert.include(members.map(({ email }: { readonly email: string }) => email), grace.email)

    await scene.crm.receive(channels[0].id)
    const [conversation] = JSON.parse((await call("conversations")).text).data
    const note = await call("note", { id: conversation.contact.id, text: "Prefers mornings." })
    assert.strictEqual(note.status, 200, note.text)
    assert.strictEqual((await call("assign", { id: conversation.id, assigned_user_id: grace.id })).status, 200)
    const records = (await scene.audit(grace.id)).map(({ key_id, member_id, operation, request_id }) => ({
      key_id,
      member_id,
      operation,
      has_request: request_id !== null
    }))
    const own = { key_id: null, member_id: grace.id, has_request: true }
    assert.deepStrictEqual(records, [
      { ...own, operation: "conversations.assign" },
      { ...own, operation: "contacts.add_note" }
    ])
  })

  it("shows the page its files, and no other file", async () => {
    const { browser } = await scene.loggedIn("ada@acme.example")
    for (const name of ["main.mjs", "style.css", "lit-html.js", "inbox/thread.mjs"]) {
      assert.strictEqual((await browser.get(scene.at(`/console/page/${name}`))).status, 200, name)
    }
    for (const name of ["../package.json", "..%2fpackage.json", "none.mjs"]) {
      assert.strictEqual((await browser.get(scene.at(`/console/page/${name}`))).status, 404, name)
    }
  })

  it("ends with the next request when the member is removed", async () => {
    const member = await scene.add("leaver@acme.example")
    const { browser, call, page } = await scene.loggedIn(member.email)
    assert.strictEqual(page.status, 200)
    const copy = withSession(sessionOf(browser))
    await scene.remove(member.id)
    const ended = await call("setup")
    assertOutcome(ended, 401, "unauthorized")
    assert.match(ended.cookies.join(), /^__Host-messaging-crm-session=; Max-Age=0; /)
    assertOutcome(await read(copy), 401, "unauthorized")
    assert.strictEqual((await browser.get(scene.at("/console"))).headers["location"], "/console/login")
    assertOutcome(await browser.get(scene.at("/console/stream")), 401, "unauthorized")
  })

  it("ends when the member logs out, in every browser, and so does a copy of the cookie", async () => {
    const member = await scene.add("twice@acme.example")
    const [desk, phone] = [await scene.loggedIn(member.email), await scene.loggedIn(member.email)]
    const copy = sessionOf(desk.browser)
    const out = await desk.write("/console/logout")
    assert.strictEqual(out.status, 200)
    assert.include(
      out.cookies,
      `${session_cookie}=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax`
    )
    assert.strictEqual(sessionOf(desk.browser), "")
    for (const browser of [withSession(copy), phone.browser]) assertOutcome(await read(browser), 401, "unauthorized")
    assert.deepStrictEqual((await scene.audit(member.id)).map(({ operation }) => operation), ["members.log_out"])
    await scene.adjust("1 second")
    assert.strictEqual((await scene.loggedIn(member.email)).page.status, 200)
  })

  it("ends after its time", async () => {
    const { call } = await scene.loggedIn("ada@acme.example")
    await scene.adjust("11 hours")
    assert.strictEqual((await call("setup")).status, 200)
    await scene.adjust("1 hour")
    assertOutcome(await call("setup"), 401, "unauthorized")
  })

  it("cannot be forged, changed, or made of another cookie", async () => {
    const { browser } = await scene.loggedIn("ada@acme.example")
    const text = sessionOf(browser)
    const [head = "", , iv = "", content = "", tag = ""] = text.split(".")
    await scene.beginLogin(browser)
    const login = browser.cookiesOf(origin).get(login_cookie) ?? ""
    const none = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url")
    const forged = [
      "",
      "a",
      login,
      `${none}.${content}.`,
      `${none}.${head}.${iv}.${content}.${tag}`,
      [head, "", iv, content, `${tag.startsWith("A") ? "B" : "A"}${tag.slice(1)}`].join("."),
      [head, "", iv, content.slice(0, -4), tag].join("."),
      text.slice(0, -10),
      `${text}${"A".repeat(4000)}`
    ]
    for (const each of forged) assertOutcome(await read(withSession(each)), 401, "unauthorized")
  })

  it("of another service is not accepted, even under the same key", async () => {
    const other = await startConsole({ settings: { CONSOLE_SESSION_KEY: `${sessionKey(2)},${sessionKey(1)}` } })
    try {
      const { browser } = await other.loggedIn("ada@acme.example")
      assertOutcome(await read(withSession(sessionOf(browser))), 401, "unauthorized")
    } finally {
      await other.stop()
    }
  })
})

describe("a session of another organization", () => {
  const sessionsOf = (organization_id: OrganizationId) =>
    Sessions.make({ keys: [Redacted.make(new Uint8Array(32))], organization_id, origin, session_hours: 1 }).pipe(
      Effect.provide(
        Layer.mock(MemberSessions)({
          // The member is still one of the former organization.
          authenticate: ({ member_id, organization_id }) =>
            Effect.succeed({
              member: {} as never,
              actor: { member_id, organization_id, scopes: [] },
              default_country: null
            })
        })
      )
    )

  it.effect("is not accepted after another organization has been set", () =>
    Effect.gen(function*() {
      const [former, current] = [OrganizationId.make(randomUUID()), OrganizationId.make(randomUUID())]
      const member = { organization_id: former, member_id: MemberId.make(randomUUID()), began_at: yield* DateTime.now }
      const sessions = yield* sessionsOf(former)
      const response = yield* sessions.set(member, null)(HttpServerResponse.empty())
      const cookies = { [session_cookie]: response.cookies.cookies[session_cookie]?.value ?? "" }
      assert.strictEqual((yield* sessions.open(cookies)).actor.organization_id, former)
      const others = yield* sessionsOf(current)
      assert.instanceOf(yield* Effect.flip(others.open(cookies)), Sessions.LoggedOut)
    }))
})

describe("a request from another page", () => {
  const rows: ReadonlyArray<readonly [what: string, headers: Readonly<Record<string, string>>, status: number]> = [
    ["without an origin", { origin: "" }, 403],
    ["of another origin", { origin: "https://evil.example" }, 403],
    ["of the same host without TLS or on another port", { origin: "https://localhost" }, 403],
    ["of an opaque origin", { origin: "null" }, 403],
    ["of another site", { "sec-fetch-site": "cross-site" }, 403],
    ["of another host of the site", { "sec-fetch-site": "same-site" }, 403],
    ["without a token", { "x-csrf-token": "" }, 403],
    ["with another token", { "x-csrf-token": "A".repeat(43) }, 403],
    ["for another host name", { host: "evil.example" }, 403],
    ["of the page itself", { "sec-fetch-site": "same-origin" }, 200]
  ]
  for (const [what, headers, status] of rows) {
    it(`${what}: ${status}`, async () => {
      const { call, write } = await scene.loggedIn("ada@acme.example")
      assert.strictEqual((await call("setup", {}, headers)).status, status)
      if (status === 403) assert.strictEqual((await write("/console/logout", {}, headers)).status, 403)
      assert.strictEqual((await call("setup")).status, 200)
    })
  }

  it("cannot use the token of another member", async () => {
    const grace = await scene.add("hopper@acme.example")
    const [ada, other] = [await scene.loggedIn("ada@acme.example"), await scene.loggedIn(grace.email)]
    assertOutcome(await ada.call("setup", {}, { "x-csrf-token": other.token }), 403, "forbidden")
  })

  it("cannot read the stream, and cannot write by a GET or another method", async () => {
    const { browser } = await scene.loggedIn("ada@acme.example")
    const foreign = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }
    assertOutcome(await browser.get(scene.at("/console/stream"), foreign), 403, "forbidden")
    assert.strictEqual((await browser.get(scene.at("/console/call/setup"))).status, 404)
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      const received = await browser.send(method, scene.at("/console/call/setup"), { headers: { origin } })
      assert.include([405, 501], received.status, method)
    }
  })

  it("cannot show any page of the console in a frame", async () => {
    const { browser } = await scene.loggedIn("ada@acme.example")
    for (const path of ["", "/logged-out", "/callback", "/none", "/login"]) {
      const { headers } = await browser.get(scene.at(`/console${path}`))
      const expected = path === "/none" ? undefined : headers["content-security-policy"]
      if (path !== "/none") assert.include(expected ?? "", "frame-ancestors 'none'", path)
      assert.strictEqual(headers["x-content-type-options"], "nosniff", path)
      assert.strictEqual(headers["cross-origin-resource-policy"], "same-origin", path)
    }
  })
})

describe("a stranger", () => {
  it("gets nothing but the login", async () => {
    for (const path of ["/console/stream", "/console/page/main.mjs", "/console/none"]) {
      const received = await new Browser().get(scene.at(path))
      assertOutcome(received, 401, "unauthorized")
      // A cookie that the request did not have stays in the browser.
      assert.deepStrictEqual(received.cookies, [])
    }
    assertOutcome(await read(new Browser()), 401, "unauthorized")
  })

  it("gets the stylesheet of the pages before and after a session", async () => {
    const received = await new Browser().get(scene.at("/console/page/style.css"))
    assert.strictEqual(received.status, 200)
    assert.match(String(received.headers["content-type"]), /^text\/css/)
    const { headers } = await new Browser().get(scene.at("/console/logged-out"))
    assert.include(String(headers["content-security-policy"]), "style-src 'self'")
  })

  it("cannot send long addresses, cookies, or bodies", async () => {
    const browser = new Browser()
    for (const path of ["/console/login", "/console/callback"]) {
      assert.strictEqual((await browser.get(scene.at(`${path}?to=${"a".repeat(4096)}`))).status, 431)
    }
    assert.strictEqual((await browser.get(scene.at("/console"), { cookie: `a=${"b".repeat(8192)}` })).status, 431)
    const { write } = await scene.loggedIn("ada@acme.example")
    const large = { text: "a".repeat(limits.body_bytes_max) }
    assertOutcome(await write("/console/call/note", large), 413, "body_too_large")
    const chunked = await write("/console/call/note", large, { "transfer-encoding": "chunked" })
    assertOutcome(chunked, 413, "body_too_large")
  })

  it("can begin a bounded number of logins per minute", async () => {
    await scene.adjust("1 minute")
    const browser = new Browser()
    const statuses: Array<number> = []
    for (let count = 0; count <= 60; count++) statuses.push((await browser.get(scene.at("/console/login"))).status)
    assert.deepStrictEqual(statuses, [...Array.from({ length: 60 }, () => 302), 429])
    assert.match((await browser.get(scene.at("/console/login"))).headers["retry-after"] ?? "", /^[1-9]\d?$/)
    // A redirect without a login of this browser costs nothing.
    assert.strictEqual((await browser.get(scene.at("/console/callback?code=a&state=b"))).status, 400)
    await scene.adjust("1 minute")
    assert.strictEqual((await browser.get(scene.at("/console/login"))).status, 302)
  })

  it("of one IPv6 network cannot use up the logins of its site, nor the site those of others", async () => {
    await scene.adjust("1 minute")
    const from = async (address: string) =>
      (await new Browser().get(scene.at("/console/login"), { "x-forwarded-for": address })).status
    const statuses: Array<number> = []
    for (let host = 1; host <= 300; host++) statuses.push(await from(`2001:db8:1::${host.toString(16)}`))
    const accepted = (count: number) => Array.from({ length: count }, () => 302)
    assert.deepStrictEqual(statuses, [...accepted(60), ...Array.from({ length: 240 }, () => 429)])
    const others: Array<number> = []
    for (let network = 1; network <= 181; network++) others.push(await from(`2001:db8:1:${network.toString(16)}::1`))
    assert.deepStrictEqual(others, [...accepted(180), 429])
    assert.deepStrictEqual([await from("2001:db8:2::1"), await from("203.0.113.9")], [302, 302])
  })

  it("cannot call the API with a session instead of a key", async () => {
    const { browser } = await scene.loggedIn("ada@acme.example")
    for (const headers of [{}, { authorization: "Bearer none" }]) {
      assertOutcome(await browser.get(scene.at("/v1/tags"), headers), 401, "unauthorized")
    }
  })
})

it("a member can send a bounded number of requests per minute", async () => {
  await scene.adjust("1 minute")
  const member = await scene.add("busy@acme.example")
  const { call } = await scene.loggedIn(member.email)
  const statuses = await Promise.all(Array.from({ length: 601 }, async () => (await call("none")).status))
  assert.strictEqual(statuses.filter((status) => status === 429).length, 1)
})

describe("the stream of an open page", () => {
  it("has the events of the organization", async () => {
    const { browser, call } = await scene.loggedIn("ada@acme.example")
    const stream = await browser.open(scene.at("/console/stream"))
    assert.strictEqual(stream.headers["content-type"], "text/event-stream")
    await stream.until(/^event: snapshot\ndata: null$/m)
    const { channels } = JSON.parse((await call("setup")).text)
    await scene.crm.receive(channels[1].id, { from: { external_id: "1", display_name: "Kim", username: null } })
    await stream.until(/^event: event\ndata: \{.*"type":"message\.received".*\}$/m)
    stream.close()
  })

  it("ends soon after the member is removed", async () => {
    const member = await scene.add("watcher@acme.example")
    const { browser } = await scene.loggedIn(member.email)
    const stream = await browser.open(scene.at("/console/stream"))
    await stream.until(/^event: snapshot$/m)
    await scene.adjust("30 seconds")
    await scene.remove(member.id)
    await scene.adjust("30 seconds")
    await stream.ended
  })

  it("ends soon after the session's time", async () => {
    const { browser } = await scene.loggedIn("ada@acme.example")
    const stream = await browser.open(scene.at("/console/stream"))
    await stream.until(/^event: snapshot$/m)
    await scene.adjust("12 hours")
    await scene.adjust("30 seconds")
    await stream.ended
  })
})

it("the API in the process is called without the path of the public URL, and its origin can show media", async () => {
  const other = await startConsole({ public_url: "https://api.example/crm" })
  try {
    const { browser, call, page } = await other.loggedIn("ada@acme.example")
    assert.include(page.headers["content-security-policy"], "https://api.example")
    const setup = await call("setup")
    assert.strictEqual(setup.status, 200, setup.text)
    const stream = await browser.open(other.at("/console/stream"))
    await stream.until(/^event: snapshot\ndata: null$/m)
    stream.close()
  } finally {
    await other.stop()
  }
})
