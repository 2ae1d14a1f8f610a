/** Reports what Node waits for when a test has exceeded its time limit. */
import { beforeEach } from "vitest"

/** Returns the kinds of resources that keep Node running, each with their number. */
const resources = (): string => {
  const counts = Map.groupBy(process.getActiveResourcesInfo(), (kind) => kind)
  return Array.from(counts, ([kind, { length }]) => `${length} ${kind}`).join(", ")
}

beforeEach(({ onTestFailed }) =>
  onTestFailed(({ task }) => {
    // A test can fail with a value that has no message.
    const isHang = task.result?.errors?.some(({ message }) => `${message}`.startsWith("Test timed out")) === true
    if (!isHang) return
    process.stderr.write(
      `"${task.name}" waited for: ${resources()}. If no timer and no socket is listed, it waited for a promise or for TestClock.\n`
    )
  })
)
