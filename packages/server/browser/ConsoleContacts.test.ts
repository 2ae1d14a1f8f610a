/** Contacts in the console's inbox, in Debian's Chromium over a running `dev`. */
import { assert, it } from "@effect/vitest"
import { assertAccessible } from "../../console/browser/Accessibility.ts"
import { Opened, using } from "./OpenedConsole.ts"

it.layer(Opened.layer, { timeout: "1 minute" })("a contact", (it) => {
  it.effect(
    "is edited, shows an error next to its field, and keeps the change of another client",
    () =>
      using(async ({ page, ready }) => {
        const headers = { "authorization": `Bearer ${ready.api_key}`, "content-type": "application/json" }
        await page.getByRole("option", { name: /Amélie/ }).click()
        const panel = page.getByRole("complementary", { name: "Contact" })
        const edit = panel.getByRole("button", { name: "Edit contact" })
        const dialog = page.getByRole("dialog", { name: "Edit contact" })
        const field = (label: string) => dialog.getByLabel(label, { exact: true })
        const save = dialog.getByRole("button", { name: "Save" })
        await edit.click()
        await field("Last name").fill("Durand")
        await dialog.getByRole("combobox", { name: "Stage" }).selectOption({ label: "evangelist" })
        await dialog.getByRole("combobox", { name: "Owner" }).selectOption({ label: "Grace Hopper" })
        const phone = await field("Phone").inputValue()
        await field("Phone").fill("0151 1")
        await save.click()
        const error = dialog.locator("label:has([name='primary_phone']) + .error")
        await error.filter({ hasText: /^Phone must be / }).waitFor()
        assert.isTrue(await field("Phone").evaluate((element) => element === document.activeElement))
        assert.strictEqual(await field("Phone").getAttribute("aria-invalid"), "true")
        await assertAccessible(page, "a contact with an error")
        await page.setViewportSize({ width: 1200, height: 700 })
        await field("Phone").fill(phone)
        await error.waitFor({ state: "detached" })
        await save.click()
        await panel.getByText("Durand").waitFor()
        await panel.getByText("Grace Hopper").waitFor()
        await edit.evaluate((element) => element === document.activeElement || Promise.reject(new Error("no focus")))

        await edit.click()
        await field("Company").fill("Ours")
        const found = await fetch(`${ready.base_url}/contacts?query=Durand`, { headers })
        const [{ id }] = (await found.json()).data
        const body = JSON.stringify({ company: "Theirs", job_title: "Baker" })
        const write = { ...headers, "idempotency-key": "an edit of another client" }
        const changed = await fetch(`${ready.base_url}/contacts/${id}`, { method: "PATCH", headers: write, body })
        assert.strictEqual(changed.status, 200)
        await save.click()
        await dialog.getByRole("alert").filter({ hasText: "The contact has changed since you opened it." }).waitFor()
        await dialog.getByText("Company is now “Theirs”.").waitFor()
        assert.strictEqual(await field("Job title").inputValue(), "Baker")
        assert.strictEqual(await field("Company").inputValue(), "Ours")
        await assertAccessible(page, "a contact that another client has changed")
        await page.setViewportSize({ width: 1200, height: 700 })
        await dialog.getByRole("button", { name: "Use the saved value of Company" }).click()
        assert.strictEqual(await field("Company").inputValue(), "Theirs")
        await field("First name").fill("Amélie Marie")
        await save.click()
        await panel.getByText("Amélie Marie").waitFor()
        await panel.getByText("Theirs").waitFor()
        await panel.getByText("Baker").waitFor()
      }),
    120_000
  )
})
