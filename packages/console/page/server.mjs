// The server of the page: its options, and its operations.

/**
 * @import { development, inbox, simulated } from "../src/Operations.ts"
 * @import { PageData } from "../src/Responses.ts"
 */

/** @type {Partial<PageData>} */
const options = document.body.dataset

/** The path of the console, and its optional functions. */
export const context = {
  path: options.path ?? "",
  isDevelopment: options.development === "true",
  canWriteAsCustomer: options.writeAsCustomer === "true",
  /** The name of the person who has logged in; null if the server has no login. */
  visitor: options.visitor ?? null,
  /** The member who this person is; null if the server does not name one. */
  member_id: options.member ?? null
}

/** The headers of a write. The token proves to the server that its own page sends it. */
const headers = { "content-type": "application/json", "x-csrf-token": options.token ?? "" }

/** Whether the page is about to open another one. */
let isLeaving = false

/** Opens the login page, which returns to the shown address. Once, because each visit begins another login. */
const logIn = () => {
  if (!isLeaving) location.assign(`${context.path}/login?to=${encodeURIComponent(context.path + location.hash)}`)
  isLeaving = true
}

/** Ends all sessions of the person who has logged in. The server can name the address that ends a session elsewhere. */
export const logOut = async () => {
  // Other requests fail as soon as the session has ended, and would begin a login.
  isLeaving = true
  try {
    const response = await fetch(`${context.path}/logout`, { method: "POST", headers })
    const { ok, status } = response
    if (!ok && status !== 401) throw new Error(`The server responded with ${status}. Try again.`)
    location.assign(status === 200 ? (await response.json()).location : `${context.path}/logged-out`)
  } catch (error) {
    isLeaving = false
    throw error
  }
}

/**
 * The operations of the server, by the names under which the page requests them.
 *
 * @typedef {typeof inbox & typeof development & ReturnType<typeof simulated>} ServerOperations
 */

/** A rejected operation: its message, and the code and the field of the service's error. */
export class OperationError extends Error {
  /** @param {{ readonly code?: string, readonly message: string, readonly param?: string | null }} error */
  constructor({ code, message, param }) {
    super(message)
    this.code = code ?? null
    /** The field that has the error, as a dotted path; null if the error concerns none. */
    this.param = param ?? null
  }
}

/**
 * Requests an operation from the server. A rejection throws an `OperationError`.
 *
 * @template {keyof ServerOperations} Name
 * @param {Name} name
 * @param {Parameters<ServerOperations[Name]> extends [unknown, infer Input] ? [Input] : []} inputs
 * @returns {Promise<Awaited<ReturnType<ServerOperations[Name]>>>}
 */
export const callOperation = async (name, ...inputs) => {
  const response = await fetch(`${context.path}/call/${name}`, {
    method: "POST",
    headers,
    body: JSON.stringify(inputs[0] ?? {})
  })
  if (response.status === 401 && context.visitor !== null) logIn()
  const body = await response.json()
  if (!response.ok) throw new OperationError(body.error ?? { message: `The server responded with ${response.status}.` })
  return body
}
