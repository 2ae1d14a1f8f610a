/** The webhooks in the console: their secrets and changes, in Debian's Chromium over a running `dev`. */
import { assert, it } from "@effect/vitest"
import { Opened, using } from "./OpenedConsole.ts"

it.layer(Opened.layer, { timeout: "1 minute" })("the webhooks of the console", (it) => {
  it.effect("shows a new secret with a button that copies it, and no button to cancel", () =>
    using(async ({ hook, page }) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
      await page.getByRole("link", { name: "Webhooks" }).click()
      await page.getByRole("button", { name: "New webhook" }).click()
      const dialog = page.getByRole("dialog", { name: "New webhook" })
      await dialog.getByLabel("URL").fill("ftp://x")
      await dialog.getByLabel("conversation.opened").uncheck()
      await dialog.getByRole("button", { name: "Create" }).click()
      await dialog.getByRole("alert").filter({ hasText: "The URL must begin with https://" }).waitFor()
      await dialog.getByLabel("URL").fill(hook.url)
      await dialog.getByLabel("conversation.opened").check()
      await dialog.getByRole("button", { name: "Create" }).click()
      // A webhook has at most five types of events.
      await dialog.getByRole("alert").waitFor()
      await dialog.getByLabel("conversation.opened").uncheck()
      await dialog.getByRole("alert").waitFor({ state: "detached" })
      await dialog.getByRole("button", { name: "Create" }).click()
      const secret = page.getByRole("dialog", { name: "Signing secret" })
      await secret.getByRole("button", { name: "Copy" }).click()
      await secret.getByText("Copied to the clipboard.").waitFor()
      const copied = await page.evaluate<string>("navigator.clipboard.readText()")
      assert.match(copied, /^whsec_/)
      assert.strictEqual(await secret.locator("pre").innerText(), copied)
      assert.strictEqual(await secret.getByRole("button", { name: "Cancel" }).count(), 0)
      await secret.getByRole("button", { name: "Done" }).click()
      await secret.waitFor({ state: "detached" })
    }))

  it.effect("edits the selected webhook", () =>
    using(async ({ hook, page }) => {
      await page.getByRole("button", { name: "Edit" }).click()
      const dialog = page.getByRole("dialog", { name: "Edit webhook" })
      assert.strictEqual(await dialog.getByLabel("URL").inputValue(), hook.url)
      assert.isTrue(await dialog.getByLabel("send.failed").isChecked())
      assert.isFalse(await dialog.getByLabel("contact.created").isChecked())
      await dialog.getByLabel("URL").fill(`${hook.url}/second`)
      await dialog.getByLabel("send.failed").uncheck()
      await dialog.getByLabel("contact.created").check()
      await dialog.getByRole("button", { name: "Save" }).click()
      const edited = page.getByRole("group", { name: "Webhooks" }).getByRole("button", { name: `${hook.url}/second` })
      await edited.getByText("contact.created").waitFor()
      assert.strictEqual(await edited.getByText("send.failed").count(), 0)
    }))

  it.effect("rotates the secret of the selected webhook, and shows the new one", () =>
    using(async ({ page }) => {
      await page.getByRole("button", { name: "Rotate secret" }).click()
      const confirmation = page.getByRole("dialog", { name: "Rotate the secret" })
      await confirmation.getByText("For 24 hours, requests are signed with the old and with the new secret.").waitFor()
      await confirmation.getByRole("button", { name: "Rotate" }).click()
      await page.getByRole("dialog", { name: "Signing secret" }).getByText(/^whsec_/).waitFor()
      await page.getByRole("button", { name: "Done" }).click()
    }))

  it.effect("disables the selected webhook after a confirmation", () =>
    using(async ({ page }) => {
      await page.getByRole("button", { name: "Disable" }).click()
      const confirmation = page.getByRole("dialog", { name: "Disable the webhook" })
      await confirmation.getByRole("button", { name: "Cancel" }).click()
      await confirmation.waitFor({ state: "detached" })
      const list = page.getByRole("group", { name: "Webhooks" })
      assert.strictEqual(await list.getByText("disabled").count(), 0)
      await page.getByRole("button", { name: "Disable" }).click()
      await confirmation.getByRole("button", { name: "Disable" }).click()
      await list.getByText("disabled").waitFor()
      // Nothing about a disabled webhook can be changed.
      for (const name of ["Test", "Edit", "Rotate secret", "Disable"]) {
        await page.getByRole("button", { name, exact: true }).waitFor({ state: "detached" })
      }
    }))

  it.effect("says that the requests include the writes of the console", () =>
    using(async ({ page }) => {
      await page.getByRole("link", { name: "Requests" }).click()
      await page.getByText(
        "API requests as they arrive, including the writes of this console. Its reads are not shown."
      )
        .waitFor()
      await page.locator("tr", { hasText: "DELETE" }).getByText(/^.v1.webhooks/).waitFor()
      assert.strictEqual(await page.locator("tr", { hasText: "GET" }).count(), 0)
    }))

  it.effect("shows all times in the form of the browser's language", () =>
    using(async ({ chrome, ready }) => {
      for (
        const [locale, form] of [["en-US", /^\d+:\d\d(:\d\d)?\s[AP]M$/], ["de-DE", /^\d\d:\d\d(:\d\d)?$/]] as const
      ) {
        const page = await chrome.newPage({ locale })
        await page.goto(ready.console_url)
        await page.getByRole("option", { name: /Amélie/ }).click()
        await page.locator(".bubble time").first().waitFor()
        const times = await page.locator("time").allInnerTexts()
        for (const view of ["Requests", "Sends", "Events"]) {
          await page.getByRole("link", { name: view }).click()
          await page.getByRole("table", { name: view }).waitFor()
          times.push(...await page.locator("tbody time").allInnerTexts())
        }
        assert.isAbove(times.length, 20)
        for (const time of times) assert.match(time, form)
        await page.close()
      }
    }))
})
