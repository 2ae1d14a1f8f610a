/** Writes the Bruno collection to `clients/bruno`: `npm run docs`. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { collectionOf } from "./BrunoCollection.ts"

const root = resolve(import.meta.dirname, "..")
const folder = join(root, "clients", "bruno")
rmSync(folder, { recursive: true, force: true })
const document = JSON.parse(readFileSync(join(root, "packages", "adapter-http", "openapi.json"), "utf8"))
for (const [path, text] of collectionOf(document)) {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}
