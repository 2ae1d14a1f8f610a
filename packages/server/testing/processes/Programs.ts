/** The programs that tests start as processes. */
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export const sources = {
  /** The command line. */
  main: pathOf("../../src/main.ts"),
  /** `serve` and `worker` with short timeouts. */
  server: pathOf("../programs/server.ts"),
  worker: pathOf("../programs/worker.ts"),
  /** The fake Graph API. */
  graph: pathOf("../../../provider-cloud/testing/main.ts")
}

/** The folder of the bundles in a test run. */
const folder = process.env["TEST_PROGRAMS"]

/** Returns the path of a program: of its bundle in a test run, which starts faster, and of its source elsewhere. */
export const program = (name: keyof typeof sources): string =>
  folder === undefined ? sources[name] : join(folder, `${name}.js`)

/** Lets programs in a test run reuse the code that an earlier process has compiled. */
export const environment = folder === undefined ? {} : { NODE_COMPILE_CACHE: join(folder, "compiled") }
