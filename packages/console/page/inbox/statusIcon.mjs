// Draws the status of an outbound message or of a send.
import { html } from "lit-html"

/** @import { Message, Send } from "@messaging-crm/client" */

/** @type {Readonly<Record<string, string>>} */
const icons = { queued: "◷", sending: "◷", unknown: "?", sent: "✓", delivered: "✓✓", read: "✓✓", failed: "!" }

/** @param {Message["status"] | Send["status"]} status */
export const statusIcon = (status) =>
  html`<span class="checks ${status}" role="img" aria-label=${status} title=${status}>${icons[status]}</span>`
