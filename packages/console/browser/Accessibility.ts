/** The rules of WCAG 2.2, levels A and AA, that axe-core can check on an open page. */
import axe from "axe-core"
import type { Page } from "playwright-core"
import { assert } from "vitest"

const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

// The rule on the size of targets is the only one of WCAG 2.2, and off by default.
const options = { runOnly: tags, rules: { "target-size": { enabled: true } }, resultTypes: ["violations"] }

/** Returns the violations of the shown page, each with its elements. */
const violationsOf = async (page: Page): Promise<ReadonlyArray<string>> => {
  // The content security policy of the page forbids a script element.
  await page.evaluate(`window.axe === undefined && (() => { ${axe.source} })()`)
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(document, ${JSON.stringify(options)})`)
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ any, html }) => `${id}: ${html.slice(0, 200)} (${any[0]?.message ?? "see the rule"})`)
  )
}

const widths = [1280, 390]
const colorSchemes = ["light", "dark"] as const

/** Asserts that the shown page violates no rule, in light and dark colors, on a screen and on a phone. */
export const assertAccessible = async (
  page: Page,
  screen: string,
  schemes: ReadonlyArray<(typeof colorSchemes)[number]> = colorSchemes
): Promise<void> => {
  const found: Array<string> = []
  for (const width of widths) {
    await page.setViewportSize({ width, height: 844 })
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
      for (const violation of await violationsOf(page)) {
        found.push(`${screen}, ${width} px, ${colorScheme}: ${violation}`)
      }
    }
  }
  assert.deepStrictEqual(found, [])
}
