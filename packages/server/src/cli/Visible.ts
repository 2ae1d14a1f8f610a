/** Text from outside the service, in a form that is safe on a terminal. */

/** Control characters, line separators, and marks that change the direction of text. */
const controls = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** Returns a text on one line, with control characters escaped as in `\u001b`, which JSON reads as the same text. */
export const oneLine = (text: string): string => text.replace(controls, escaped)

/** Returns a text with control characters escaped as in `\u001b`, except line breaks. */
export const visible = (text: string): string => text.split("\n").map(oneLine).join("\n")
