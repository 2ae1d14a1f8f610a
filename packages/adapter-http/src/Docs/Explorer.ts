import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

/**
 * The script of OpenAPI Explorer, which shows the document. In the bundle and in the published package this module is
 * replaced by its value: see `InlinedModules.ts` of the server.
 */
export const script = readFileSync(
  fileURLToPath(import.meta.resolve("openapi-explorer/dist/browser/openapi-explorer.min.js")),
  "utf8"
)
