/**
 * The modules that read a file. The bundle and the published packages contain their values instead, so that they need no
 * other file, and users can bundle the packages.
 */
import * as Explorer from "../../adapter-http/src/Docs/Explorer.ts"
import * as Files from "../../adapter-postgres/src/database/schema/Files.ts"

interface InlinedModule {
  /** The end of its path, in the workspace. */
  readonly file: string
  readonly code: string
  /** The package from npm that the file is from. */
  readonly origin: string | null
}

const codeOf = (values: object): string =>
  Object.entries(values).map(([name, value]) => `export const ${name} = ${JSON.stringify(value)}\n`).join("")

export const modules: ReadonlyArray<InlinedModule> = [
  { file: "adapter-http/src/Docs/Explorer.ts", code: codeOf(Explorer), origin: "openapi-explorer" },
  { file: "adapter-postgres/src/database/schema/Files.ts", code: codeOf(Files), origin: null }
]
