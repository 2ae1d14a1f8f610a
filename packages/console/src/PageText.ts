/** Reads the files of the page. The bundle and the published package contain a module with their texts instead. */
import { readFile } from "node:fs/promises"

const page = new URL("page/", import.meta.resolve("@messaging-crm/console/package.json"))

// Node resolves to the variant for servers; the variant for browsers is in the parent directory.
const fileOf = (path: string): URL =>
  path === "lit-html.js" ? new URL("../lit-html.js", import.meta.resolve("lit-html")) : new URL(path, page)

/** Returns the text of a file of the page; null if it does not exist. The path must be one of the page. */
export const textOf = (path: string): Promise<string | null> => readFile(fileOf(path), "utf8").catch(() => null)
