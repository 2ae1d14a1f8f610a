/** The console as a developer has it: Debian's Chromium, a running `dev`, and a webhook that fails at first. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { service } from "./Chromium.ts"
import { Opened, picture, using } from "./OpenedConsole.ts"

it.layer(Opened.layer, { timeout: "1 minute" })("the console of `dev`", (it) => {
  it.effect("shows what a customer writes without a reload, and the check marks of the reply", () =>
    using(async ({ page }) => {
      await page.getByRole("option", { name: /Amélie Dubois/ }).click()
      await page.getByRole("button", { name: "As the customer", exact: true }).click()
      await page.keyboard.type("Do you also repair bicycles?")
      await page.keyboard.press("Enter")
      const thread = page.getByRole("region", { name: "Conversation", exact: true })
      await thread.locator(".inbound", { hasText: "Do you also repair bicycles?" }).waitFor()
      await page.locator(".preview", { hasText: "Do you also repair bicycles?" }).waitFor()

      await page.getByRole("button", { name: "Reply", exact: true }).click()
      await page.keyboard.type("We do! Bring it in any day until six.")
      await page.keyboard.press("Enter")
      const reply = thread.locator(".outbound:not(.pending)", { hasText: "We do!" })
      await reply.getByRole("img", { name: "read" }).waitFor()
      assert.strictEqual(await thread.locator(".pending").count(), 0)
    }))

  it.effect("shows a message from a new customer on another channel, which waits for an answer also after a reload", () =>
    using(async ({ page }) => {
      await page.getByRole("button", { name: "As a customer", exact: true }).click()
      await page.getByRole("dialog").getByLabel("Channel").selectOption({ label: "Page (Messenger)" })
      await page.getByLabel("Customer’s number or ID").fill("page-user-2")
      await page.getByLabel("Name").fill("Rosa Marín")
      await page.getByLabel("Message", { exact: true }).last().fill("Is the red one available?")
      await page.getByRole("button", { name: "Send as the customer" }).click()
      const row = page.getByRole("option", { name: /Rosa Marín/ })
      const mark = row.getByTitle("Waiting for an answer")
      await mark.waitFor()
      await row.getByText("Messenger").waitFor()
      await page.reload()
      await mark.waitFor()
      await row.click()
      await page.getByRole("textbox", { name: "Message" }).fill("It is.")
      await page.keyboard.press("Enter")
      await mark.waitFor({ state: "detached" })
      await page.reload()
      await page.getByRole("option", { name: /It is\./ }).waitFor()
      await page.getByRole("option").getByTitle("Waiting for an answer").first().waitFor()
      assert.strictEqual(await mark.count(), 0)
    }))

  it.effect("sends a template, assigns, tags, notes, closes and reopens", () =>
    using(async ({ page }) => {
      await page.getByRole("option", { name: /Amélie Dubois/ }).click()
      await page.getByRole("button", { name: "Template" }).click()
      const values = { "Header {{1}}": "4712", "Body {{1}}": "Amélie", "Body {{2}}": "4712" }
      const preview = page.getByRole("dialog").locator("blockquote")
      await preview.getByText("{{2}}").waitFor()
      for (const [label, value] of Object.entries(values)) await page.getByLabel(label).fill(value)
      await preview.getByText("your order 4712 is ready").waitFor()
      await page.getByLabel(/^Button “Track it” https:\/\/.*\{\{1\}\}$/).fill("4712")
      await page.getByRole("dialog").getByRole("button", { name: "Send" }).dblclick()
      const sent = page.locator(".outbound", { hasText: "your order 4712 is ready" })
      await sent.first().getByRole("img", { name: "read" }).waitFor()
      assert.strictEqual(await sent.count(), 1)

      await page.getByLabel("Assigned to").selectOption({ label: "Grace Hopper" })
      await page.getByLabel("Add a tag").selectOption({ label: "Newsletter" })
      await page.locator(".tag", { hasText: "Newsletter" }).waitFor()
      await page.getByLabel("Note").fill("Prefers mornings.")
      await page.getByRole("button", { name: "Add note" }).click()
      await page.locator(".notes", { hasText: "Prefers mornings." }).waitFor()
      await picture(page, "console-inbox")

      await page.getByRole("button", { name: "Close", exact: true }).click()
      await page.getByRole("option", { name: /Amélie Dubois/ }).waitFor({ state: "detached" })
      await page.getByRole("button", { name: "Reopen" }).click()
      await page.getByRole("option", { name: /Amélie Dubois/ }).waitFor()
      assert.strictEqual(await page.getByLabel("Assigned to").locator("option:checked").innerText(), "Grace Hopper")
    }))

  it.effect("creates a webhook, shows a delivery that failed with both bodies, and retries it", () =>
    using(async ({ hook, page }) => {
      await page.getByRole("link", { name: "Webhooks" }).click()
      await page.getByRole("button", { name: "New webhook" }).click()
      await page.getByLabel("URL").fill(hook.url)
      for (const type of ["message.sent", "message.updated", "send.failed", "conversation.closed"]) {
        await page.getByLabel(type).uncheck()
      }
      await page.getByLabel("Include the resource in events").check()
      await page.getByRole("button", { name: "Create" }).click()
      await page.getByText(/^whsec_/).waitFor()
      await page.getByRole("button", { name: "Done" }).click()
      await page.getByRole("link", { name: "Inbox" }).click()
      await page.getByRole("button", { name: "As the customer", exact: true }).click()
      await page.keyboard.type("Thank you!")
      await page.keyboard.press("Enter")
      await page.emulateMedia({ colorScheme: "dark" })
      await page.getByRole("link", { name: "Webhooks" }).click()
      const failed = page.locator("tr", { hasText: "500 http status" })
      // The second attempt follows after 5 seconds, and the third after minutes.
      await failed.locator("td").nth(4).filter({ hasText: /^2 / }).waitFor()
      hook.reply.status = 200
      await failed.getByRole("button").first().click()
      const bodies = page.locator(".bodies", { hasText: "\"reason\": \"not yet\"" })
      // The request contains the resource.
      await bodies.filter({ hasText: "\"text\": \"Thank you!\"" }).waitFor()
      await picture(page, "console-webhooks")
      // The button makes a pending delivery due at once, and delivers again what has ended.
      await failed.getByRole("button", { name: "Retry" }).click()
      const delivered = page.locator("tr", { hasText: "succeeded" }).last()
      await delivered.waitFor()
      const attempts = delivered.locator("td").nth(4)
      const before = Number.parseInt(await attempts.innerText(), 10)
      await delivered.getByRole("button", { name: "Retry" }).click()
      await attempts.filter({ hasText: new RegExp(`^${before + 1} `) }).waitFor()
    }))

  it.effect("shows requests as they arrive, sends with why they failed, and events", () =>
    using(async ({ page, ready }) => {
      await page.locator("body").press("2")
      await fetch(`${ready.base_url}/contacts/nonsense`, { headers: { authorization: `Bearer ${ready.api_key}` } })
      const row = page.locator("tr", { hasText: "/v1/contacts/nonsense" })
      await row.getByText("invalid_input").waitFor()
      await page.locator("body").press("3")
      await page.locator("tr", { hasText: "+4915199990002" }).getByText("recipient unreachable").waitFor()
      await page.locator("body").press("5")
      await page.getByRole("button", { name: "message.received" }).first().click()
      await page.locator("pre", { hasText: "\"message_id\"" }).waitFor()
    }))

  it.effect("asks only this server, complains of nothing, and never gets a key", () =>
    using(async ({ asked, complaints, ready, responses }) => {
      const { origin } = new URL(ready.console_url)
      assert.deepStrictEqual(asked.filter((url) => !url.startsWith("data:") && new URL(url).origin !== origin), [])
      assert.deepStrictEqual(complaints, [])
      assert.isAbove(responses.length, 20)
      for (const text of responses) assert.notInclude(text, "svc_live_")
      const stream = await fetch(`${ready.console_url}/stream`)
      const { value } = await stream.body?.getReader().read() ?? {}
      assert.notInclude(new TextDecoder().decode(value), "svc_live_")
    }))

  it.effect("rejects another name of its address, and requests of another site", () =>
    using(async ({ chrome, ready }) => {
      const { port } = new URL(ready.console_url)
      const page = await chrome.newPage()
      const rebound = await page.goto(`http://evil.example:${port}/console`)
      assert.strictEqual(rebound?.status(), 403)
      await page.goto(`http://evil.example:${port}/v1/openapi.json`)
      const ask = (options: string) =>
        page.evaluate(`fetch("${ready.console_url}/call/setup", { method: "POST", body: "{}", ${options} })
          .then(({ status }) => status, () => "rejected")`)
      assert.strictEqual(await ask("mode: 'no-cors'"), "rejected")
      assert.strictEqual(await ask("headers: { 'content-type': 'application/json' }"), "rejected")
      const headers = { "origin": `http://evil.example:${port}`, "content-type": "application/json" }
      const direct = await fetch(`${ready.console_url}/call/setup`, { method: "POST", headers, body: "{}" })
      assert.strictEqual(direct.status, 403)
    }))
})

it.live("a server that other machines can reach has no console", () =>
  Effect.gen(function*() {
    const { base_url, console_url } = yield* service({ HOST: "0.0.0.0" })
    assert.isNull(console_url)
    const { status } = yield* Effect.promise(() => fetch(new URL("/console", base_url)))
    assert.strictEqual(status, 404)
  }).pipe(Effect.scoped))
