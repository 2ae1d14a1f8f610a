/** Emails: the form of an address in which it is stored and compared (contract §8.1). */
import { Schema } from "effect"
import { plainLine } from "./Text.ts"

/** Returns an address without what surrounds it when it is copied: spaces, invisible characters, and the rest of a `mailto:` link. */
export const emailLine = (written: string): string =>
  plainLine(written).replace(/^(?:mailto: ?)+([^?]*)(?:\?.*)?$/i, "$1")

// A list of addresses, an address with a name, and one with a separator at its end are not an address.
const part = "[^\\s@<>()\\[\\],;:\\\\\"]"
const label = "[^\\s@<>()\\[\\],;:\\\\\".!?'#$%&*+/=^`{|}~]"
const address = `${part}+@${label}+(?:\\.${label}+)+`
const is_address = new RegExp(`^${address}$`, "u")

/** A check for one email address. */
export const isEmail = Schema.makeFilter((value: string) => is_address.test(value), {
  expected: "one email address",
  // No `format`: JSON Schema's formats accept neither surrounding white space nor non-ASCII letters.
  toJsonSchema: () => ({ pattern: `^\\s*(?:${address})?\\s*$` })
})
