// Publishes what `npm run pack` has built, dependencies first. A version that the registry already has is skipped, so a
// release that was interrupted is resumed by the same command.
import { execFileSync, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { publishFlags } from "../packages/server/scripts/Hosting.ts"

const build = resolve(import.meta.dirname, "..", "build")
const order = JSON.parse(readFileSync(join(build, "order.json"), "utf8"))

const isPublished = ({ name, version }) => {
  const { status, stderr, stdout } = spawnSync("npm", ["view", `${name}@${version}`, "version"], { encoding: "utf8" })
  // Anything but an unknown package or version means that nothing is known.
  if (status !== 0 && !stderr.includes("E404")) throw new Error(`The registry does not respond: ${stderr}`)
  return stdout.trim() === version
}

for (const entry of order) {
  const label = `${entry.name}@${entry.version}`
  if (isPublished(entry)) {
    console.log(`skipped    ${label}: already published`)
    continue
  }
  execFileSync("npm", ["publish", ...publishFlags(process.env), join(build, entry.filename)], { stdio: "inherit" })
  console.log(`published  ${label}`)
}
