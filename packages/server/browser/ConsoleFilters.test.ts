/** The search and the filters of the console's inbox, in Debian's Chromium over a running `dev`. */
import { assert, it } from "@effect/vitest"
import { Opened, using } from "./OpenedConsole.ts"

it.layer(Opened.layer, { timeout: "1 minute" })("the list of conversations", (it) => {
  it.effect("finds a contact, and shows its conversations only", () =>
    using(async ({ page }) => {
      const search = page.getByRole("searchbox", { name: "Search contacts" })
      await search.fill("boulangerie")
      await search.press("Enter")
      await page.getByRole("list", { name: "Found contacts" }).getByRole("button", {
        name: /Amélie Dubois.* · .*Boulangerie/
      }).click()
      const options = page.getByRole("option")
      await page.getByRole("option", { name: /Amélie/ }).waitFor()
      assert.strictEqual(await page.getByRole("listbox").getByRole("option").count(), 1)
      await page.getByRole("button", { name: "Show all contacts" }).click()
      await page.getByRole("option", { name: /lena.m/ }).waitFor()
      assert.isAbove(await options.count(), 3)

      await search.fill("a contact that does not exist")
      await search.press("Enter")
      await page.getByText("No contact matches.").waitFor()
      await search.press("Escape")
      await page.getByRole("option", { name: /lena.m/ }).waitFor()
    }))

  it.effect("filters by channel and by assignee, also what changes afterward", () =>
    using(async ({ page }) => {
      const names = () => page.getByRole("listbox").locator(".who").allInnerTexts()
      await page.getByLabel("Filter by channel").selectOption({ label: "Photos" })
      await page.getByRole("option", { name: /Mateo/ }).waitFor({ state: "detached" })
      await page.getByRole("option", { name: /lena.m/ }).waitFor()
      assert.deepStrictEqual(await names(), ["lena.m"])

      await page.getByLabel("Filter by channel").selectOption({ label: "All channels" })
      await page.getByLabel("Filter by assignee").selectOption({ label: "Unassigned" })
      await page.getByRole("option", { name: /lena.m/ }).waitFor({ state: "detached" })
      await page.getByRole("option", { name: /Mateo/ }).click()
      await page.getByLabel("Assigned to").selectOption({ label: "Grace Hopper" })
      await page.getByRole("option", { name: /Mateo/ }).waitFor({ state: "detached" })
      await page.getByLabel("Filter by assignee").selectOption({ label: "Grace Hopper" })
      await page.getByRole("option", { name: /Mateo/ }).waitFor()
      assert.deepStrictEqual(await names(), ["Mateo García"])
      await page.getByLabel("Filter by assignee").selectOption({ label: "Alan Turing" })
      await page.getByText("No conversation matches the filter.").waitFor()
    }))
})
