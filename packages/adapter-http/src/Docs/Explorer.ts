import { readFileSync } from "node:fs"
import { createRequire } from "node:module"

/**
 * The script of OpenAPI Explorer, which shows the document. In the bundle and in the published package this module is
 * replaced by its value: see `InlinedModules.ts` of the server.
 */
export const script = readFileSync(
  createRequire(import.meta.url).resolve("openapi-explorer/dist/browser/openapi-explorer.min.js"),
  "utf8"
)
