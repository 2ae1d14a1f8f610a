// Lints and builds a copy of clients/n8n with n8n's own tools: the folder itself has no dependencies installed.
import { spawnSync } from "node:child_process"
import { cpSync, rmSync } from "node:fs"
import { join, resolve } from "node:path"

const here = import.meta.dirname
const folder = join(here, "build")
rmSync(folder, { recursive: true, force: true })
cpSync(resolve(here, "../../clients/n8n"), folder, { recursive: true })

for (const command of ["lint", "build"]) {
  const { status, stdout, stderr } = spawnSync(join(here, "node_modules/.bin/n8n-node"), [command], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, PATH: `${join(here, "node_modules/.bin")}:${process.env.PATH}` }
  })
  if (status !== 0) {
    console.error(stdout, stderr)
    process.exit(1)
  }
}
