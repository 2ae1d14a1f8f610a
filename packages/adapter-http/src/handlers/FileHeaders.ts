/** The response headers of third-party files, which prevent a browser from running them. */
import type { MediaFile } from "@messaging-crm/core/Media"

/** The fields of a file that its headers contain. */
type Described = Pick<MediaFile, "filename" | "mime_type">

/** Media types that a browser can show without running them. It saves any other, SVG and HTML above all. */
const showable = /^(?:image\/(?:avif|bmp|gif|jpeg|png|webp)|audio\/[\w.+-]+|video\/[\w.+-]+)(?:;|$)/i

const media_type_chars_max = 127

/** A media type as a header may carry it, with parameters such as `codecs`. */
const media_type_pattern = /^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=(?:[\w.+-]+|"[\w., +-]*"))*$/

/** Returns the media type, or that of arbitrary bytes for a type that no header can contain. */
export const contentType = ({ mime_type }: Described): string =>
  mime_type !== null && mime_type.length <= media_type_chars_max && media_type_pattern.test(mime_type)
    ? mime_type
    : "application/octet-stream"

const filename_chars_max = 200

/** Characters with a meaning for file systems, or for the display of bidirectional text. */
const misleading = /[\p{Cc}/\\\u202A-\u202E\u2066-\u2069]/gu

/** Keeps the end of a name that is too long, for the sake of its extension. */
const safeName = (filename: string): string =>
  Array.from(filename.replace(misleading, "_")).slice(-filename_chars_max).join("")

/** Percent-encodes one ASCII character. */
const percent = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

/** Encodes a name for RFC 8187, which allows fewer characters than `encodeURIComponent` leaves unchanged. */
const extendedName = (name: string): string => encodeURIComponent(name).replace(/['()*]/g, percent)

/**
 * Returns whether a file is shown or saved, and under which name (RFC 6266).
 *
 * The header has the name twice: in ASCII for old clients, and in full.
 */
export const contentDisposition = (file: Described): string => {
  const disposition = showable.test(contentType(file)) ? "inline" : "attachment"
  if (file.filename === null) return disposition
  const name = safeName(file.filename)
  const ascii = name.replace(/[^\x20-\x7E]|["%]/gu, "_")
  return `${disposition}; filename="${ascii}"; filename*=UTF-8''${extendedName(name)}`
}

interface Range {
  readonly start: number
  /** The first byte that is no longer part of it. */
  readonly end: number
}

/** One range, as players and resumed downloads request it. */
const range_pattern = /^bytes=(\d{0,12})-(\d{0,12})$/

/** Returns the requested range, or null for the whole file, which RFC 9110 allows as the response to any range. */
export const rangeOf = (header: string, size: number): Range | null => {
  const [, first = "", last = ""] = range_pattern.exec(header) ?? []
  if (first === "" && last === "") return null
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === "" || last === "" ? size : Math.min(size, Number(last) + 1)
  return start < end ? { start, end } : null
}
