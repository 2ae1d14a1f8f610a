import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"

/** A file of the schema. */
export interface SchemaFile {
  readonly name: string
  /** SQL statements, separated by semicolons. */
  readonly text: string
  readonly hash: string
}

const textOf = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8")

const read = (folder: string): ReadonlyArray<SchemaFile> =>
  readdirSync(new URL(`${folder}/`, import.meta.url)).toSorted().map((file) => {
    const name = `${folder}/${file}`
    const text = textOf(name)
    return { name, text, hash: createHash("sha256").update(text).digest("hex") }
  })

/** The version of the package, without the name of a prerelease. */
export const version: string = JSON.parse(textOf("../../../package.json")).version.replace(/-.*/, "")

/**
 * The tables. In the bundle and in the published package this module is replaced by its values: see `InlinedModules.ts`
 * of the server.
 */
export const tables = read("tables")

/** The functions, each in a file of its own, with what depends on it. */
export const functions = read("functions")
