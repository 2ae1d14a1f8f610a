/** The files of the page. */
import { textOf } from "./PageText.ts"
import { reject, respond } from "./Responses.ts"

const javascript = "text/javascript; charset=utf-8"

/** The path of a script, at most one folder deep. It cannot lead out of the page's folder. */
const script_path = /^(?:lit-html\.js|(?:[a-z]+\/)?[A-Za-z]+\.mjs)$/

/** Returns the media type of a file of the page; null for any other path, so that no other file is served. */
const typeOf = (path: string): string | null => {
  if (path === "style.css") return "text/css; charset=utf-8"
  return script_path.test(path) ? javascript : null
}

/** Returns a file of the page. */
export const fileOf = async (path: string): Promise<Response> => {
  const type = typeOf(path)
  const text = type && await textOf(path)
  return type === null || text === null
    ? reject(404, "not_found", "The console has no file at this path.")
    : respond(text, 200, type)
}
