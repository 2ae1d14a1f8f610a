/** Signed cursors: the text contains the position, and the signature also covers the list, the organization, and the filters. */
import { createHmac, createSecretKey, randomBytes, timingSafeEqual } from "node:crypto"
import { invalid } from "./Errors.ts"

export interface Position {
  readonly time: string
  readonly id: string
}

// With bytes instead of a key object, each signature would create one.
const secret = createSecretKey(randomBytes(32))

const sign = (list: string, text: string): Buffer => createHmac("sha256", secret).update(`${list}\n${text}`).digest()

/** Makes the cursor of a position. `list` names the list with its organization and filters. */
export const encode = (list: string, { id, time }: Position): string => {
  const text = `${time}_${id}`
  return `${text}.${sign(list, text).toString("base64url")}`
}

/** Returns the position of a cursor, if there is one. Rejects a text that is not a cursor of this list. */
export const decode = (list: string, cursor: string | undefined): Position | undefined => {
  if (cursor === undefined) return undefined
  const end = cursor.lastIndexOf(".")
  const text = cursor.slice(0, end)
  const signature = Buffer.from(cursor.slice(end + 1), "base64url")
  const expected = sign(list, text)
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) throw invalid("cursor")
  const [time = "", id = ""] = text.split("_")
  return { time, id }
}
