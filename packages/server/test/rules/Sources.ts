/** The imports of source files, by path from the repository's root. */
import { readFileSync } from "node:fs"
import { join } from "node:path"

export const textOf = (file: string): string => readFileSync(file, "utf8")

/** Returns the specifiers that a file imports. */
export const importsOf = (file: string): ReadonlyArray<string> =>
  Array.from(
    textOf(file).matchAll(/(?:\bfrom|\bimport\s*\(|^import)\s*"([^"\n]+)"/gm),
    ([, specifier = ""]) => specifier
  )

/** Returns the files that a file imports by a relative path. */
export const relativeImportsOf = (file: string): ReadonlyArray<string> =>
  importsOf(file).filter((specifier) => specifier.startsWith(".")).map((specifier) => join(file, "..", specifier))

/** Returns the `exports` of a package's manifest. */
export const exportsOf = (name: string): Readonly<Record<string, string>> =>
  JSON.parse(textOf(join("packages", name, "package.json"))).exports
