// Draws the activity of the service: requests, sends, events, and their number per minute.
import { html, svg } from "lit-html"
import { expander, section, table, timeElement } from "../elements/components.mjs"
import { timeWithSeconds, withSpaces } from "../elements/formats.mjs"
import { state } from "../store.mjs"
import { withoutResource } from "./withoutResource.mjs"

/**
 * @import { WebhookEvent } from "@messaging-crm/client"
 * @import { CompletedRequest, SendReport } from "../../src/StreamMessages.ts"
 * @import { Row } from "../elements/components.mjs"
 */

/**
 * The fields of all types of events.
 *
 * @typedef {Partial<Readonly<Record<IdField | "failure_reason" | "reason" | "status", string>>>
 *   & { readonly changed_fields?: ReadonlyArray<string> }} EventData
 * @typedef {"contact_id" | "conversation_id" | "message_id" | "send_id" | "webhook_id"} IdField
 */

const minutes = 30

/**
 * Draws a bar for each of the last 30 minutes. The current minute is on the right.
 *
 * @param {keyof typeof state.counts} kind
 * @param {string} label
 */
export const countChart = (kind, label) => {
  const counts = state.counts[kind]
  const now = Math.floor(Date.now() / 60_000)
  const values = Array.from({ length: minutes }, (_, index) => counts[now - minutes + 1 + index] ?? 0)
  const top = Math.max(4, ...values)
  const bars = values.map((value, index) => {
    const height = value === 0 ? 1 : Math.max(2, value / top * 28)
    return svg`<rect x=${index * 6} y=${28 - height} width="4" height=${height} rx="1" class=${
      value === 0 ? "zero" : ""
    }></rect>`
  })
  return html`<figure class="chart"><figcaption>${label}<b>${values.at(-1)}</b></figcaption>
    <svg viewBox="0 0 178 28" preserveAspectRatio="none" role="img"
      aria-label="${label}, the last ${minutes} minutes: at most ${Math.max(...values)}">${bars}</svg></figure>`
}

/** @param {number} status */
const statusKind = (status) => status >= 500 ? "bad" : status >= 400 ? "warn" : "good"

/**
 * Draws a status on the color of its kind.
 *
 * @param {string | number} text
 * @param {string} kind
 */
const statusLabel = (text, kind) => html`<span class="status ${kind}">${text}</span>`

/**
 * @param {CompletedRequest & { at: string }} request
 * @returns {Row}
 */
const requestRow = ({ at, code, duration_ms, error, method, path, status }) => ({
  cells: [
    [timeElement(at), "number"],
    [html`<code>${method}</code>`],
    [error === null ? html`<code>${path}</code>` : expander(error.request_id, path), "path"],
    [statusLabel(status, statusKind(status))],
    [code === null ? "" : html`<code>${code}</code>`],
    [`${duration_ms} ms`, "number"]
  ],
  ...error !== null && state.expanded_id === error.request_id
    ? { more: html`<pre>${JSON.stringify(error, null, 2)}</pre>` }
    : {}
})

/** Draws the requests, newest first. */
export const requestsView = () =>
  section(
    "Requests",
    "API requests as they arrive, including the writes of this console. Its reads are not shown.",
    table(
      "Requests",
      ["Time", "Method", "Path", "Status", "Code", "Duration"],
      state.requests.toReversed().map(requestRow),
      "No requests yet. Send one with the key that the terminal shows."
    )
  )

/** @type {Readonly<Record<string, string>>} */
const sendKind = { sent: "good", failed: "bad", unknown: "warn" }

/** @param {SendReport} send */
const sendReasonOf = ({ failure_reason, next_attempt_at, status, waits_for }) => {
  if (status === "failed") return withSpaces(failure_reason ?? "")
  if (status === "sent") return ""
  const until = next_attempt_at ? `, next attempt at ${timeWithSeconds(next_attempt_at)}` : ""
  return waits_for
    ? `${withSpaces(waits_for)}${until}`
    : status === "unknown"
    ? "waiting for a callback from the network"
    : until.slice(2)
}

/** Draws the sends, newest first. */
export const sendsView = () =>
  section(
    "Sends",
    "Accepted requests to send a message, and the reason if a send is waiting or has failed.",
    table(
      "Sends",
      ["Created", "Recipient", "Text", "Status", "Reason"],
      Array.from(state.sends.values()).toReversed().map((send) => ({
        cells: [
          [send.created_at ? timeElement(send.created_at) : "", "number"],
          [send.recipient ?? ""],
          [send.text ?? "", "path"],
          [statusLabel(send.status ?? "", sendKind[send.status ?? ""] ?? "")],
          [sendReasonOf(send)]
        ]
      })),
      "No sends since the start of the service."
    )
  )

/** @param {EventData} data */
const resourceIdOf = ({ contact_id, conversation_id, message_id, send_id, webhook_id }) =>
  message_id ?? send_id ?? conversation_id ?? contact_id ?? webhook_id

/**
 * @param {WebhookEvent} event
 * @returns {Row}
 */
const eventRow = (event) => {
  const data = /** @type {EventData} */ (event.data)
  const detail = data.status ?? data.failure_reason ?? data.changed_fields?.join(", ") ?? data.reason ?? ""
  const isExpanded = state.expanded_id === event.id
  return {
    cells: [
      [timeElement(event.timestamp), "number"],
      [expander(event.id, event.type)],
      [html`<code>${resourceIdOf(data)}</code>`, "path"],
      [withSpaces(detail)]
    ],
    ...isExpanded ? { more: html`<pre>${JSON.stringify(withoutResource(event), null, 2)}</pre>` } : {}
  }
}

/** Draws the events, newest first. */
export const eventsView = () =>
  section(
    "Events",
    "Events, which the service posts to the webhooks that subscribe to them.",
    table(
      "Events",
      ["Time", "Type", "Resource", "Detail"],
      state.events.toReversed().map(eventRow),
      "No events since the start of the service."
    )
  )
