/** Every screen of the console of `dev`, checked by the rules of WCAG 2.2, in Debian's Chromium. */
import { assert, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import { assertAccessible } from "../../console/browser/Accessibility.ts"
import { Opened, startConversation, using } from "./OpenedConsole.ts"

const show = async (page: Page, hash: string) => {
  await page.setViewportSize({ width: 1280, height: 844 })
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
}

/** Opens the conversation with a contact, and returns its address. */
const openConversation = async (page: Page, name: RegExp): Promise<string> => {
  await show(page, "#/inbox")
  await page.getByRole("option", { name }).click()
  await page.locator(".bubble").first().waitFor()
  return new URL(page.url()).hash
}

/** Opens a dialog by a button, checks it, and closes it. */
const checkDialog = async (page: Page, button: string, title: string) => {
  await page.setViewportSize({ width: 1280, height: 844 })
  await page.getByRole("button", { name: button, exact: true }).click()
  await page.getByRole("dialog", { name: title }).waitFor()
  await assertAccessible(page, title)
  await page.keyboard.press("Escape")
}

it.layer(Opened.layer, { timeout: "1 minute" })("an accessible console", (it) => {
  it.effect("shows the list, its filters, and found contacts", () =>
    using(async ({ page }) => {
      await page.getByRole("option", { name: /Amélie/ }).waitFor()
      await assertAccessible(page, "the list")
      const search = page.getByRole("searchbox", { name: "Search contacts" })
      await search.fill("boulangerie")
      await search.press("Enter")
      const found = page.getByRole("list", { name: "Found contacts" }).getByRole("button", { name: /Amélie Dubois/ })
      await found.waitFor()
      await assertAccessible(page, "found contacts")
      await found.click()
      await page.getByRole("button", { name: "Show all contacts" }).waitFor()
      await assertAccessible(page, "the conversations of a contact")
      await page.getByRole("button", { name: "Show all contacts" }).click()
      await search.fill("nobody at all")
      await search.press("Enter")
      await page.getByText("No contact matches.").waitFor()
      await assertAccessible(page, "no found contact")
      await search.press("Escape")
    }), 120_000)

  it.effect("shows a conversation, its contact, and an error", () =>
    using(async ({ page }) => {
      const address = await openConversation(page, /Amélie/)
      await page.getByText("Boulangerie Dubois").waitFor()
      await assertAccessible(page, "a conversation")
      await page.getByRole("button", { name: "As the customer", exact: true }).click()
      await assertAccessible(page, "writing as the customer")
      await show(page, `${address}/contact`)
      await page.getByText("Boulangerie Dubois").waitFor()
      await assertAccessible(page, "a contact")
      await openConversation(page, /Siobhán/)
      await assertAccessible(page, "a closed reply window")
      await page.setViewportSize({ width: 1280, height: 844 })
      await page.route("**/call/assign", (route) =>
        route.fulfill({ status: 503, json: { error: { message: "The service is unavailable." } } }))
      await page.getByLabel("Assigned to").selectOption({ label: "Grace Hopper" })
      await page.getByRole("alert").filter({ hasText: "The service is unavailable." }).waitFor()
      await assertAccessible(page, "an error")
      await page.unroute("**/call/assign")
    }), 120_000)

  it.effect(
    "shows sends that failed or whose outcome is unknown, and messages of each status",
    () =>
      using(async ({ page }) => {
        for (
          const [phone, outcome] of [
            ["+49 151 777 0002", "Not sent."],
            ["+49 151 777 0006", "Outcome unknown."]
          ] as const
        ) {
          await show(page, "#/inbox")
          await startConversation(page, phone)
          await page.locator(".unsent").getByText(outcome).waitFor()
          await assertAccessible(page, outcome)
        }
      }),
    120_000
  )

  it.effect("shows the dialogs of the inbox", () =>
    using(async ({ page }) => {
      await openConversation(page, /Amélie/)
      await page.getByRole("button", { name: "Reply", exact: true }).click()
      await checkDialog(page, "Template", "Send a template")
      await checkDialog(page, "New", "New conversation")
      await checkDialog(page, "As a customer", "Message from a customer")
    }), 120_000)

  it.effect("shows webhooks, their deliveries, and their dialogs", () =>
    using(async ({ hook, page }) => {
      await show(page, "#/webhooks")
      await page.getByRole("button", { name: "New webhook" }).waitFor()
      await assertAccessible(page, "no webhooks")
      await page.setViewportSize({ width: 1280, height: 844 })
      await page.getByRole("button", { name: "New webhook" }).click()
      const dialog = page.getByRole("dialog", { name: "New webhook" })
      await dialog.getByLabel("URL").fill(hook.url)
      await dialog.getByLabel("conversation.opened").check()
      await dialog.getByRole("button", { name: "Create" }).click()
      await dialog.getByRole("alert").waitFor()
      await assertAccessible(page, "a new webhook with an error")
      await dialog.getByLabel("conversation.opened").uncheck()
      await dialog.getByRole("button", { name: "Create" }).click()
      await page.getByRole("dialog", { name: "Signing secret" }).waitFor()
      await assertAccessible(page, "a signing secret")
      await page.getByRole("button", { name: "Done" }).click()
      for (
        const [button, title] of [["Edit", "Edit webhook"], ["Rotate secret", "Rotate the secret"], [
          "Disable",
          "Disable the webhook"
        ]] as const
      ) {
        await checkDialog(page, button, title)
      }
      await page.setViewportSize({ width: 1280, height: 844 })
      await page.getByRole("button", { name: "Test", exact: true }).click()
      const row = page.locator("tr", { hasText: "500" })
      await row.getByRole("button").first().click()
      await page.locator(".bodies").waitFor()
      await assertAccessible(page, "deliveries")
    }), 120_000)

  it.effect("shows requests, sends, and events", () =>
    using(async ({ page, ready }) => {
      const headers = { "authorization": `Bearer ${ready.api_key}`, "x-request-id": "an-invalid-request" }
      assert.strictEqual((await fetch(`${ready.base_url}/contacts?page_size=1000`, { headers })).status, 400)
      for (const view of ["Requests", "Sends", "Events"]) {
        await show(page, `#/${view.toLowerCase()}`)
        await page.getByRole("table", { name: view }).getByRole("row").nth(1).waitFor()
        if (view === "Requests") {
          await page.getByRole("row", { name: /400/ }).getByRole("button", { name: "/v1/contacts" }).first().click()
          const error = page.locator(".more", { hasText: "an-invalid-request" })
          await error.getByText("\"param\": \"page_size\"").waitFor()
          await error.getByText("\"message\": \"page_size must be").waitFor()
        }
        if (view === "Events") await page.getByRole("button", { name: "message.received" }).first().click()
        await assertAccessible(page, view)
      }
    }), 120_000)
})
