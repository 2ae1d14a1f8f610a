// Copies into a package what it uses of a dependency, so that its users do not install that dependency: the peers of
// `@effect/platform-node` would bring `redis` (15 MB) to everybody, for a module that nobody here imports.
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"

const imported = (code) =>
  Array.from(code.matchAll(/(?<![".])\b(?:from|import)\s*\(?\s*"([^"\n]+)"/g), ([, name]) => name)

/** Copies a module of a package with its types, and the modules that these import. Adds the packages that they name. */
const copy = ({ copied, from, needed, to }, file) => {
  if (copied.has(file)) return
  copied.add(file)
  for (const each of [file, file.replace(/\.js$/, ".d.ts")]) {
    const code = readFileSync(join(from, each), "utf8")
    mkdirSync(dirname(join(to, each)), { recursive: true })
    writeFileSync(join(to, each), code.replace(/\n\/\/# sourceMappingURL=.*/, ""))
    for (const name of imported(code)) {
      if (name.startsWith(".")) {
        copy({ copied, from, needed, to }, join(dirname(file), name).replace(/\.d\.ts$|\.ts$/, ".js"))
      } else if (!name.startsWith("node:")) needed.add(name.split("/").slice(0, name.startsWith("@") ? 2 : 1).join("/"))
    }
  }
}

/**
 * Replaces the imports of a dependency in a compiled package by imports of copies. Returns the names of the packages that
 * the copies need.
 */
export const inlineDependency = (folder, dependency, dependencyFolder) => {
  const to = join(folder, "dist", "inlined", dependency)
  const context = { copied: new Set(), from: join(dependencyFolder, "dist"), needed: new Set(), to }
  for (const file of globSync("dist/**/*.{js,d.ts}", { cwd: folder })) {
    const path = join(folder, file)
    const code = readFileSync(path, "utf8")
    const changed = code.replaceAll(new RegExp(`"${dependency}/(\\w+)"`, "g"), (_, name) => {
      copy(context, `${name}.js`)
      return `"./${relative(dirname(path), join(to, `${name}.js`))}"`
    })
    if (changed !== code) writeFileSync(path, changed)
  }
  cpSync(join(dependencyFolder, "LICENSE"), join(to, "LICENSE"))
  return Array.from(context.needed)
}
