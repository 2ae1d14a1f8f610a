/** The console on a phone: one part at a time with a way back, in Debian's Chromium over a running `dev`. */
import { assert, it } from "@effect/vitest"
import type { Page } from "playwright-core"
import { Opened, picture, using } from "./OpenedConsole.ts"

const openPhone = async ({ chrome, ready }: Opened["Service"], width = 390) => {
  const page = await chrome.newPage({ viewport: { width, height: 844 }, colorScheme: "light", reducedMotion: "reduce" })
  await page.goto(ready.console_url)
  await page.getByRole("option", { name: /Amélie/ }).waitFor()
  return page
}

/** Returns the visible controls and texts that are not completely between the left and the right edge. */
const cutOff = (page: Page) =>
  page.evaluate<ReadonlyArray<string>>(
    `Array.from(document.querySelectorAll("a, button, select, input, textarea, td, p, h1, h2, li"))
    .filter((element) => element.checkVisibility() && !element.closest(".hidden"))
    .filter((element) => {
      const { left, right } = element.getBoundingClientRect()
      return left < 0 || right > innerWidth
    })
    .map((element) => element.outerHTML.slice(0, 80))`
  )

const visibleParts = async (page: Page) => {
  const parts = { list: ".list", thread: ".thread", contact: ".details" }
  const visible = await Promise.all(
    Object.entries(parts).map(async ([name, part]) => await page.locator(part).isVisible() ? [name] : [])
  )
  return visible.flat()
}

it.layer(Opened.layer, { timeout: "1 minute" })("the console on a phone", (it) => {
  it.effect("shows the list, the conversation, and the contact one at a time, each with a way back", () =>
    using(async (opened) => {
      const page = await openPhone(opened)
      assert.deepStrictEqual(await visibleParts(page), ["list"])
      assert.deepStrictEqual(await cutOff(page), [])
      await page.getByRole("option", { name: /Amélie/ }).click()
      const back = page.getByRole("link", { name: "Back to the conversations" })
      await back.waitFor()
      assert.deepStrictEqual(await visibleParts(page), ["thread"])
      await page.getByRole("region", { name: "Conversation" }).getByText("Merci ! Until when are you open today?")
        .waitFor()
      assert.deepStrictEqual(await cutOff(page), [])
      await picture(page, "console-phone")
      await page.getByRole("link", { name: "Contact", exact: true }).click()
      await page.getByText("Boulangerie Dubois").waitFor()
      assert.deepStrictEqual(await visibleParts(page), ["contact"])
      assert.deepStrictEqual(await cutOff(page), [])
      await page.reload()
      await page.getByText("Boulangerie Dubois").waitFor()

      await page.getByRole("link", { name: "Back to the conversation", exact: true }).click()
      await back.waitFor()
      await back.click()
      await page.getByRole("option", { name: /Mateo/ }).click()
      await back.waitFor()
      await page.goBack()
      await page.getByRole("option", { name: /Mateo/ }).waitFor()
      assert.deepStrictEqual(await visibleParts(page), ["list"])
      await page.close()
    }))

  it.effect("returns to the conversation and to the list by Escape, with the focus in the shown part", () =>
    using(async (opened) => {
      const page = await openPhone(opened)
      await page.getByRole("listbox").press("Home")
      await page.locator(".thread .back:focus").waitFor()
      await page.getByRole("link", { name: "Contact", exact: true }).press("Enter")
      await page.locator(".details .back:focus").waitFor()
      await page.keyboard.press("Escape")
      await page.locator(".thread .back:focus").waitFor()
      await page.keyboard.press("Escape")
      await page.locator(".conversations:focus").waitFor()
      await page.close()
    }))

  it.effect("shows the newest message completely, also after the composer grows", () =>
    using(async (opened) => {
      const page = await openPhone(opened)
      await page.getByRole("option", { name: /lena.m/ }).click()
      await page.getByRole("button", { name: "As the customer", exact: true }).click()
      const field = page.getByRole("textbox", { name: "Message" })
      const isNewestVisible = `(() => {
        const list = document.querySelector(".messages").getBoundingClientRect()
        const bubble = Array.from(document.querySelectorAll(".bubble")).at(-1)?.getBoundingClientRect()
        return bubble !== undefined && bubble.top >= list.top && bubble.bottom <= list.bottom
      })()`
      // The content security policy forbids `waitForFunction` to evaluate a text again.
      const untilNewestIsVisible = async () => {
        while (!await page.evaluate(isNewestVisible)) await page.evaluate("new Promise(requestAnimationFrame)")
      }
      for (let number = 1; number <= 12; number++) {
        await field.fill(`Message ${number} of many, with a text that needs more than one line on a phone.`)
        await field.press("Enter")
      }
      await page.locator(".inbound", { hasText: "Message 12" }).waitFor()
      await untilNewestIsVisible()
      await page.getByRole("button", { name: "Reply", exact: true }).click()
      await field.fill("x".repeat(1001))
      await field.press("Enter")
      await page.locator(".composer").getByRole("alert").waitFor()
      await untilNewestIsVisible()
      await page.setViewportSize({ width: 390, height: 500 })
      await untilNewestIsVisible()
      await page.close()
    }))

  it.effect("cuts no table and no navigation", () =>
    using(async (opened) => {
      const page = await openPhone(opened)
      for (const view of ["Requests", "Sends", "Events"]) {
        await page.getByRole("link", { name: view }).click()
        const row = page.getByRole("table", { name: view }).getByRole("row").nth(1)
        await row.waitFor()
        assert.isAbove(await row.getByRole("cell").count(), 2)
        assert.deepStrictEqual(await cutOff(page), [], view)
      }
      await page.close()
    }))

  it.effect("shows the contact in place of the conversation on a page of medium width", () =>
    using(async (opened) => {
      const page = await openPhone(opened, 900)
      await page.getByRole("option", { name: /Amélie/ }).click()
      await page.getByRole("link", { name: "Contact", exact: true }).click()
      await page.getByText("Boulangerie Dubois").waitFor()
      assert.deepStrictEqual(await visibleParts(page), ["list", "contact"])
      await page.getByRole("link", { name: "Back to the conversation", exact: true }).click()
      await page.getByRole("textbox", { name: "Message" }).waitFor()
      assert.deepStrictEqual(await cutOff(page), [])
      await page.close()
    }))
})
