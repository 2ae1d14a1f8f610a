// Draws a send that is not a message: its progress, or why it failed and what the agent can do.
import { html } from "lit-html"
import { timeOfDay } from "../elements/formats.mjs"
import { hasTemplates } from "../elements/networks.mjs"
import { state } from "../store.mjs"
import { editText } from "./composer.mjs"
import { failureOf } from "./failures.mjs"
import { openTemplates, resend } from "./sending.mjs"
import { statusIcon } from "./statusIcon.mjs"
import { textOfSend } from "./unsent.mjs"

/**
 * @import { Conversation, Send, SendMessage } from "@messaging-crm/client"
 * @import { TemplateResult } from "lit-html"
 * @import { Action, Failure } from "./failures.mjs"
 */

/** @param {Conversation} conversation */
const templateButton = (conversation) =>
  hasTemplates(conversation.channel)
    ? html`<button @click=${() => openTemplates(conversation)}>Choose a template</button>`
    : ""

/**
 * The button for each action that a failure suggests, if the page can do it.
 *
 * @type {Readonly<Record<
 *   Action,
 *   (conversation: Conversation, id: string, message: SendMessage | null) => TemplateResult | string
 * >>}
 */
const buttons = {
  resend: (conversation, id, message) =>
    message === null ? "" : html`<button @click=${() => resend(conversation, id)}>Send again</button>`,
  edit: (conversation, _, message) => {
    if (message?.type === "text") return html`<button @click=${() => editText(message.text)}>Edit</button>`
    return message?.type === "template" ? templateButton(conversation) : ""
  },
  template: templateButton
}

/**
 * Draws the button for the action that a failure suggests.
 *
 * @param {Conversation} conversation
 * @param {Send} send
 * @param {Failure} failure
 */
const actionButton = (conversation, { id }, { action }) =>
  action === undefined ? "" : buttons[action](conversation, id, state.sentContents.get(id)?.message ?? null)

/**
 * Draws a send that is not a message.
 *
 * @param {Conversation} conversation
 * @param {Send} send
 */
export const unsentBubble = (conversation, send) => {
  const { created_at, id, status } = send
  const text = textOfSend(id)
  const failure = failureOf(send)
  return html`<li class="bubble outbound unsent ${status}">
  ${text === null ? html`<p class="faint">Text not available: it was sent elsewhere.</p>` : html`<p>${text}</p>`}
  ${
    failure === null
      ? ""
      : html`<div class="failure"><p><strong>${status === "failed" ? "Not sent" : "Outcome unknown"}.</strong>
        ${failure.reason} ${failure.advice}</p>${actionButton(conversation, send, failure)}</div>`
  }
  <footer><span>${status === "failed" || status === "unknown" ? "" : status}</span>
    <time datetime=${created_at}>${timeOfDay(created_at)}</time>${statusIcon(status)}</footer>
</li>`
}
