// Draws the details of a message: locations, contacts, orders, choices, and the other parts that a network reports.
import { html } from "lit-html"
import { locationIcon, orderIcon, personIcon } from "../elements/icons.mjs"
import { state } from "../store.mjs"

/**
 * @import { MessageDetails } from "@messaging-crm/client"
 * @import { TemplateResult } from "lit-html"
 */

/**
 * Draws a link of a message, which can have any form. Only a web page is opened.
 *
 * @param {string | null} url
 * @param {string} text
 */
const webLink = (url, text) =>
  /^https?:\/\//i.test(url ?? "") ? html`<a href=${url} target="_blank" rel="noreferrer">${text}</a>` : text

/** @param {ReadonlyArray<string | null>} texts */
const joined = (texts) => texts.filter((text) => text !== null && text !== "").join(", ")

/** @param {NonNullable<MessageDetails["location"]>} location */
const locationCard = ({ address, latitude, longitude, name, url }) => {
  const position = `${latitude}, ${longitude}`
  const map = latitude === null || longitude === null
    ? url
    : `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=16/${latitude}/${longitude}`
  return html`<div class="card"><strong>${locationIcon}${name ?? "Location"}</strong>
    ${address === null ? "" : html`<span>${address}</span>`}${
    webLink(map, latitude === null ? "Open" : position)
  }</div>`
}

/** @param {NonNullable<MessageDetails["contacts"]>[number]} contact */
const contactCard = ({ addresses, department, emails, job_title, name, organization, phones, urls }) =>
  html`<div class="card"><strong>${personIcon}${name ?? "Contact"}</strong>
    ${
    [job_title, department, organization].some((text) => text !== null)
      ? html`<span>${joined([job_title, department, organization])}</span>`
      : ""
  }
    ${phones.map(({ value }) => html`<a href="tel:${value.replace(/[^+\d]/g, "")}">${value}</a>`)}
    ${emails.map(({ value }) => html`<a href="mailto:${value}">${value}</a>`)}
    ${urls.map(({ value }) => html`<span>${webLink(value, value)}</span>`)}
    ${addresses.map(({ value }) => html`<span>${value}</span>`)}</div>`

/**
 * Formats an amount with its currency, which can be unknown to the browser.
 *
 * @param {number} amount
 * @param {string | null} currency
 */
const amountOf = (amount, currency) => {
  try {
    return new Intl.NumberFormat(undefined, currency === null ? {} : { style: "currency", currency }).format(amount)
  } catch {
    return `${amount} ${currency}`
  }
}

/** @param {NonNullable<MessageDetails["order"]>} order */
const orderCard = ({ items, text }) => {
  const currencies = new Set(items.map(({ currency }) => currency))
  const [currency = null] = currencies
  const hasTotal = currencies.size === 1 && items.every(({ price, quantity }) => price !== null && quantity !== null)
  const total = items.reduce((sum, { price, quantity }) => sum + (price ?? 0) * (quantity ?? 0), 0)
  return html`<div class="card"><strong>${orderIcon}Order</strong>${text === null ? "" : html`<span>${text}</span>`}
    <ul>${
    items.map((item) =>
      html`<li><span>${item.quantity ?? "?"} × ${item.product_id ?? "product"}</span>
        <span>${item.price === null ? "" : amountOf(item.price, item.currency)}</span></li>`
    )
  }${
    hasTotal && items.length > 0
      ? html`<li><strong>Total</strong><strong>${amountOf(total, currency)}</strong></li>`
      : ""
  }</ul></div>`
}

/** @param {NonNullable<MessageDetails["flow"]>} flow */
const formCard = ({ name, response }) =>
  html`<div class="card"><strong>${name ?? "Form"}</strong><dl>${
    Object.entries(response ?? {}).map(([field, value]) =>
      html`<dt>${field}</dt><dd>${typeof value === "string" ? value : JSON.stringify(value)}</dd>`
    )
  }</dl></div>`

/** @param {NonNullable<MessageDetails["choice"]>} choice */
const choiceView = ({ description, id, payload, title }) =>
  html`<p class="choice" title="The customer chose this option">${title ?? payload ?? id ?? "An option"}</p>${
    description === null ? "" : html`<p class="faint">${description}</p>`
  }`

/** @param {NonNullable<MessageDetails["reaction"]>} reaction */
const reactionView = ({ action, emoji }) =>
  html`<p>${
    action === "unreact" ? "Removed a reaction" : html`Reacted with <span class="emoji">${emoji ?? "?"}</span>`
  }</p>`

/** @param {NonNullable<MessageDetails["referral"]>} referral */
const referralView = ({ body, headline, source, url }) =>
  html`<p class="quote">From ${webLink(url, source ?? "a link")}${
    joined([headline, body]) === "" ? "" : `: ${joined([headline, body])}`
  }</p>`

/** @param {NonNullable<MessageDetails["quoted"]>} quoted */
const quotedView = ({ provider_message_id }) => {
  const message = state.messages.find((other) => other.provider_message_id === provider_message_id)
  return html`<p class="quote">${
    message?.text ?? (message === undefined ? "An earlier message" : `[${message.type}]`)
  }</p>`
}

/**
 * Draws each part that a message has.
 *
 * @param {ReadonlyArray<TemplateResult | null | undefined | false>} parts
 */
const present = (parts) => parts.filter((part) => part instanceof Object)

/**
 * Draws the details above the text of a message: where it comes from.
 *
 * @param {MessageDetails} details
 */
export const aboveText = ({ forwarded, quoted, referral, story }) =>
  present([
    forwarded && html`<p class="faint">${forwarded.many_times ? "Forwarded many times" : "Forwarded"}</p>`,
    referral && referralView(referral),
    story &&
    html`<p class="quote">${
      webLink(story.url, story.action === "mention" ? "Mentioned you in a story" : "Replied to a story")
    }</p>`,
    quoted && quotedView(quoted)
  ])

/**
 * Draws the details below the text of a message: its contents.
 *
 * @param {MessageDetails} details
 */
export const belowText = ({ choice, contacts, flow, is_truncated, location, order, product, reaction, shares }) =>
  present([
    choice && choiceView(choice),
    location && locationCard(location),
    ...(contacts ?? []).map(contactCard),
    order && orderCard(order),
    flow && formCard(flow),
    reaction && reactionView(reaction),
    ...(shares ?? []).map(({ title, type, url }) =>
      html`<p class="quote">${webLink(url, title ?? `Shared ${type}`)}</p>`
    ),
    product && html`<p class="faint">About the product ${product.product_id ?? ""}</p>`,
    is_truncated === true && html`<p class="faint">Some details are too large to be shown.</p>`
  ])
