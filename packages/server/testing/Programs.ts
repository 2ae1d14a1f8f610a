/** The programs that tests start as processes. */
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export const sources = {
  /** The command line. */
  main: pathOf("../src/main.ts"),
  /** `serve` and `worker` with short timeouts. */
  server: pathOf("../faults/server.ts"),
  worker: pathOf("../faults/worker.ts"),
  /** The fake Graph API. */
  graph: pathOf("../../provider-cloud/testing/main.ts")
}

/** Returns the path of a program: of its bundle in a test run, which starts faster, and of its source elsewhere. */
export const program = (name: keyof typeof sources): string => {
  const folder = process.env["TEST_PROGRAMS"]
  return folder === undefined ? sources[name] : join(folder, `${name}.js`)
}
