/** Removes what mentions a person from the stored body of a callback, and leaves what it says of others. */

const [encoder, decoder] = [new TextEncoder(), new TextDecoder()]

const gone = Symbol("gone")

/**
 * Returns a JSON value without what mentions a person: of a list the items that
 * do, of anything else all of it.
 */
const without = (value: unknown, isMention: (text: string) => boolean): unknown => {
  if (Array.isArray(value)) {
    return value.map((item) => without(item, isMention)).filter((item) => item !== gone)
  }
  if (typeof value !== "object" || value === null) return isMention(String(value)) ? gone : value
  const entries = Object.entries(value).map(([name, field]) => [name, without(field, isMention)] as const)
  return entries.some(([name, field]) => field === gone || isMention(name)) ? gone : Object.fromEntries(entries)
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Returns the body without what mentions a person by one of their ids, written
 * without a plus sign, and null where nothing does.
 *
 * The networks report several people in one body, as items of lists: each item
 * that names the person is removed. A body that is not JSON is emptied.
 */
export const redacted = (body: Uint8Array, ids: ReadonlyArray<string>): Uint8Array | null => {
  const text = decoder.decode(body)
  const value = parsed(text)
  if (value === undefined) return ids.some((id) => text.includes(id)) ? new Uint8Array() : null
  const rest = without(value, (text) => ids.includes(text.replace(/^\+/, "")))
  const written = rest === gone ? "{}" : JSON.stringify(rest)
  return written === JSON.stringify(value) ? null : encoder.encode(written)
}
