// Starts the page: its views, their addresses, its keys, and the stream of changes.
import { html, render } from "lit-html"
import { clearError, refreshing, showingErrors } from "./actions.mjs"
import * as activity from "./development/activity.mjs"
import { webhooksView } from "./development/webhookList.mjs"
import { loadWebhooks } from "./development/webhooks.mjs"
import { drawAndKeepFocus } from "./elements/focus.mjs"
import * as icons from "./elements/icons.mjs"
import { hasTemplates } from "./elements/networks.mjs"
import * as inbox from "./inbox/conversationList.mjs"
import { refreshInbox } from "./inbox/conversations.mjs"
import { openCustomerDialog } from "./inbox/customerDialog.mjs"
import { isContactShown, refreshUnsent } from "./inbox/openConversation.mjs"
import { drawAndScroll } from "./inbox/scroll.mjs"
import { openConversationDialog } from "./inbox/sending.mjs"
import { threadView } from "./inbox/thread.mjs"
import { waitingIds } from "./inbox/waiting.mjs"
import { focusShownPane, listenToKeys } from "./keys.mjs"
import { callOperation, context, logOut } from "./server.mjs"
import { drawPageWith, state, updateState } from "./store.mjs"
import { connectToStream } from "./stream.mjs"

/** @import { TemplateResult } from "lit-html" */

const countWaiting = () => waitingIds(state.newest).length

const newMessageButtons = () =>
  html`<span class="new">
  ${
    context.canWriteAsCustomer
      ? html`<button @click=${openCustomerDialog} ?disabled=${
        state.setup.channels.length === 0
      } title="Send a message as a customer">As a customer</button>`
      : ""
  }
  <button @click=${() => openConversationDialog()} ?disabled=${!state.setup.channels.some(
    hasTemplates
  )} title="Send a template to a phone number">New</button></span>`

/** The name of the person who has logged in, and the button that ends their sessions. */
const account = () =>
  context.visitor === null ? "" : html`<p class="account"><span>${context.visitor}</span>
  <button @click=${showingErrors(logOut)} title="Log out in every browser">Log out</button></p>`

/**
 * The views in the order of their keys, 1 to 5.
 *
 * @type {Readonly<Record<string, { label: string, icon: TemplateResult, draw: () => TemplateResult }>>}
 */
const views = {
  inbox: {
    label: "Inbox",
    icon: icons.inboxIcon,
    draw: () => html`${inbox.conversationList(newMessageButtons(), account())}${threadView()}`
  },
  ...context.isDevelopment ?
    {
      requests: { label: "Requests", icon: icons.requestsIcon, draw: activity.requestsView },
      sends: { label: "Sends", icon: icons.sendsIcon, draw: activity.sendsView },
      webhooks: { label: "Webhooks", icon: icons.webhooksIcon, draw: webhooksView },
      events: { label: "Events", icon: icons.eventsIcon, draw: activity.eventsView }
    } :
    {}
}

const navigation = () =>
  html`<nav aria-label="Views">
  <p class="brand">${icons.brandIcon}Console</p>
  ${
    Object.entries(views).map(([name, { icon, label }], index) =>
      html`<a href="#/${name}" title="Key: ${index + 1}"
    aria-current=${state.view === name ? "page" : "false"}>${icon}${label}
    ${
        name === "inbox" && countWaiting() > 0
          ? html`<b class="count" title="Waiting for an answer">${countWaiting() > 99 ? "99+" : countWaiting()}</b>`
          : ""
      }</a>`
    )
  }
  <div class="charts" role="group" aria-label="Per minute">
    ${activity.countChart("requests", "Requests/min")}${activity.countChart("deliveries", "Deliveries/min")}${
    activity.countChart("messages", "Messages/min")
  }
  </div>
  <p class="live ${state.isLive ? "" : "off"}" role="status">${state.isLive ? "Live" : "Connecting…"}</p>
</nav>`

const page = () =>
  html`<div class="app ${context.isDevelopment ? "" : "alone"} view-${state.view} pane-${state.pane}">
  ${context.isDevelopment ? navigation() : ""}<main>${views[state.view]?.draw()}</main></div>
  ${
    state.error === null ? "" : html`<div class="toast" role="alert">${state.error}
    <button aria-label="Dismiss" @click=${clearError}>×</button></div>`
  }
  <p class="announcement hidden" role="status">${state.announcement}</p>`

/** The title of the console's options. */
const { title } = document

drawPageWith(() => {
  document.title = countWaiting() > 0 ? `(${countWaiting()}) ${title}` : title
  drawAndKeepFocus(() => drawAndScroll(() => render(page(), document.body)))
})

/** Shows the view, the conversation, and the part of it that the address names. */
const showAddressedView = showingErrors(async () => {
  const { hash } = location
  const [, name = "", ...parts] = hash.split("/")
  const [id, contact_id] = parts[0] === "contact" ? [undefined, parts[1]] : [parts[0]]
  const pane = parts.includes("contact") ? "contact" : id === undefined ? "list" : "thread"
  updateState({ view: name in views ? name : "inbox", pane })
  if (state.view === "webhooks") await loadWebhooks()
  refreshInbox()
  if (state.view === "inbox" && id !== undefined && id !== state.conversation?.id) {
    const conversation = await callOperation("conversation", { id })
    if (location.hash === hash) await inbox.selectConversation(conversation)
  }
  if (state.view === "inbox" && contact_id !== undefined && !isContactShown(contact_id)) {
    const contact = await callOperation("contact", { id: contact_id })
    if (location.hash === hash) inbox.selectContact(contact)
  }
})

addEventListener("hashchange", () => {
  clearError()
  void showAddressedView()
  requestAnimationFrame(focusShownPane)
})
addEventListener("input", clearError)
document.addEventListener("visibilitychange", () => document.hidden || showAddressedView())
listenToKeys(Object.keys(views))
addEventListener("resize", () => updateState())

document.querySelector(".loading")?.remove()
updateState()
setInterval(() => {
  updateState()
  refreshUnsent()
}, 15_000)
connectToStream()
refreshing(async () => updateState({ setup: await callOperation("setup") }))()
await showAddressedView()
