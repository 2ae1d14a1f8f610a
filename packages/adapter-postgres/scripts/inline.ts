/**
 * The module `schema/Files.ts` with the SQL that it reads from its folder. The bundle and the published package hold this
 * one instead, so that they need no other file, and users can bundle the package.
 */
import * as Files from "../src/database/schema/Files.ts"

/** The path of the module, without its extension. */
export const path = "src/database/schema/Files"

export const code = Object.entries(Files)
  .map(([name, value]) => `export const ${name} = ${JSON.stringify(value)}\n`)
  .join("")
