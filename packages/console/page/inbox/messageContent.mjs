// Draws the contents of a message: its text, its file, and the details of other types.
import { html } from "lit-html"
import { withSpaces } from "../elements/formats.mjs"
import { isPicture } from "./lists.mjs"
import { keepEnd } from "./scroll.mjs"

/** @import { Media, Message } from "@messaging-crm/client" */

/** @param {Media} media */
const mediaView = ({ filename, kind, url }) => {
  const name = filename ?? kind
  if (url === null) return html`<p class="file">${name}: not stored</p>`
  if (isPicture({ kind })) return html`<img src=${url} alt=${name} loading="lazy" @load=${keepEnd}>`
  return html`<a class="file" href=${url} target="_blank" rel="noreferrer">${name}</a>`
}

/**
 * Draws the contents of a message.
 *
 * @param {Message} message
 */
export const messageContent = ({ deleted_at, media, text, type }) => {
  if (deleted_at !== null) return html`<p class="faint">Deleted</p>`
  const fallback = media === null ? html`<p class="faint">${withSpaces(type)}</p>` : ""
  return html`${media === null ? "" : mediaView(media)}${text === null ? fallback : html`<p>${text}</p>`}`
}
