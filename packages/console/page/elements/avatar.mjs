// The picture of a person: the initials of the name on a color.
import { html } from "lit-html"

/**
 * Returns the initials of a name, or the last digits of a number.
 *
 * @param {string} name
 */
const initialsOf = (name) =>
  /\p{L}/u.test(name)
    ? name.replace(/[^\p{L}\p{N} ]/gu, " ").trim().split(/\s+/).slice(0, 2).map(([first]) => first).join("")
      .toUpperCase()
    : name.slice(-2)

/**
 * Returns one of eight colors, which is the same for each occurrence of a name.
 *
 * @param {string} name
 */
const hueOf = (name) => Array.from(name).reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 8, 7)

/**
 * Draws the initials of a name on a color.
 *
 * @param {string} name
 */
export const avatar = (name) =>
  html`<span class="avatar hue-${hueOf(name)}" aria-hidden="true">${initialsOf(name)}</span>`
