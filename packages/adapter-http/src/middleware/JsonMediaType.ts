const json = /^application\/json\s*(?:;|$)/i

/** A parameter of a media type; a quoted value may hold semicolons. */
const parameter = /;\s*([^\s=;"]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;]*)/g

const utf8 = /^["']?utf-?8["']?\s*$/i

/** Returns whether a `Content-Type` is JSON in UTF-8. Parameters other than `charset` have no meaning for JSON. */
export const isJsonType = (type: string): boolean =>
  type === "application/json" ||
  (json.test(type) &&
    Array.from(type.matchAll(parameter)).every(([, name = "", value = ""]) =>
      name.toLowerCase() !== "charset" || utf8.test(value)
    ))
