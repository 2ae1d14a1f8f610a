/** The files of the page. */
import { readFile } from "node:fs/promises"
import { reject, respond } from "./Responses.ts"

const scripts = [
  "main.mjs",
  "store.mjs",
  "formats.mjs",
  "icons.mjs",
  "collectIds.mjs",
  "conversations.mjs",
  "openConversation.mjs",
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

const page = new URL("page/", import.meta.resolve("@messaging-crm/console/package.json"))
const javascript = "text/javascript; charset=utf-8"

/** An allow-list, so that no other file is served. */
const files: Readonly<Record<string, { readonly file: URL; readonly type: string }>> = {
  ...Object.fromEntries(scripts.map((name) => [name, { file: new URL(name, page), type: javascript }])),
  "style.css": { file: new URL("style.css", page), type: "text/css; charset=utf-8" },
  // Node resolves to the variant for servers; the variant for browsers is in the same directory.
  "lit-html.js": { file: new URL("../lit-html.js", import.meta.resolve("lit-html")), type: javascript }
}

/** Returns a file of the page. */
export const fileOf = async (name: string): Promise<Response> => {
  const entry = Object.hasOwn(files, name) ? files[name] : undefined
  if (entry === undefined) return reject(404, "not_found", "The console has no file at this path.")
  return respond(await readFile(entry.file, "utf8"), 200, entry.type)
}
