// Starts the page: its views, their addresses, its keys, and the stream of changes.
import { html, render, svg } from "lit-html"
import * as activity from "./activity.mjs"
import { customerDialog } from "./dialogs.mjs"
import * as inbox from "./inbox.mjs"
import { listenToKeys } from "./keys.mjs"
import { attempt, call, context, onUpdate, state, update } from "./store.mjs"
import { connect } from "./stream.mjs"
import { startDialog } from "./templateDialog.mjs"
import { thread } from "./thread.mjs"
import * as webhooks from "./webhooks.mjs"

const icon = (path) => html`<svg viewBox="0 0 20 20" aria-hidden="true">${svg`<path d=${path}></path>`}</svg>`

const newMessage = () =>
  html`<span class="new">
  ${
    context.canWriteAsCustomer
      ? html`<button @click=${customerDialog} title="Send a message as a customer">As a customer</button>`
      : ""
  }
  <button @click=${startDialog} title="Send a template to a phone number">New</button></span>`

/** The views in the order of their keys, 1 to 5. */
const views = {
  inbox: {
    label: "Inbox",
    path: "M3 10l2-6h10l2 6v6H3zM3 10h4l1 2h4l1-2h4",
    draw: () => html`${inbox.list(newMessage())}${thread()}`
  },
  ...context.isDevelopment ?
    {
      requests: { label: "Requests", path: "M4 7h11l-3-3M16 13H5l3 3", draw: activity.requests },
      sends: { label: "Sends", path: "M3 10l14-6-5 13-3-5z", draw: activity.sends },
      webhooks: {
        label: "Webhooks",
        path: "M6 13a3 3 0 1 0 3 3h5M8 5a3 3 0 1 1 4 4l2 4M14 13a3 3 0 1 1-2 5M9 9l-2.500 4.500",
        draw: webhooks.webhooks
      },
      events: { label: "Events", path: "M11 3L4 11h5l-1 6 7-8h-5z", draw: activity.events }
    } :
    {}
}

const navigation = () =>
  html`<nav aria-label="Views">
  <p class="brand"><svg viewBox="0 0 20 20" aria-hidden="true">${svg`<path d="M3 4h14v10H9l-4 3v-3H3z"></path>`}</svg>Console</p>
  ${
    Object.entries(views).map(([name, { label, path }], index) =>
      html`<a href="#/${name}" title="Key: ${index + 1}"
    aria-current=${state.view === name ? "page" : "false"}>${icon(path)}${label}
    ${
        name === "inbox" && state.unread.size > 0
          ? html`<b class="count">${state.unread.size > 99 ? "99+" : state.unread.size}</b>`
          : ""
      }</a>`
    )
  }
  <div class="charts" role="group" aria-label="Per minute">
    ${activity.chart("requests", "Requests/min")}${activity.chart("deliveries", "Deliveries/min")}${
    activity.chart("messages", "Messages/min")
  }
  </div>
  <p class="live ${state.isLive ? "" : "off"}" role="status">${state.isLive ? "Live" : "Connecting…"}</p>
</nav>`

const app = () =>
  html`<div class="app ${context.isDevelopment ? "" : "alone"} view-${state.view}">
  ${context.isDevelopment ? navigation() : ""}<main>${views[state.view].draw()}</main></div>
  ${
    state.error === null ? "" : html`<div class="toast" role="alert">${state.error}
    <button aria-label="Dismiss" @click=${() => update({ error: null })}>×</button></div>`
  }`

onUpdate(() => {
  document.title = state.unread.size > 0 ? `(${state.unread.size}) Inbox` : "Inbox"
  render(app(), document.body)
})

/** Shows the view that the address names. */
const route = attempt(async () => {
  const [, name = "", id] = location.hash.split("/")
  update({ view: name in views ? name : "inbox" })
  if (state.view === "webhooks") await webhooks.loadWebhooks()
  if (state.view === "inbox" && id !== undefined && id !== state.conversation?.id) {
    await inbox.open(await call("conversation", { id }))
  }
})

addEventListener("hashchange", route)
listenToKeys(Object.keys(views))
addEventListener("resize", () => update())

update()
setInterval(() => update(), 15_000)
connect()
await attempt(async () => update({ setup: await call("setup") }))()
await route()
