/** Logging out of the console, and of a real OpenID Connect provider. */
import { assert, describe, it } from "@effect/vitest"
import { decodeJwt } from "jose"
import { afterAll } from "vitest"
import { in_many_groups } from "../../testing/IdentityProvider.ts"
import { Browser, signOut } from "./Browser.ts"
import { logout_cookie, session_cookie, startConsole } from "./ConsoleScene.ts"

const scene = await startConsole()
afterAll(scene.stop)

/** Logs a new member in and out, and returns the address that the page opens then. */
const loggedOut = async (email: string) => {
  await scene.add(email)
  const { browser, write } = await scene.loggedIn(email)
  const { cookies, status, text } = await write("/console/logout")
  assert.strictEqual(status, 200, text)
  return { address: String(JSON.parse(text).location), browser, cookies }
}

/** Whether the provider still has a session of the person, so that a login needs no credentials. */
const isSignedIn = async (browser: Browser) => {
  const { headers } = await browser.get(await scene.beginLogin(browser))
  return (headers["location"] ?? "").startsWith(`${scene.origin}/console/callback`)
}

const withState = (address: string, state: string): string => {
  const url = new URL(address)
  url.searchParams.set("state", state)
  return url.href
}

describe("logging out", () => {
  it("ends the sessions, leads to the provider, which ends its own, and back", async () => {
    const { address, browser, cookies } = await loggedOut("grace@acme.example")
    assert.isTrue(cookies.some((text) => text.startsWith(`${session_cookie}=; Max-Age=0;`)))
    const logout = cookies.find((text) => text.startsWith(`${logout_cookie}=`)) ?? ""
    assert.match(logout, /; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/)

    const { origin, searchParams } = new URL(address)
    assert.strictEqual(origin, scene.provider.issuer)
    const { id_token_hint = "", state = "", ...others } = Object.fromEntries(searchParams)
    assert.deepStrictEqual(others, {
      client_id: "console",
      post_logout_redirect_uri: scene.at("/console/logged-out")
    })
    assert.match(state, /^[\w-]{43}$/)
    assert.notInclude(logout, state)
    assert.strictEqual(decodeJwt(id_token_hint).sub, "grace@acme.example")

    assert.isTrue(await isSignedIn(browser))
    const back = await signOut(browser, address)
    assert.strictEqual(back, scene.at(`/console/logged-out?state=${state}`))
    const returned = await browser.get(back)
    assert.deepStrictEqual([returned.status, returned.headers["location"]], [302, "/console/logged-out"])
    assert.isFalse(browser.cookiesOf(back).has(logout_cookie))
    const page = await browser.get(scene.at("/console/logged-out"))
    assert.deepStrictEqual([page.status, /<h1>Logged out</.test(page.text)], [200, true])
    assert.isFalse(await isSignedIn(browser))
  })

  it("names only the console if the ID token is too long for a cookie", async () => {
    const { address, browser } = await loggedOut(in_many_groups)
    const { client_id, id_token_hint } = Object.fromEntries(new URL(address).searchParams)
    assert.deepStrictEqual([client_id, id_token_hint], ["console", undefined])
    assert.strictEqual((await browser.get(await signOut(browser, address))).status, 302)
    assert.isFalse(await isSignedIn(browser))
  })

  it("accepts the return only once, in the same browser, and with the state", async () => {
    const { address, browser } = await loggedOut("linus@acme.example")
    const back = await signOut(browser, address)
    const other = await loggedOut("barbara@acme.example")
    const { searchParams } = new URL(other.address)
    const state = new URL(back).searchParams.get("state") ?? ""
    const rejected: ReadonlyArray<readonly [Browser, string]> = [
      [new Browser(), back],
      [other.browser, back],
      [browser, withState(back, searchParams.get("state") ?? "")],
      [browser, withState(back, "")],
      [browser, `${back}&state=${state}`]
    ]
    for (const [each, path] of rejected) {
      const { headers, status, text } = await each.get(path)
      assert.deepStrictEqual([status, headers["location"]], [400, undefined], path)
      assert.include(text, "<h1>The logout has expired</h1>")
    }
    assert.strictEqual((await browser.get(back)).status, 302)
    assert.strictEqual((await browser.get(back)).status, 400)
  })

  it("cannot lead to another page", async () => {
    const { browser } = await loggedOut("dennis@acme.example")
    for (const name of ["to", "location", "post_logout_redirect_uri", "redirect_uri"]) {
      const path = `/console/logged-out?${name}=${encodeURIComponent("https://evil.example")}`
      const { headers, status, text } = await browser.get(scene.at(path))
      assert.deepStrictEqual([status, headers["location"]], [200, undefined])
      assert.notInclude(text, "evil.example")
    }
  })

  it("expires after ten minutes", async () => {
    const { address, browser } = await loggedOut("ken@acme.example")
    const back = await signOut(browser, address)
    await scene.adjust("10 minutes")
    assert.strictEqual((await browser.get(back)).status, 400)
  })
})

it("without a logout at the provider, the page shows that the sessions have ended", async () => {
  const other = await startConsole({ has_logout: false })
  try {
    const { browser, write } = await other.loggedIn("ada@acme.example")
    const { cookies, status } = await write("/console/logout")
    assert.deepStrictEqual([status, cookies.length], [204, 1])
    assert.strictEqual((await browser.get(other.at("/console/logged-out"))).status, 200)
  } finally {
    await other.stop()
  }
})
