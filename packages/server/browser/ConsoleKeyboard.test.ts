/** The console by keyboard: focus, dialogs, and announcements to screen readers, in Debian's Chromium with a running `dev`. */
import { assert, it } from "@effect/vitest"
import type { Locator, Page } from "playwright-core"
import { Opened, using } from "./OpenedConsole.ts"

/** Returns the visible elements that a person can use, in the form in which `focused` returns one. */
const usable = (page: Page) =>
  page.evaluate<ReadonlyArray<string>>(
    `Array.from((document.querySelector("dialog[open]") ?? document).querySelectorAll("a[href], button, select, input, textarea, [tabindex]"))
      .filter((element) => element.checkVisibility() && !element.disabled)
      .map((element) => element.outerHTML.slice(0, 120))`
  )

/** Returns the element with the focus, and whether its outline is visible. */
const focused = (page: Page) =>
  page.evaluate<{ readonly html: string; readonly isVisible: boolean }>(`(() => {
    const { activeElement } = document
    const { outlineStyle, outlineWidth } = getComputedStyle(activeElement)
    return {
      html: activeElement === document.body ? "" : activeElement.outerHTML.slice(0, 120),
      isVisible: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2
    }
  })()`)

/** Asserts that the Tab key reaches every visible element that a person can use, and that the focus is visible on each. */
const assertReachable = async (page: Page, screen: string) => {
  const expected = await usable(page)
  await page.evaluate("document.activeElement.blur()")
  const reached = new Set<string>()
  const unclear: Array<string> = []
  // The browser's own controls take some of the steps.
  for (let step = 0; step < expected.length + 5; step++) {
    await page.keyboard.press("Tab")
    const { html, isVisible } = await focused(page)
    reached.add(html)
    if (html !== "" && !isVisible) unclear.push(html)
  }
  assert.deepStrictEqual(expected.filter((html) => !reached.has(html)), [], screen)
  assert.deepStrictEqual(unclear, [], screen)
}

const hasFocus = (locator: Locator) => locator.and(locator.page().locator(":focus")).waitFor({ timeout: 5000 })

/** Waits until the page has announced a text to screen readers. */
const announced = (page: Page, text: string) =>
  page.locator(".announcement[role='status']").getByText(text).waitFor({ state: "attached" })

/** Opens a dialog by the key Enter on a button, and waits until the focus is in it. */
const openByKey = async (page: Page, button: string, title: string) => {
  await page.getByRole("button", { name: button, exact: true }).press("Enter")
  const dialog = page.getByRole("dialog", { name: title })
  await dialog.locator(":focus").waitFor()
  return dialog
}

it.layer(Opened.layer, { timeout: "1 minute" })("the console by keyboard", (it) => {
  it.effect("reaches every control of each view, with a visible focus", () =>
    using(async ({ page }) => {
      await page.getByRole("option", { name: /Amélie/ }).waitFor()
      await assertReachable(page, "the list")
      await page.getByRole("listbox").press("ArrowDown")
      await page.getByLabel("Add a tag").waitFor()
      await assertReachable(page, "a conversation")
      for (const view of ["Requests", "Sends", "Webhooks", "Events"]) {
        await page.getByRole("link", { name: view }).press("Enter")
        await page.getByRole("heading", { name: view }).waitFor()
        await assertReachable(page, view)
      }
      await page.getByRole("link", { name: "Inbox" }).press("Enter")
    }), 120_000)

  it.effect("returns the focus after a dialog, whether it is canceled or completed", () =>
    using(async ({ page }) => {
      await page.getByRole("option", { name: /Amélie/ }).click()
      for (
        const [button, title] of [
          ["Template", "Send a template"],
          ["New", "New conversation"],
          ["As a customer", "Message from a customer"]
        ] as const
      ) {
        const dialog = await openByKey(page, button, title)
        await assertReachable(page, title)
        await page.keyboard.press("Escape")
        await dialog.waitFor({ state: "detached" })
        await hasFocus(page.getByRole("button", { name: button, exact: true }))
      }
      await openByKey(page, "As a customer", "Message from a customer")
      await page.getByRole("dialog").getByLabel("Message").fill("Good morning")
      await page.getByRole("button", { name: "Send as the customer" }).press("Enter")
      await hasFocus(page.getByRole("button", { name: "As a customer", exact: true }))
      // A later message would otherwise be announced with this one, and its row would move the others.
      await announced(page, "New message from Kim Example: Good morning")
    }))

  it.effect("keeps the focus near an element that an action removes", () =>
    using(async ({ page }) => {
      await page.getByRole("option", { name: /Amélie/ }).click()
      const tag = page.getByRole("button", { name: /^Remove / }).first()
      await tag.press("Enter")
      await page.locator(".tags :focus").waitFor()

      const search = page.getByRole("searchbox", { name: "Search contacts" })
      await search.fill("boulangerie")
      await search.press("Enter")
      await page.getByRole("list", { name: "Found contacts" }).getByRole("button").press("Enter")
      await hasFocus(page.getByRole("listbox", { name: "Conversations" }))
      await page.getByRole("button", { name: "Show all contacts" }).press("Enter")
      await hasFocus(search)

      await page.route("**/call/assign", (route) =>
        route.fulfill({ status: 503, json: { error: { message: "Unavailable." } } }))
      await page.getByLabel("Assigned to").selectOption({ label: "Grace Hopper" })
      await page.getByRole("button", { name: "Dismiss" }).press("Enter")
      await hasFocus(page.getByRole("listbox", { name: "Conversations" }))
      await page.unroute("**/call/assign")
    }))

  it.effect("returns the focus after each dialog for webhooks", () =>
    using(async ({ hook, page }) => {
      await page.getByRole("link", { name: "Webhooks" }).press("Enter")
      await openByKey(page, "New webhook", "New webhook")
      await page.getByLabel("URL").fill(hook.url)
      await page.getByRole("button", { name: "Create" }).press("Enter")
      const secret = page.getByRole("dialog", { name: "Signing secret" })
      await secret.locator(":focus").waitFor()
      await secret.getByRole("button", { name: "Done" }).press("Enter")
      await hasFocus(page.getByRole("button", { name: "New webhook" }))
      await openByKey(page, "Rotate secret", "Rotate the secret")
      await page.getByRole("button", { name: "Rotate", exact: true }).press("Enter")
      await secret.getByRole("button", { name: "Done" }).press("Enter")
      await hasFocus(page.getByRole("button", { name: "Rotate secret" }))
      await openByKey(page, "Disable", "Disable the webhook")
      await page.getByRole("dialog").getByRole("button", { name: "Disable" }).press("Enter")
      await page.getByRole("group", { name: "Webhooks" }).getByText("disabled").waitFor()
      await hasFocus(page.getByRole("button", { name: "New webhook" }))
    }))

  it.effect("says which messages arrive and which fail, and not what was there before", () =>
    using(async ({ page }) => {
      await page.getByRole("link", { name: "Inbox" }).press("Enter")
      await page.getByRole("option", { name: /Mateo/ }).click()
      await page.locator(".bubble").first().waitFor()
      assert.strictEqual(await page.locator(".messages[aria-live]").count(), 0)
      await page.getByRole("button", { name: "As the customer", exact: true }).press("Enter")
      const field = page.getByRole("textbox", { name: "Message" })
      await field.fill("Is it ready?")
      await field.press("Enter")
      await announced(page, "New message from Mateo García: Is it ready?")

      await openByKey(page, "As a customer", "Message from a customer")
      await page.getByLabel("Name").fill("Rosa Marín")
      await page.getByRole("dialog").getByLabel("Message").fill("Is the red one available?")
      await page.getByRole("button", { name: "Send as the customer" }).press("Enter")
      await announced(page, "New message from Rosa Marín: Is the red one available?")

      await openByKey(page, "New", "New conversation")
      await page.getByLabel("Phone number").fill("+49 151 777 0002")
      await page.getByRole("combobox", { name: "Template" }).selectOption({ label: "spring_sale (en)" })
      await page.getByLabel("Body {{1}}").fill("20%")
      await page.getByLabel("Body {{2}}").fill("Sunday")
      await page.getByRole("dialog").getByRole("button", { name: "Send" }).press("Enter")
      await announced(page, "Not sent. The number is not on the network")
    }))

  it.effect("moves nothing for a person who prefers less motion", () =>
    using(async ({ page }) => {
      await page.getByRole("option", { name: /Amélie/ }).click()
      await page.getByText("Merci ! Until when are you open today?").waitFor()
      const animation = () =>
        page.locator(".bubble").first().evaluate((element) => getComputedStyle(element).animationName)
      await page.emulateMedia({ reducedMotion: "no-preference" })
      assert.strictEqual(await animation(), "appear")
      await page.emulateMedia({ reducedMotion: "reduce" })
      assert.strictEqual(await animation(), "none")
      const moving = `Array.from(document.querySelectorAll("*")).filter((element) => {
        const { scrollBehavior, transitionDuration } = getComputedStyle(element)
        return scrollBehavior !== "auto" || parseFloat(transitionDuration) > 0
      }).length`
      assert.strictEqual(await page.evaluate<number>(moving), 0)
    }))
})
