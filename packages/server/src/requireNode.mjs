// Ends the process on a Node older than `engines` of `package.json` requires. It has no types, because such a Node cannot
// read them: `npm start` loads this file before any other.
import { createRequire } from "node:module"

const { engines } = createRequire(import.meta.url)("@messaging-crm/server/package.json")
const required = engines.node.replace(">=", "")
const [major, minor] = process.versions.node.split(".").map(Number)
const [requiredMajor, requiredMinor] = required.split(".").map(Number)
if (major < requiredMajor || (major === requiredMajor && minor < requiredMinor)) {
  // npm sets this name in the checkout only.
  const remedy = process.env.npm_package_name === "messaging-crm"
    ? ". Run `npm ci`, which installs Node 26 for this folder"
    : ""
  process.stderr.write(
    `Messaging CRM needs Node ${required} or newer. This is Node ${process.versions.node}${remedy}.\n`
  )
  process.exit(1)
}
