/** The console for an agent: sends that failed, the reply window, and templates, in Debian's Chromium over a running `dev`. */
import { assert, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import { Opened, startConversation, using } from "./OpenedConsole.ts"

const threadOf = (page: Page) => page.getByRole("region", { name: "Conversation", exact: true })

/** Writes as the customer of the open conversation, which opens its reply window. */
const writeAsCustomer = async (page: Page, text: string) => {
  await page.getByRole("button", { name: "As the customer", exact: true }).click()
  await page.getByRole("textbox", { name: "Message" }).fill(text)
  await page.keyboard.press("Enter")
  await threadOf(page).locator(".inbound", { hasText: text }).waitFor()
  await page.getByRole("button", { name: "Reply", exact: true }).click()
}

it.layer(Opened.layer, { timeout: "1 minute" })("an agent in the console", (it) => {
  it.effect("sees in the thread why a send failed, also after a reload, and the action to take", () =>
    using(async ({ page }) => {
      await startConversation(page, "+49 151 777 0002")
      const failed = threadOf(page).locator(".unsent.failed")
      await failed.getByText("Not sent.").waitFor()
      await failed.getByText("The number is not on the network, or cannot be reached.").waitFor()
      await failed.getByText("Check the contact’s number.").waitFor()
      const whiteSpace = (element: Element) => getComputedStyle(element).whiteSpace
      assert.strictEqual(await failed.locator(".failure p").evaluate(whiteSpace), "normal")
      await failed.getByText("20% off everything until Sunday").waitFor()
      await page.getByRole("option", { selected: true }).getByText("Not sent").waitFor()
      await page.reload()
      await failed.getByText("cannot be reached").waitFor()
    }))

  it.effect("sees a send whose outcome is unknown, and that it must not be sent again yet", () =>
    using(async ({ page }) => {
      await startConversation(page, "+49 151 777 0006")
      const unknown = threadOf(page).locator(".unsent.unknown")
      await unknown.getByText("Outcome unknown.").waitFor()
      await unknown.getByText("Wait for the network’s report, for up to 15 minutes.").waitFor()
    }))

  it.effect("reads in the composer that only a template can be sent before the customer writes", () =>
    using(async ({ page }) => {
      await page.getByRole("option", { name: /Siobhán/ }).click()
      const composer = page.locator(".composer")
      await composer.getByText("The customer has not written yet. Send a template").waitFor()
      assert.isFalse(await page.getByRole("textbox", { name: "Message" }).isVisible())
      await page.keyboard.press("r")
      await page.locator(":focus", { hasText: "Choose a template" }).waitFor()
      await writeAsCustomer(page, "Is it ready?")
      await composer.getByText(/Reply window: open for 2[34] h \d+ min, until/).waitFor()
      assert.isTrue(await page.getByRole("textbox", { name: "Message" }).isVisible())
    }))

  it.effect("reads in the composer how long the reply window stays open, and that it has closed", () =>
    using(async ({ chrome, ready }) => {
      const page = await chrome.newPage()
      await page.clock.install()
      await page.goto(ready.console_url)
      await page.getByRole("option", { name: /Mateo/ }).click()
      const composer = page.locator(".composer")
      const field = page.getByRole("textbox", { name: "Message" })
      await field.fill("A reply that is not finished")
      await page.clock.fastForward("23:30:00")
      await composer.locator(".closing").waitFor()
      await page.clock.fastForward("01:00:00")
      await composer.getByText("24 hours after the customer’s last message.").waitFor()
      assert.isFalse(await field.isVisible())
      await page.getByRole("button", { name: "Choose a template" }).click()
      await page.getByRole("dialog", { name: "Send a template" }).waitFor()
      await page.close()
    }))

  it.effect("sees a rejected text at the composer until the text changes", () =>
    using(async ({ page }) => {
      await page.getByRole("option", { name: /lena.m/ }).click()
      const field = page.getByRole("textbox", { name: "Message" })
      // Instagram has a shorter limit than WhatsApp.
      await field.fill("x".repeat(1001))
      await page.keyboard.press("Enter")
      const alert = page.locator(".composer").getByRole("alert")
      await alert.waitFor()
      assert.strictEqual(await field.inputValue(), "x".repeat(1001))
      await field.press("End")
      await field.press("Backspace")
      await alert.waitFor({ state: "detached" })
    }))

  it.effect("no longer sees an error above the page after another choice", () =>
    using(async ({ page }) => {
      await page.route("**/call/assign", (route) =>
        route.fulfill({ status: 503, json: { error: { message: "The service is unavailable." } } }))
      await page.getByLabel("Assigned to").selectOption({ label: "Grace Hopper" })
      const alert = page.getByRole("alert").filter({ hasText: "The service is unavailable." })
      await alert.waitFor()
      await page.getByRole("option", { name: /Mateo/ }).click()
      await alert.waitFor({ state: "detached" })
      await page.unroute("**/call/assign")
    }))

  it.effect("fills a template whose header is a picture, and corrects a rejected value", () =>
    using(async ({ page }) => {
      await page.getByRole("option", { name: /Priya/ }).click()
      await page.getByRole("button", { name: "Choose a template" }).click()
      const dialog = page.getByRole("dialog", { name: "Send a template" })
      await page.getByRole("combobox", { name: "Template" }).selectOption({ label: "receipt (en)" })
      const link = page.getByLabel("Link to the image of the header")
      // Valid for the browser, but not for the API.
      await link.fill("https://shop.example\\receipt.png")
      await page.getByLabel("Body {{1}}").fill("20 €")
      await page.getByLabel("Body {{2}}").fill("Monday")
      await dialog.getByRole("button", { name: "Send" }).click()
      await dialog.getByRole("alert").waitFor()
      await link.fill("https://shop.example/receipt.png")
      await dialog.getByRole("alert").waitFor({ state: "detached" })
      await dialog.getByRole("button", { name: "Send" }).click()
      await threadOf(page).locator(".outbound", { hasText: "You paid 20 € on Monday." }).waitFor()

      await page.route("**/call/templates", async (route) => {
        const response = await route.fetch()
        const { data } = await response.json()
        const components = [{ type: "HEADER", format: "GIF", text: null, buttons: null }]
        await route.fulfill({ json: { data: [{ ...data[0], id: "gif", name: "moving", components }, ...data] } })
      })
      await page.getByRole("button", { name: "Choose a template" }).click()
      const unsupported = dialog.getByRole("option", { name: "moving (en) – not supported: gif header" })
      await unsupported.waitFor({ state: "attached" })
      assert.isTrue(await unsupported.isDisabled())
      assert.strictEqual(
        await page.getByRole("combobox", { name: "Template" }).locator("option:checked").innerText(),
        "order_ready (en)"
      )
      await page.keyboard.press("Escape")
      await page.unroute("**/call/templates")
    }))
})
