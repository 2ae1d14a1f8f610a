import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"

/** A file of the schema. */
export interface SchemaFile {
  readonly name: string
  /** SQL statements, separated by semicolons. */
  readonly text: string
  readonly hash: string
}

const read = (folder: string): ReadonlyArray<SchemaFile> =>
  readdirSync(new URL(`${folder}/`, import.meta.url)).toSorted().map((file) => {
    const name = `${folder}/${file}`
    const text = readFileSync(new URL(name, import.meta.url), "utf8")
    return { name, text, hash: createHash("sha256").update(text).digest("hex") }
  })

/** The tables. In the bundle and in the published package this module is replaced by its values: see `scripts/inline.ts`. */
export const tables = read("tables")

/** The functions, each in a file of its own, with what depends on it. */
export const functions = read("functions")
