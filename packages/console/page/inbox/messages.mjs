// Draws the messages of the open conversation, and the sends that are not messages.
import { html } from "lit-html"
import { timeOfDay } from "../elements/formats.mjs"
import { state } from "../store.mjs"
import { messageContent } from "./messageContent.mjs"
import { statusIcon } from "./statusIcon.mjs"
import { unsentBubble } from "./unsentBubble.mjs"

/** @import { Conversation, Message, Send } from "@messaging-crm/client" */

/**
 * Returns why a message failed after the network had accepted it.
 *
 * @param {Message} message
 */
const failureText = ({ details }) => {
  const { code = null, description = null, title = null } = details?.failure ?? {}
  const texts = [title, description === title ? null : description, code === null ? null : `(code ${code})`]
  const reason = texts.filter((text) => text !== null).join(" ")
  return `The network accepted the message, and then reported that it failed${reason === "" ? "." : `: ${reason}`}`
}

/** @param {Message} message */
const messageBubble = (message) => {
  const { created_at, direction, edited_at, sender, status } = message
  const isFailed = direction === "outbound" && status === "failed"
  return html`<li class="bubble ${direction} ${isFailed ? "failed" : ""}">
    ${messageContent(message)}
    ${isFailed ? html`<div class="failure"><p><strong>Not delivered.</strong> ${failureText(message)}</p></div>` : ""}
    <footer>${direction === "outbound" && sender.name ? html`<span>${sender.name}</span>` : ""}
      ${edited_at === null ? "" : html`<span>edited</span>`}
      <time datetime=${created_at}>${timeOfDay(created_at)}</time>${
    direction === "outbound" ? statusIcon(status) : ""
  }</footer>
  </li>`
}

/** @param {string} at */
const dayOf = (at) => new Date(at).toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long" })

/**
 * Returns the unsent sends of the time whose messages are shown.
 *
 * @param {ReadonlyArray<Send>} unsent
 * @param {string | undefined} first The time of the first shown message.
 */
const shownUnsent = (unsent, first) =>
  state.olderCursor === null || first === undefined ? unsent : unsent.filter(({ created_at }) => created_at >= first)

/**
 * Draws the messages and the unsent sends of the open conversation, with a line before each day.
 *
 * @param {Conversation} conversation
 */
export const threadItems = (conversation) => {
  /** @type {ReadonlyArray<Message | Send>} */
  const items = [...state.messages, ...shownUnsent(state.unsent, state.messages[0]?.created_at)]
  return items.toSorted((a, b) => a.created_at.localeCompare(b.created_at)).map((item, index, sorted) => {
    const day = dayOf(item.created_at)
    const isNewDay = index === 0 || day !== dayOf(sorted[index - 1]?.created_at ?? "")
    return html`${isNewDay ? html`<li class="day">${day}</li>` : ""}${
      "direction" in item ? messageBubble(item) : unsentBubble(conversation, item)
    }`
  })
}
