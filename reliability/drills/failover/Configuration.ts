/** The files of `deploy/high-availability`, which docs/high-availability.md describes. */
import { readFileSync } from "node:fs"

const folder = new URL("../../../deploy/high-availability/", import.meta.url)

/** Returns the text of a file with its placeholders, such as `@HOST@`, replaced. */
export const textOf = (file: string, values: Readonly<Record<string, string>> = {}): string =>
  readFileSync(new URL(file, folder), "utf8").replaceAll(/@([A-Z_]+)@/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`${file} has the placeholder ${name}, for which there is no value.`)
    return value
  })

/** Returns the variables of an environment file as systemd reads it. */
export const environmentOf = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Array.from(text.matchAll(/^([A-Z_]+)=(.*)$/gm), ([, name = "", value = ""]) => [name, value])
  )
