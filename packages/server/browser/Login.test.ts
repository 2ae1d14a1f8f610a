/** The console behind a login as members use it: Debian's Chromium, a real provider, and a browser for each member. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { idempotency } from "../../adapter-http/testing/Service.ts"
import { assertAccessible } from "../../console/browser/Accessibility.ts"
import { startConsole } from "../test/console/ConsoleScene.ts"
import { startHttpServer } from "../testing/processes/TestHttpServer.ts"
import { browser, watch } from "./Chromium.ts"
import { picture } from "./OpenedConsole.ts"

const opened = Effect.gen(function*() {
  const scene = yield* Effect.acquireRelease(
    Effect.promise(() => startConsole()),
    ({ stop }) => Effect.promise(stop)
  )
  const chrome = yield* browser()
  const grace = yield* Effect.promise(() => scene.add("grace@acme.example"))
  return { chrome, grace, scene }
})

class Opened extends Context.Service<Opened, Effect.Success<typeof opened>>()("@messaging-crm/server/browser/Login") {
  static readonly layer = Layer.effect(Opened, opened)
}

const using = (run: (opened: Opened["Service"]) => Promise<void>) =>
  Effect.flatMap(Opened, (opened) => Effect.promise(() => run(opened)))

const signIn = async (page: Page, email: string): Promise<void> => {
  await page.getByLabel("Email").fill(email)
  await page.getByRole("button", { name: "Sign in" }).click()
}

/** Opens the console in a browser of its own, and logs in. */
const logIn = async (chrome: Browser, address: string, email: string) => {
  const context = await chrome.newContext({ viewport: { width: 1200, height: 700 } })
  const page = await context.newPage()
  const { complaints } = watch(page)
  await page.goto(address)
  await signIn(page, email)
  await page.getByRole("button", { name: "Log out" }).waitFor()
  return { complaints, context, page }
}

const rowOf = (page: Page, name: string) => page.getByRole("option", { name: new RegExp(name) })

const from = (external_id: string, display_name: string) => ({ external_id, display_name, username: null })

const cookiesOf = async (context: BrowserContext, origin: string) =>
  (await context.cookies(origin)).filter(({ name }) => name.startsWith("__Host-messaging-crm-"))

it.layer(Opened.layer, { timeout: "1 minute" })("the console of `serve --console`", (it) => {
  it.effect("shows two members the same messages, and records who has done what", () =>
    using(async ({ chrome, grace, scene }) => {
      const [one, other] = [
        await logIn(chrome, scene.at("/console"), "ada@acme.example"),
        await logIn(chrome, scene.at("/console"), grace.email)
      ]
      await one.page.locator(".account", { hasText: "Ada" }).waitFor()
      await other.page.locator(".account", { hasText: "Grace Hopper" }).waitFor()
      await scene.crm.receive(scene.channel.id, { from: from("+4915112345678", "Kim") })
      await rowOf(one.page, "Kim").getByTitle("Waiting for an answer").waitFor()
      await one.page.reload()
      await rowOf(one.page, "Kim").getByTitle("Waiting for an answer").waitFor()
      assert.match(await one.page.title(), /^\(1\) /)
      await rowOf(one.page, "Kim").click()
      await rowOf(other.page, "Kim").click()
      const assignees = other.page.getByLabel("Filter by assignee")
      assert.deepStrictEqual((await assignees.locator("option").allInnerTexts()).slice(0, 3), [
        "Mine",
        "Everyone",
        "Unassigned"
      ])
      assert.strictEqual(await assignees.locator("option:checked").innerText(), "Everyone")
      await other.page.getByLabel("Assigned to").selectOption({ label: "Grace Hopper" })
      await assignees.selectOption({ label: "Mine" })
      await rowOf(other.page, "Kim").waitFor()
      await other.page.getByLabel("Note").fill("Prefers mornings.")
      await other.page.getByRole("button", { name: "Add note" }).click()
      await other.page.locator(".notes", { hasText: "Prefers mornings." }).waitFor()
      await other.page.getByRole("button", { name: "Edit contact" }).click()
      await other.page.getByLabel("Company", { exact: true }).fill("Acme")
      await other.page.getByRole("button", { name: "Save" }).click()
      await one.page.getByRole("complementary").getByText("Acme").waitFor()
      await one.page.getByRole("button", { name: "Close", exact: true }).click()
      await rowOf(other.page, "Kim").waitFor({ state: "detached" })
      const operationsOf = async (id: typeof grace.id) => (await scene.audit(id)).map(({ operation }) => operation)
      assert.include(await operationsOf(scene.owner.id), "conversations.close")
      assert.deepStrictEqual(await operationsOf(grace.id), [
        "contacts.update",
        "contacts.add_note",
        "conversations.assign"
      ])
      await picture(other.page, "console-login")
      for (const { complaints, context, page } of [one, other]) {
        assert.deepStrictEqual(complaints, [])
        assert.notInclude(await page.content(), "svc_live_")
        assert.strictEqual(await page.evaluate(() => document.cookie), "")
        const [cookie, ...others] = await cookiesOf(context, scene.origin)
        assert.lengthOf(others, 0)
        assert.deepInclude(cookie, { httpOnly: true, secure: true, sameSite: "Lax", path: "/", domain: "localhost" })
        await context.close()
      }
    }))

  it.effect("returns to the shown conversation after a login in between", () =>
    using(async ({ chrome, scene }) => {
      await scene.crm.receive(scene.channel.id, { from: from("+4915112345679", "Lee") })
      const { email } = await scene.add("traveler@acme.example")
      // As late as at the provider, which uses the clock of the machine.
      await scene.adjust(Date.now())
      const desk = await logIn(chrome, scene.at("/console"), email)
      const phone = await logIn(chrome, scene.at("/console"), email)
      await rowOf(desk.page, "Lee").click()
      await desk.page.getByRole("region", { name: "Conversation", exact: true }).waitFor()
      const address = desk.page.url()
      assert.match(address, /#\/inbox\/[\w-]+$/)
      await scene.adjust("45 seconds")
      await phone.page.getByRole("button", { name: "Log out" }).click()
      await phone.page.getByRole("button", { name: "Sign out" }).click()
      await phone.page.getByRole("heading", { name: "Logged out" }).waitFor()
      assert.strictEqual(phone.page.url(), scene.at("/console/logged-out"))
      assert.lengthOf(await cookiesOf(phone.context, scene.origin), 0)
      await scene.adjust("1 second")
      // The provider still knows the person in this browser, but the person has logged out since.
      await desk.page.getByRole("button", { name: "Close", exact: true }).click()
      await signIn(desk.page, email)
      await desk.page.getByRole("button", { name: "Close", exact: true }).waitFor()
      assert.strictEqual(desk.page.url(), address)
      // After logging out, it requests the credentials.
      await phone.page.getByRole("link", { name: "Log in" }).click()
      await signIn(phone.page, email)
      await phone.page.getByRole("button", { name: "Log out" }).waitFor()
      await desk.context.close()
      await phone.context.close()
    }))

  it.effect("has accessible pages before, during, and after a session", () =>
    using(async ({ chrome, scene }) => {
      const member = await scene.add("marie@acme.example")
      await scene.crm.receive(scene.channel.id, { from: from("+4915112345671", "Max") })
      const { context, page } = await logIn(chrome, scene.at("/console"), member.email)
      await rowOf(page, "Max").click()
      await page.locator(".bubble").first().waitFor()
      await assertAccessible(page, "the inbox of a member")
      await page.goto(scene.at("/console"))
      await page.getByRole("button", { name: "Log out" }).click()
      await page.getByRole("button", { name: "Sign out" }).click()
      await page.getByRole("heading", { name: "Logged out" }).waitFor()
      await assertAccessible(page, "logged out")
      for (const path of ["callback?state=a", "logged-out?state=a"]) {
        await page.goto(scene.at(`/console/${path}`))
        await page.getByRole("heading", { name: "has expired" }).waitFor()
        await assertAccessible(page, path)
      }
      await page.goto(scene.at("/console/login"))
      await signIn(page, "stranger@acme.example")
      await page.getByRole("heading", { name: "No access" }).waitFor()
      await assertAccessible(page, "no access")
      await context.close()
    }), 120_000)

  it.effect("opens a contact without a conversation, and starts one with its phone", () =>
    using(async ({ chrome, scene }) => {
      const { status } = await scene.crm.request("POST", "/v1/contacts", {
        key: scene.key,
        ...idempotency(),
        json: { first_name: "Nadia", last_name: "Novak", primary_phone: "+4915112340001" }
      })
      assert.strictEqual(status, 201)
      const member = await scene.add("sales@acme.example")
      const { complaints, context, page } = await logIn(chrome, scene.at("/console"), member.email)
      const search = page.getByRole("searchbox", { name: "Search contacts" })
      await search.fill("Novak")
      await search.press("Enter")
      await page.getByRole("list", { name: "Found contacts" }).getByRole("button", { name: /Nadia Novak/ }).click()
      const panel = page.getByRole("complementary", { name: "Contact" })
      await panel.getByRole("heading", { name: "Nadia Novak" }).waitFor()
      await panel.getByRole("button", { name: "New conversation" }).click()
      assert.strictEqual(await page.getByRole("dialog").getByLabel("Phone number").inputValue(), "+4915112340001")
      assert.deepStrictEqual(complaints, [])
      await context.close()
    }))

  it.effect("leads a removed member to the login, which gives no access", () =>
    using(async ({ chrome, scene }) => {
      const member = await scene.add("leaver@acme.example")
      const { context, page } = await logIn(chrome, scene.at("/console"), member.email)
      await scene.remove(member.id)
      // A message makes the page read it, if it reads nothing else.
      await scene.crm.receive(scene.channel.id, { from: from("+4915112345670", "Sam") })
      await page.getByRole("heading", { name: "No access" }).waitFor()
      assert.lengthOf(await cookiesOf(context, scene.origin), 0)
      await context.close()
    }))

  it.effect("cannot be shown or used by another page", () =>
    using(async ({ chrome, scene }) => {
      const { context, page } = await logIn(chrome, scene.at("/console"), "ada@acme.example")
      const scope = Scope.makeUnsafe()
      const evil = await Effect.runPromise(
        Effect.provideService(
          startHttpServer((_, response) => {
            response.writeHead(200, { "content-type": "text/html" }).end(
              `<iframe src="${scene.at("/console")}" title="frame"></iframe>`
            )
          }),
          Scope.Scope,
          scope
        )
      )
      const attacker = await context.newPage()
      const { complaints } = watch(attacker)
      await attacker.goto(evil)
      assert.match(complaints.join("\n"), /frame-ancestors 'none'/)
      const before = (await scene.audit(scene.owner.id)).length
      const outcomes = await attacker.evaluate(async (address) => {
        const call = (name: string, init: RequestInit) =>
          fetch(`${address}${name}`, { method: "POST", credentials: "include", mode: "no-cors", ...init })
            .then(({ status, type }) => `${type} ${status}`, () => "blocked")
        return Promise.all([call("/logout", {}), call("/call/setup", { body: "{}" })])
      }, scene.at("/console"))
      for (const outcome of outcomes) assert.include(["opaque 0", "blocked"], outcome)
      assert.lengthOf(await scene.audit(scene.owner.id), before)
      await page.reload()
      await page.getByRole("button", { name: "Log out" }).waitFor()
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await context.close()
    }))
})
