// Loaded before the program, which an older Node cannot read.
const [major, minor] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `Node ${process.versions.node} is too old. Use Node 22.19 or later: run \`npm ci\`, which installs Node 26 for this folder.\n`
  )
  process.exit(1)
}
