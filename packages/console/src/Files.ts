/** The files of the page. */
import { readFile } from "node:fs/promises"
import { reject, respond } from "./Responses.ts"

const page = new URL("page/", import.meta.resolve("@messaging-crm/console/package.json"))
const javascript = "text/javascript; charset=utf-8"

/** The path of a script, at most one folder deep. It cannot lead out of the page's folder. */
const script_path = /^(?:[a-z]+\/)?[A-Za-z]+\.mjs$/

/** Returns where a file of the page is, and its media type; null for any other path, so that no other file is served. */
const locate = (path: string): { readonly file: URL; readonly type: string } | null => {
  if (path === "style.css") return { file: new URL(path, page), type: "text/css; charset=utf-8" }
  // Node resolves to the variant for servers; the variant for browsers is in the same directory.
  if (path === "lit-html.js") {
    return { file: new URL("../lit-html.js", import.meta.resolve("lit-html")), type: javascript }
  }
  return script_path.test(path) ? { file: new URL(path, page), type: javascript } : null
}

/** Returns a file of the page. */
export const fileOf = async (path: string): Promise<Response> => {
  const located = locate(path)
  const text = located && await readFile(located.file, "utf8").catch(() => null)
  return located === null || text === null
    ? reject(404, "not_found", "The console has no file at this path.")
    : respond(text, 200, located.type)
}
