// Draws the contents of a message: its text, its file, and its details.
import { html } from "lit-html"
import { sizeOf, withSpaces } from "../elements/formats.mjs"
import { fileIcon } from "../elements/icons.mjs"
import { isPicture } from "./lists.mjs"
import { aboveText, belowText } from "./messageDetails.mjs"
import { keepEnd } from "./scroll.mjs"

/** @import { Media, Message } from "@messaging-crm/client" */

/** @param {Media} media */
const mediaView = ({ byte_size, filename, kind, transcript, url }) => {
  const name = filename ?? kind
  if (url === null) {
    return html`<p class="file">${name}: not stored, because it is larger than 16 MB or was not provided</p>`
  }
  if (isPicture({ kind })) return html`<img src=${url} alt=${name} loading="lazy" @load=${keepEnd}>`
  if (kind === "video") {
    return html`<video src=${url} aria-label=${name} controls preload="metadata" @loadedmetadata=${keepEnd}></video>`
  }
  if (kind === "audio") {
    return html`<audio src=${url} aria-label=${name} controls preload="metadata"></audio>${
      transcript === null ? "" : html`<p class="faint">${transcript}</p>`
    }`
  }
  return html`<a class="file" href=${url} target="_blank" rel="noreferrer"><strong>${fileIcon}${name}</strong>
    <span class="faint">${byte_size === null ? "File" : sizeOf(byte_size)}</span></a>`
}

/**
 * Draws the contents of a message.
 *
 * @param {Message} message
 */
export const messageContent = (message) => {
  const { deleted_at, media, text, type } = message
  if (deleted_at !== null) return html`<p class="faint">Deleted</p>`
  const details = message.details ?? {}
  const [above, below] = [aboveText(details), belowText(details)]
  const isEmpty = media === null && text === null && above.length + below.length === 0
  // The text of a chosen button is its title.
  const isShown = text !== null && text !== details.choice?.title
  return html`${above}${media === null ? "" : mediaView(media)}${isShown ? html`<p>${text}</p>` : ""}${below}${
    isEmpty
      ? html`<p class="faint">${withSpaces(details.provider_type ?? type)}: shown only in the network’s own app</p>`
      : ""
  }`
}
