/** Logins at a real OpenID Connect provider, and the attacks on them. */
import { assert, describe, it } from "@effect/vitest"
import { DateTime } from "effect"
import { afterAll } from "vitest"
import { isAuthenticatedSince, returnTo } from "../../src/console/Login.ts"
import { unverified } from "../../testing/IdentityProvider.ts"
import { Browser, type Received, signIn } from "./Browser.ts"
import { login_cookie, session_cookie, startConsole } from "./ConsoleScene.ts"

const scene = await startConsole()
afterAll(scene.stop)

const member = "ada@acme.example"

const cookie = ({ cookies }: Received, name: string) => cookies.find((text) => text.startsWith(`${name}=`)) ?? ""

const isLoggedIn = async (browser: Browser) => (await browser.get(scene.at("/console"))).status === 200

const tokenRequests = () => scene.provider.calls.get("/token") ?? 0

/** Asserts that a redirect of the provider begins no session, and that the provider is not asked about its code. */
const assertRejected = async (browser: Browser, address: string, status = 400, asked = 0) => {
  const before = tokenRequests()
  const received = await browser.get(address)
  assert.strictEqual(received.status, status, received.text)
  assert.strictEqual(cookie(received, session_cookie), "")
  assert.strictEqual(tokenRequests() - before, asked)
  assert.isFalse(await isLoggedIn(browser))
}

const withQuery = (address: string, change: (query: URLSearchParams) => void): string => {
  const url = new URL(address)
  change(url.searchParams)
  return url.href
}

describe("a login", () => {
  it("leads to the provider with state, nonce, and a PKCE challenge, and back to a session", async () => {
    const browser = new Browser()
    const first = await browser.get(scene.at("/console"))
    assert.deepStrictEqual([first.status, first.headers["location"]], [302, "/console/login"])
    const { browser: ada, callback } = await scene.signedIn(member)
    const done = await ada.get(callback)
    assert.deepStrictEqual([done.status, done.headers["location"]], [302, "/console"])
    assert.isTrue(await isLoggedIn(ada))
    const { searchParams } = new URL(await scene.beginLogin(browser))
    const { code_challenge = "", nonce = "", state = "", ...others } = Object.fromEntries(searchParams)
    for (const secret of [code_challenge, nonce, state]) assert.match(secret, /^[\w-]{43}$/)
    assert.deepStrictEqual(others, {
      client_id: "console",
      code_challenge_method: "S256",
      max_age: "31536000",
      redirect_uri: scene.at("/console/callback"),
      response_type: "code",
      scope: "openid email"
    })
  })

  it("sets cookies that only this host gets, over TLS, and that no script can read", async () => {
    const browser = new Browser()
    const begun = await browser.get(scene.at("/console/login"))
    const form = /^__Host-[\w-]+=eyJ[\w.-]+; Max-Age=(\d+); Path=\/; HttpOnly; Secure; SameSite=Lax$/
    assert.strictEqual(form.exec(cookie(begun, login_cookie))?.[1], "600")
    const { browser: ada, callback } = await scene.signedIn(member)
    const done = await ada.get(callback)
    assert.strictEqual(form.exec(cookie(done, session_cookie))?.[1], "43200")
    assert.match(cookie(done, login_cookie), /=; Max-Age=0; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
  })

  it("accepts the address that the member has in another case", async () => {
    const { browser, callback } = await scene.signedIn("ADA@acme.EXAMPLE")
    assert.strictEqual((await browser.get(callback)).status, 302)
    assert.isTrue(await isLoggedIn(browser))
  })

  it("begins no session for an address that is not verified, or is not a member's", async () => {
    await scene.add(unverified)
    for (const email of [unverified, "eve@acme.example"]) {
      const { browser, callback } = await scene.signedIn(email)
      await assertRejected(browser, callback, 403, 1)
    }
  })

  it("requests the credentials again after logging out", async () => {
    const browser = new Browser()
    const page = await browser.get(scene.at("/console/logged-out"))
    const [, again = ""] = /<a href="([^"]+)"/.exec(page.text) ?? []
    assert.strictEqual(new URL(await scene.beginLogin(browser, again)).searchParams.get("prompt"), "login")
  })

  it("ends with a page if the person declines it at the provider", async () => {
    const browser = new Browser()
    const state = new URL(await scene.beginLogin(browser)).searchParams.get("state") ?? ""
    const query = new URLSearchParams({ error: "access_denied", state, iss: scene.provider.issuer })
    await assertRejected(browser, scene.at(`/console/callback?${query}`), 403)
  })
})

describe("an attacker", () => {
  it("cannot log a victim in to the attacker's account", async () => {
    const { callback } = await scene.signedIn(member)
    const victim = new Browser()
    await assertRejected(victim, callback)
    await scene.beginLogin(victim)
    await assertRejected(victim, callback)
  })

  it("cannot use a code, a state, or a whole redirect twice", async () => {
    const { browser, callback } = await scene.signedIn(member)
    const secrets = new Map(browser.cookiesOf(callback))
    assert.strictEqual((await browser.get(callback)).status, 302)
    browser.cookiesOf(callback).clear()
    await assertRejected(browser, callback)
    // With the encrypted secrets of the login, which only its own browser had.
    for (const [name, value] of secrets) browser.cookiesOf(callback).set(name, value)
    await assertRejected(browser, callback, 403, 1)
  })

  it("cannot complete a login with another state, without one, or with two", async () => {
    for (
      const change of [
        (query: URLSearchParams) => query.set("state", "another"),
        (query: URLSearchParams) => query.delete("state"),
        (query: URLSearchParams) => query.append("state", query.get("state") ?? "")
      ]
    ) {
      const { browser, callback } = await scene.signedIn(member)
      await assertRejected(browser, withQuery(callback, change))
    }
  })

  it("cannot pass off the response of another issuer, or one without an issuer", async () => {
    for (
      const change of [
        (query: URLSearchParams) => query.set("iss", "https://evil.example"),
        (query: URLSearchParams) => query.set("iss", `${scene.provider.issuer}/`),
        (query: URLSearchParams) => query.delete("iss")
      ]
    ) {
      const { browser, callback } = await scene.signedIn(member)
      await assertRejected(browser, withQuery(callback, change), 403)
    }
  })

  it("cannot use a code that belongs to another login", async () => {
    const [one, other] = [await scene.signedIn(member), await scene.signedIn(member)]
    const code = new URL(other.callback).searchParams.get("code") ?? ""
    await assertRejected(one.browser, withQuery(one.callback, (query) => query.set("code", code)), 403, 1)
  })

  it("cannot complete a login after ten minutes", async () => {
    const { browser, callback } = await scene.signedIn(member)
    await scene.adjust("10 minutes")
    await assertRejected(browser, callback)
  })

  it("cannot keep a victim in a session that was planted before the login", async () => {
    const grace = await scene.add("grace@acme.example")
    const attacker = await scene.loggedIn(grace.email)
    const { browser, callback } = await scene.signedIn(member)
    const planted = attacker.browser.cookiesOf(callback).get(session_cookie) ?? ""
    browser.cookiesOf(callback).set(session_cookie, planted)
    const done = await browser.get(callback)
    assert.notInclude(cookie(done, session_cookie), planted)
    assert.include((await browser.get(scene.at("/console"))).text, "data-visitor=\"Ada\"")
  })

  it("cannot lead a login to another page", async () => {
    const foreign = [
      "https://evil.example",
      "//evil.example",
      "/\\evil.example",
      "\\\\evil.example",
      "/console/../v1/openapi.json",
      "/console@evil.example",
      "/console.evil.example",
      "https://evil.example/console",
      "javascript:alert(1)",
      "/console/login",
      "/console\r\nset-cookie: a=b",
      `/console#${"a".repeat(600)}`
    ]
    for (const address of foreign) assert.strictEqual(returnTo(address, scene.origin), "/console", address)
    assert.strictEqual(returnTo("/console#/inbox/1", scene.origin), "/console#/inbox/1")
    for (const address of ["https://evil.example/", "/console#/inbox/1"]) {
      const path = `/console/login?to=${encodeURIComponent(address)}`
      const { browser, callback } = await scene.signedIn(member, path)
      const { headers } = await browser.get(callback)
      assert.strictEqual(headers["location"], address.startsWith("/") ? address : "/console")
    }
  })
})

describe("a login after logging out", () => {
  /** Logs a member out, at a time that the machine's clock, which is the provider's, has not reached. */
  const loggedOut = async (ahead: "30 seconds" | "2 minutes", claims: "id_token" | "userinfo" = "id_token") => {
    const other = await startConsole({ claims })
    await other.adjust(Date.now())
    const { browser, write } = await other.loggedIn(member)
    await other.adjust(ahead)
    assert.strictEqual((await write("/console/logout")).status, 200)
    await other.adjust("1 second")
    /** Returns what the console responds when the provider, which knows the person, redirects at once. */
    const logInSilently = async (change: (query: URLSearchParams) => void, path?: string) => {
      const address = withQuery(await other.beginLogin(browser, path), change)
      return browser.get(await browser.followWithin(new URL(address).host, address))
    }
    return { browser, logInSilently, other }
  }

  it.each(["id_token", "userinfo"] as const)(
    "requests the credentials again, although the provider still knows the person (email: %s)",
    async (claims) => {
      const { browser, logInSilently, other } = await loggedOut("30 seconds", claims)
      try {
        const to = encodeURIComponent("/console#/inbox/1")
        const done = await logInSilently(() => {}, `/console/login?to=${to}`)
        const again = `/console/login?again=true&to=${to}`
        assert.deepStrictEqual([done.status, done.headers["location"]], [302, again])
        assert.strictEqual(cookie(done, session_cookie), "")
        const address = await other.beginLogin(browser, again)
        assert.strictEqual(new URL(address).searchParams.get("prompt"), "login")
        const { headers } = await browser.get(await signIn(browser, address, member))
        assert.strictEqual(headers["location"], "/console#/inbox/1")
        assert.strictEqual((await browser.get(other.at("/console"))).status, 200)
      } finally {
        await other.stop()
      }
    }
  )

  it("fails if somebody removes the request for the credentials", async () => {
    const { logInSilently, other } = await loggedOut("2 minutes")
    try {
      const done = await logInSilently((query) => query.delete("prompt"), "/console/login?again=true")
      assert.deepStrictEqual([done.status, cookie(done, session_cookie)], [403, ""])
    } finally {
      await other.stop()
    }
  })

  it("needs a time of the provider, unless the credentials were requested", () => {
    const logged_out_at = DateTime.makeUnsafe(100_500)
    const rows = [
      [null, false, false],
      [null, true, true],
      [100, false, false],
      [101, false, true],
      [41, true, true],
      [40, true, false]
    ] as const
    for (const [authenticated_at, again, expected] of rows) {
      assert.strictEqual(isAuthenticatedSince(logged_out_at, { again, authenticated_at }), expected)
      assert.isTrue(isAuthenticatedSince(null, { again, authenticated_at }))
    }
  })
})

it("the provider can return the email address from its endpoint for claims only", async () => {
  const other = await startConsole({ claims: "userinfo" })
  try {
    const { page } = await other.loggedIn(member)
    assert.strictEqual(page.status, 200)
    assert.strictEqual(other.provider.calls.get("/me"), 1)
  } finally {
    await other.stop()
  }
})
