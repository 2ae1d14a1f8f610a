// Draws the webhooks, and the deliveries of the selected one.
import { html } from "lit-html"
import { showingErrors } from "../actions.mjs"
import { expander, section, table, timeElement } from "../elements/components.mjs"
import { withSpaces } from "../elements/formats.mjs"
import { callOperation } from "../server.mjs"
import { state, updateState } from "../store.mjs"
import { openDisableDialog, openEditDialog, openRotateDialog, openWebhookDialog } from "./webhookDialog.mjs"
import { loadDeliveries, loadWebhooks, selectWebhook } from "./webhooks.mjs"
import { withoutResource } from "./withoutResource.mjs"

/**
 * @import { Webhook, WebhookDelivery } from "@messaging-crm/client"
 * @import { Row } from "../elements/components.mjs"
 */

/**
 * Indents a text if it is JSON.
 *
 * @param {string} text
 */
const indentJson = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

const createWebhook = () =>
  openWebhookDialog(async (webhook) => {
    const created = await callOperation("createWebhook", webhook)
    updateState({ webhook_id: created.id })
    await loadWebhooks()
    return created
  })

/** @param {Webhook} webhook */
const editWebhook = (webhook) =>
  openEditDialog(webhook, async (change) => {
    await callOperation("updateWebhook", { id: webhook.id, change })
    await loadWebhooks()
  })

/** @param {Webhook} webhook */
const rotateSecret = (webhook) => openRotateDialog(webhook, () => callOperation("rotateSecret", { id: webhook.id }))

/** @param {Webhook} webhook */
const disableWebhook = (webhook) =>
  openDisableDialog(webhook, async () => {
    await callOperation("disableWebhook", { id: webhook.id })
    await loadWebhooks()
  })

/** @param {WebhookDelivery} delivery */
const retryDelivery = ({ id, webhook_id }) =>
  showingErrors(async () => {
    const retried = await callOperation("retry", { id, webhook_id })
    updateState({ deliveries: state.deliveries.map((delivery) => delivery.id === id ? retried : delivery) })
  })

const testWebhook = showingErrors(async () => {
  const { webhook_id } = state
  if (webhook_id === null) return
  await callOperation("testWebhook", { id: webhook_id })
  await loadDeliveries(webhook_id)
})

const deliveryKind = { succeeded: "good", failed: "bad", pending: "warn" }

/** @param {WebhookDelivery} delivery */
const deliveryBodies = ({ event_id, response_body, response_status, webhook_id }) => {
  const raised = state.events.find(({ id }) => id === event_id)
  const isFull = state.webhooks.some(({ id, include_resource }) => id === webhook_id && include_resource)
  const event = raised === undefined || isFull ? raised : withoutResource(raised)
  return html`<div class="bodies">
    <div><h3>Request</h3><pre>${
    event === undefined
      ? "This event was raised before the service started, so its body is not available here."
      : JSON.stringify(event, null, 2)
  }</pre></div>
    <div><h3>Response${response_status === null ? "" : ` ${response_status}`}</h3>
      <pre>${response_body === null ? "No response." : indentJson(response_body) || "(empty)"}</pre></div>
  </div>`
}

/** @param {WebhookDelivery} delivery */
const resultOf = ({ failure_code, response_status }) =>
  [response_status ?? "", failure_code === null ? "" : withSpaces(failure_code)].join(" ").trim()

/**
 * @param {WebhookDelivery} delivery
 * @returns {Row}
 */
const deliveryRow = (delivery) => {
  const { attempt_count, created_at, duration_ms, event_type, id, next_attempt_at, status } = delivery
  const retryLabel = status === "pending" ? "Retry now" : "Retry"
  return {
    cells: [
      [timeElement(created_at), "number"],
      [expander(id, event_type)],
      [html`<span class="status ${deliveryKind[status]}">${status}</span>`],
      [resultOf(delivery)],
      [`${attempt_count}${duration_ms === null ? "" : ` · ${duration_ms} ms`}`, "number"],
      [next_attempt_at === null ? "" : timeElement(next_attempt_at), "number"],
      [html`<button @click=${retryDelivery(delivery)} title="Deliver the event now">${retryLabel}</button>`]
    ],
    ...state.expanded_id === id ? { more: deliveryBodies(delivery) } : {}
  }
}

/** @param {Webhook} webhook */
const webhookButton = ({ event_types, id, include_resource, status, url }) => {
  const content = `${event_types.join(", ")}${include_resource ? ", with the resource" : ""}`
  return html`<button aria-pressed=${id === state.webhook_id} @click=${() => selectWebhook(id)}>
    <span class="path">${url}</span><span class="faint">${content}</span>
    <span class="status ${status === "active" ? "good" : ""}">${status}</span></button>`
}

const deliveryTable = () =>
  table(
    "Deliveries",
    ["Created", "Event", "Status", "Result", "Attempts", "Next attempt", ""],
    state.deliveries.map(deliveryRow),
    "No deliveries yet."
  )

const webhookToolbar = () => {
  const selected = state.webhooks.find(({ id, status }) => id === state.webhook_id && status === "active")
  return html`<p class="toolbar"><button @click=${createWebhook}>New webhook</button>${
    selected === undefined ?
      "" :
      html`<button @click=${testWebhook} title="Post one signed webhook.test event">Test</button>
    <button @click=${() => editWebhook(selected)}>Edit</button>
    <button @click=${() => rotateSecret(selected)}>Rotate secret</button>
    <button @click=${() => disableWebhook(selected)}>Disable</button>`
  }</p>`
}

/** Draws the webhooks, and the deliveries of the selected one. */
export const webhooksView = () => {
  const list = state.webhooks.length === 0
    ? html`<p class="empty">No webhooks. Create one to receive events.</p>`
    : html`<div class="webhooks" role="group" aria-label="Webhooks">${state.webhooks.map(webhookButton)}</div>
      ${deliveryTable()}`
  return section(
    "Webhooks",
    "Subscriptions, and the deliveries of the selected one.",
    html`${webhookToolbar()}${list}`
  )
}
