// Draws the messages of the open conversation.
import { html } from "lit-html"
import { timeOfDay, withSpaces } from "../elements/formats.mjs"
import { state } from "../store.mjs"
import { isPicture } from "./lists.mjs"

/** @import { Media, Message, Send } from "@messaging-crm/client" */

const messagesElement = () => document.querySelector(".messages")

/** Scrolls to the end after the changes are drawn. */
export const scrollToEnd = () =>
  requestAnimationFrame(() => requestAnimationFrame(() => messagesElement()?.scrollTo(0, 1e9)))

let drawnMessages = state.messages

/**
 * Draws the page. If its messages have changed, the end stays visible, or else the same messages do when older ones were
 * inserted before them.
 *
 * @param {() => void} draw
 */
export const drawAndScroll = (draw) => {
  const [before, after] = [drawnMessages, state.messages]
  const element = messagesElement()
  drawnMessages = after
  if (element === null || before === after) return draw()
  const fromEnd = element.scrollHeight - element.scrollTop
  const wasAtEnd = fromEnd - element.clientHeight < 80
  draw()
  const hasOlder = after.findIndex(({ id }) => id === before[0]?.id) > 0
  if (wasAtEnd || hasOlder) element.scrollTo(0, element.scrollHeight - (wasAtEnd ? 0 : fromEnd))
}

/** @type {Readonly<Record<string, string>>} */
const statusIcons = { queued: "◷", sending: "◷", unknown: "?", sent: "✓", delivered: "✓✓", read: "✓✓", failed: "!" }

/** @param {Message["status"] | Send["status"]} status */
const statusIcon = (status) =>
  html`<span class="checks ${status}" role="img" aria-label=${status} title=${status}>${statusIcons[status]}</span>`

/** @param {Media} media */
const mediaView = ({ filename, kind, url }) => {
  const name = filename ?? kind
  if (url === null) return html`<p class="file">${name}: not stored</p>`
  if (isPicture({ kind })) return html`<img src=${url} alt=${name} loading="lazy">`
  return html`<a class="file" href=${url} target="_blank" rel="noreferrer">${name}</a>`
}

/** @param {Message} message */
const messageBubble = (message) => {
  const { created_at, deleted_at, direction, edited_at, sender, status, text, type } = message
  return html`<li class="bubble ${direction}">
    ${message.media === null ? "" : mediaView(message.media)}
    ${
    deleted_at !== null
      ? html`<p class="faint">Deleted</p>`
      : text === null
      ? (message.media === null ? html`<p class="faint">${withSpaces(type)}</p>` : "")
      : html`<p>${text}</p>`
  }
    <footer>${direction === "outbound" && sender.name ? html`<span>${sender.name}</span>` : ""}
      ${edited_at === null ? "" : html`<span>edited</span>`}
      <time>${timeOfDay(created_at)}</time>${direction === "outbound" ? statusIcon(status) : ""}</footer>
  </li>`
}

/**
 * Draws a send that is not a message yet.
 *
 * @param {Send & { readonly text: string }} send
 */
export const pendingBubble = ({ failure_reason, status, text }) =>
  html`<li class="bubble outbound pending ${status}">
  <p>${text}</p><footer><span>${failure_reason === null ? status : `Failed: ${withSpaces(failure_reason)}`}</span>${
    statusIcon(status)
  }</footer>
</li>`

/** @param {string} at */
const dayOf = (at) => new Date(at).toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long" })

/** Draws the messages of the open conversation, with a line before each day. */
export const messageBubbles = () =>
  state.messages.map((message, index) => {
    const day = dayOf(message.created_at)
    const isNewDay = index === 0 || day !== dayOf(state.messages[index - 1]?.created_at ?? "")
    return html`${isNewDay ? html`<li class="day">${day}</li>` : ""}${messageBubble(message)}`
  })
