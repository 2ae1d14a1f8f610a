// What happens in the service: requests, sends, webhooks with their deliveries, events, and what there is of each a minute.
import { html, svg } from "lit-html"
import { attempt, call, exactly, spaced, state, update } from "./store.mjs"

const minutes = 30

/** Bars of the last half hour, the current minute at the right. */
export const chart = (kind, label) => {
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
      aria-label="${label} a minute, the last ${minutes} minutes: at most ${
    Math.max(...values)
  }">${bars}</svg></figure>`
}

const kindOf = (status) => status >= 500 ? "bad" : status >= 400 ? "warn" : "good"

const table = (label, columns, rows, empty) =>
  rows.length === 0
    ? html`<p class="empty">${empty}</p>`
    : html`<div class="scroll" tabindex="0"><table aria-label=${label}><thead><tr>${
      columns.map((column) => html`<th scope="col">${column}</th>`)
    }</tr></thead><tbody>${rows}</tbody></table></div>`

const section = (title, about, content) =>
  html`<section class="activity"><header><h1>${title}</h1><p class="faint">${about}</p></header>${content}</section>`

export const requests = () =>
  section(
    "Requests",
    "Calls of the API as they arrive. Reads of this console are left out.",
    table(
      "Requests",
      ["Time", "Method", "Path", "Status", "Code", "Duration"],
      state.requests.toReversed().map(({ at, code, duration_ms, method, path, status }) =>
        html`<tr>
        <td class="number">${exactly(at)}</td><td><code>${method}</code></td><td class="path"><code>${path}</code></td>
        <td><span class="status ${kindOf(status)}">${status}</span></td><td><code>${code ?? ""}</code></td>
        <td class="number">${duration_ms} ms</td></tr>`
      ),
      "No requests yet. Send one with the key that the terminal shows."
    )
  )

const sendKind = { sent: "good", failed: "bad", unknown: "warn" }

const reasonOf = ({ failure_reason, next_attempt_at, status, waits_for }) => {
  if (status === "failed") return spaced(failure_reason ?? "")
  if (status === "sent") return ""
  const until = next_attempt_at ? `, next attempt at ${exactly(next_attempt_at)}` : ""
  return waits_for
    ? `${spaced(waits_for)}${until}`
    : status === "unknown"
    ? "waits for a callback of the network"
    : until.slice(2)
}

export const sends = () =>
  section(
    "Sends",
    "Orders to send a message, and why they wait or failed.",
    table(
      "Sends",
      ["Created", "Recipient", "Text", "Status", "Reason"],
      Array.from(state.sends.values()).toReversed().map((send) =>
        html`<tr>
        <td class="number">${send.created_at ? exactly(send.created_at) : ""}</td><td>${send.recipient ?? ""}</td>
        <td class="path">${send.text ?? ""}</td>
        <td><span class="status ${sendKind[send.status] ?? ""}">${send.status}</span></td><td>${
          reasonOf(send)
        }</td></tr>`
      ),
      "No sends since the start of the service."
    )
  )

const pretty = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

const eventRow = (event) => {
  const toggle = () => update({ expanded: state.expanded === event.id ? null : event.id })
  return html`<tr><td class="number">${exactly(event.timestamp)}</td>
    <td><button class="link" aria-expanded=${state.expanded === event.id} @click=${toggle}>${event.type}</button></td>
    <td class="path"><code>${event.data.message_id ?? event.data.send_id ?? event.data.conversation_id}</code></td>
    <td>${spaced(event.data.status ?? event.data.failure_reason ?? "")}</td></tr>
    ${
    state.expanded === event.id
      ? html`<tr class="more"><td colspan="4"><pre>${JSON.stringify(event, null, 2)}</pre></td></tr>`
      : ""
  }`
}

export const events = () =>
  section(
    "Events",
    "What the service posts to webhooks that subscribe to it.",
    table(
      "Events",
      ["Time", "Type", "Resource", "Detail"],
      state.events.toReversed().map(eventRow),
      "No events since the start of the service."
    )
  )

const loadDeliveries = async (id) => {
  const { data } = await call("deliveries", { id })
  if (state.webhook === id) update({ deliveries: data })
}

const selectWebhook = attempt(async (id) => {
  update({ webhook: id, deliveries: [], expanded: null })
  await loadDeliveries(id)
})

export const loadWebhooks = attempt(async () => {
  const { data } = await call("webhooks")
  update({ webhooks: data })
  const selected = data.find(({ id }) => id === state.webhook) ?? data[0]
  if (selected === undefined) return
  if (selected.id === state.webhook) await loadDeliveries(selected.id)
  else await selectWebhook(selected.id)
})

let isWaiting = false

/** Reads the deliveries again, at most once a second. */
export const touchDeliveries = () => {
  if (isWaiting || state.view !== "webhooks") return
  isWaiting = true
  setTimeout(async () => {
    await loadWebhooks()
    isWaiting = false
  }, 1000)
}

const retry = ({ id, webhook_id }) =>
  attempt(async () => {
    const retried = await call("retry", { id, webhook_id })
    update({ deliveries: state.deliveries.map((delivery) => delivery.id === id ? retried : delivery) })
  })

const deliveryKind = { succeeded: "good", failed: "bad", pending: "warn" }

const bodies = ({ event_id, response_body, response_status }) => {
  const event = state.events.find(({ id }) => id === event_id)
  return html`<tr class="more"><td colspan="7"><div class="bodies">
    <div><h3>Request</h3><pre>${
    event === undefined ? "The event is older than this start." : JSON.stringify(event, null, 2)
  }</pre></div>
    <div><h3>Response${response_status === null ? "" : ` ${response_status}`}</h3>
      <pre>${response_body === null ? "No response." : pretty(response_body) || "(empty)"}</pre></div>
  </div></td></tr>`
}

const deliveryRow = (delivery) => {
  const {
    attempt_count,
    created_at,
    duration_ms,
    event_type,
    failure_code,
    id,
    next_attempt_at,
    response_status,
    status
  } = delivery
  const isExpanded = state.expanded === id
  return html`<tr><td class="number">${exactly(created_at)}</td>
    <td><button class="link" aria-expanded=${isExpanded} @click=${() =>
    update({ expanded: isExpanded ? null : id })}>${event_type}</button></td>
    <td><span class="status ${deliveryKind[status]}">${status}</span></td>
    <td>${response_status ?? ""} ${failure_code === null ? "" : spaced(failure_code)}</td>
    <td class="number">${attempt_count}${duration_ms === null ? "" : ` · ${duration_ms} ms`}</td>
    <td class="number">${next_attempt_at === null ? "" : exactly(next_attempt_at)}</td>
    <td>${
    status === "pending" ? "" : html`<button @click=${retry(delivery)} title="Deliver the event again">Retry</button>`
  }</td></tr>${isExpanded ? bodies(delivery) : ""}`
}

export const webhooks = () =>
  section(
    "Webhooks",
    "Subscriptions, and the deliveries of the one that is selected.",
    state.webhooks.length === 0
      ? html`<p class="empty">No webhooks. Create one with <code>POST /v1/webhooks</code>.</p>`
      : html`<div class="webhooks" role="group" aria-label="Webhooks">${
        state.webhooks.map(({ event_types, id, status, url }) =>
          html`<button aria-pressed=${id === state.webhook} @click=${() => selectWebhook(id)}>
        <span class="path">${url}</span><span class="faint">${event_types.join(", ")}</span>
        <span class="status ${status === "active" ? "good" : ""}">${status}</span></button>`
        )
      }</div>
      ${
        table(
          "Deliveries",
          ["Created", "Event", "Status", "Result", "Attempts", "Next attempt", ""],
          state.deliveries.map(deliveryRow),
          "No deliveries yet."
        )
      }`
  )
