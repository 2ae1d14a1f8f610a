/** A contact without a conversation in the console's inbox, in Debian's Chromium over a running `dev`. */
import { assert, it } from "@effect/vitest"
import { assertAccessible } from "../../console/browser/Accessibility.ts"
import { Opened, using } from "./OpenedConsole.ts"

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
})
