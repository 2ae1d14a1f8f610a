/** The globals of a browser, for tests that load the page's modules. */
import { afterAll, beforeEach, vi } from "vitest"

/**
 * Stubs the globals of a browser until the tests of the file end. The modules of the page are loaded again, because they read
 * the globals when they are loaded, and tests of other files in this process have changed their state.
 */
export const installBrowser = (globals: Readonly<Record<string, unknown>>) => {
  const stubs = Object.entries({
    document: { body: { dataset: {} }, hidden: false },
    requestAnimationFrame: () => 0,
    ...globals
  })
  const stubAll = () => stubs.forEach(([name, value]) => vi.stubGlobal(name, value))
  stubAll()
  vi.resetModules()
  beforeEach(stubAll)
  afterAll(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
  })
}
