/** A contact without a conversation in the console's inbox, in Debian's Chromium over a running `dev`. */
import { assert, it } from "@effect/vitest"
import { assertAccessible } from "../../console/browser/Accessibility.ts"
import { Opened, startConversation, using } from "./OpenedConsole.ts"

it.layer(Opened.layer, { timeout: "1 minute" })("a contact without a conversation", (it) => {
  it.effect(
    "opens from the search, is edited, and gets a conversation with its phone",
    () =>
      using(async ({ page, ready }) => {
        const headers = { "authorization": `Bearer ${ready.api_key}`, "content-type": "application/json" }
        const created = await fetch(`${ready.base_url}/contacts`, {
          method: "POST",
          headers: { ...headers, "idempotency-key": "a contact without a conversation" },
          body: JSON.stringify({ first_name: "Nadia", last_name: "Novak", primary_phone: "+4915112340001" })
        })
        assert.strictEqual(created.status, 201)
        const { id } = (await created.json()).data
        const search = page.getByRole("searchbox", { name: "Search contacts" })
        await page.getByRole("option", { name: /Amélie/ }).waitFor()
        await search.fill("Novak")
        await search.press("Enter")
        await page.getByRole("list", { name: "Found contacts" }).getByRole("button", { name: /Nadia Novak/ }).click()
        const panel = page.getByRole("complementary", { name: "Contact" })
        await panel.getByRole("heading", { name: "Nadia Novak" }).waitFor()
        assert.strictEqual(new URL(page.url()).hash, `#/inbox/contact/${id}`)
        await assertAccessible(page, "a contact without a conversation")
        assert.isTrue(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth))
        await page.getByRole("link", { name: "Back to the conversations" }).click()
        await page.getByRole("button", { name: "Show all contacts" }).waitFor()
        await page.goBack()
        await page.setViewportSize({ width: 1200, height: 700 })
        await page.reload()
        await panel.getByRole("button", { name: "Edit contact" }).click()
        await page.getByLabel("Company", { exact: true }).fill("Novak Bikes")
        await page.getByRole("button", { name: "Save" }).click()
        await panel.getByText("Novak Bikes").waitFor()

        await panel.getByRole("button", { name: "New conversation" }).click()
        const dialog = page.getByRole("dialog", { name: "New conversation" })
        assert.strictEqual(await dialog.getByLabel("Phone number").inputValue(), "+4915112340001")
        await dialog.getByRole("combobox", { name: "Template" }).selectOption({ label: "spring_sale (en)" })
        await dialog.getByLabel("Body {{1}}").fill("20%")
        await dialog.getByLabel("Body {{2}}").fill("Sunday")
        await dialog.getByRole("button", { name: "Send" }).click()
        await page.getByRole("region", { name: "Conversation", exact: true }).getByRole("heading", {
          name: "Nadia Novak"
        })
          .waitFor()
        await page.getByRole("option", { name: /Nadia Novak/ }).waitFor()
      }),
    120_000
  )

  it.effect("appears in the visible part of the list when its conversation is created", () =>
    using(async ({ page }) => {
      await page.setViewportSize({ width: 1200, height: 420 })
      await page.getByRole("option", { name: /Amélie/ }).waitFor()
      await page.evaluate("document.querySelector('.conversations').scrollTo(0, 1e9)")
      assert.isAbove(await page.evaluate<number>("document.querySelector('.conversations').scrollTop"), 60)
      await startConversation(page, "+49 151 12340002")
      const row = page.getByRole("option", { selected: true, name: /2340002/ })
      await row.waitFor()
      const isVisible = `(() => {
        const list = document.querySelector(".conversations").getBoundingClientRect()
        const row = document.querySelector("[role=option][aria-selected=true]").getBoundingClientRect()
        return row.top >= list.top && row.bottom <= list.bottom
      })()`
      assert.isTrue(await page.evaluate(isVisible))
    }))
})

it.layer(Opened.layer, { timeout: "1 minute" })("the page", (it) => {
  it.effect("says that it is loading until its script runs", () =>
    using(async ({ page }) => {
      const released = Promise.withResolvers<void>()
      await page.route("**/page/main.mjs", async (route) => {
        await released.promise
        await route.continue()
      })
      await page.reload({ waitUntil: "commit" })
      const loading = page.getByText("Loading…")
      await loading.waitFor()
      // The text can be there before its style sheet is.
      await page.waitForFunction(
        (element) => element !== null && getComputedStyle(element).textAlign !== "start",
        await loading.elementHandle()
      )
      released.resolve()
      await loading.waitFor({ state: "detached" })
      await page.getByRole("option", { name: /Amélie/ }).waitFor()
      await page.unroute("**/page/main.mjs")
    }))
})
