// Gives the Python and Go clients the version of the packages, as part of `npm run version`.
import { readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"

/** The files that name the version, from the root of the repository, each with the pattern of its line. */
export const versions = [
  { file: "clients/python/messaging_crm.py", pattern: /^__version__ = "(.*)"$/m },
  { file: "clients/go/messagingcrm.go", pattern: /^const Version = "(.*)"$/m }
]

if (import.meta.main) {
  const root = resolve(import.meta.dirname, "..")
  const { version } = JSON.parse(readFileSync(join(root, "packages", "client", "package.json"), "utf8"))
  for (const { file, pattern } of versions) {
    const text = readFileSync(join(root, file), "utf8")
    writeFileSync(join(root, file), text.replace(pattern, (line, old: string) => line.replace(old, version)))
  }
}
