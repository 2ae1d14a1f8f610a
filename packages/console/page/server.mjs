// The server of the page: its options, and its operations.

/** @import { development, inbox, simulated } from "../src/Operations.ts" */

const { path = "", ...options } = document.body.dataset

/** The path of the console, and its optional functions. */
export const context = {
  path,
  isDevelopment: options["development"] === "true",
  canWriteAsCustomer: options["writeAsCustomer"] === "true"
}

/**
 * The operations of the server, by the names under which the page requests them.
 *
 * @typedef {typeof inbox & typeof development & ReturnType<typeof simulated>} ServerOperations
 */

/**
 * Requests an operation from the server. A rejection throws an error with its message.
 *
 * @template {keyof ServerOperations} Name
 * @param {Name} name
 * @param {Parameters<ServerOperations[Name]> extends [unknown, infer Input] ? [Input] : []} inputs
 * @returns {Promise<Awaited<ReturnType<ServerOperations[Name]>>>}
 */
export const callOperation = async (name, ...inputs) => {
  const response = await fetch(`${context.path}/call/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(inputs[0] ?? {})
  })
  const body = await response.json()
  if (!response.ok) throw new Error(body.error?.message ?? `The server responded with ${response.status}.`)
  return body
}
