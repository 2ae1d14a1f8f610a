/** The files of the page. */
import { readFile } from "node:fs/promises"
import { reject, respond } from "./Responses.ts"

/** An allow-list, so that no other file is served. */
const files: Readonly<Record<string, { readonly file: URL; readonly type: string }>> = (() => {
  const page = new URL("page/", import.meta.resolve("@messaging-crm/console/package.json"))
  const script = "text/javascript; charset=utf-8"
  const scripts = [
    "main.mjs",
    "store.mjs",
    "formats.mjs",
    "changed.mjs",
    "inbox.mjs",
    "lists.mjs",
    "thread.mjs",
    "messages.mjs",
    "composer.mjs",
    "contact.mjs",
    "dialogs.mjs",
    "templates.mjs",
    "statuses.mjs",
    "activity.mjs",
    "webhooks.mjs",
    "components.mjs",
    "keys.mjs",
    "stream.mjs",
    "templateDialog.mjs",
    "throttle.mjs",
    "webhookDialog.mjs"
  ]
  return {
    ...Object.fromEntries(scripts.map((name) => [name, { file: new URL(name, page), type: script }])),
    "style.css": { file: new URL("style.css", page), type: "text/css; charset=utf-8" },
    // Node resolves to the variant for servers; the variant for browsers is in the same directory.
    "lit-html.js": { file: new URL("../lit-html.js", import.meta.resolve("lit-html")), type: script }
  }
})()

/** Returns a file of the page. */
export const fileOf = async (name: string): Promise<Response> => {
  const found = Object.hasOwn(files, name) ? files[name] : undefined
  if (found === undefined) return reject(404, "not_found", "The console has no file at this path.")
  return respond(await readFile(found.file, "utf8"), 200, found.type)
}
