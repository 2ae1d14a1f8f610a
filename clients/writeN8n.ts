/** Writes the operations of the n8n node: `npm run docs`. */
import { readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { operationsOf } from "./N8nOperations.ts"

const root = resolve(import.meta.dirname, "..")
const document = JSON.parse(readFileSync(join(root, "packages", "adapter-http", "openapi.json"), "utf8"))
writeFileSync(
  join(root, "clients", "n8n", "nodes", "MessagingCrm", "operations.json"),
  `${JSON.stringify(operationsOf(document), null, 2)}\n`
)
