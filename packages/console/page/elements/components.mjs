// Components of several views: tables, sections, and buttons.
import { html } from "lit-html"
import { state, updateState } from "../store.mjs"
import { timeWithSeconds } from "./formats.mjs"

/** @import { TemplateResult } from "lit-html" */

/**
 * Draws a table, or a sentence if it has no rows.
 *
 * @param {string} label
 * @param {ReadonlyArray<string>} columns
 * @param {ReadonlyArray<TemplateResult>} rows
 * @param {string} empty
 */
export const table = (label, columns, rows, empty) =>
  rows.length === 0
    ? html`<p class="empty">${empty}</p>`
    : html`<div class="scroll" tabindex="0"><table aria-label=${label}><thead><tr>${
      columns.map((column) => html`<th scope="col">${column}</th>`)
    }</tr></thead><tbody>${rows}</tbody></table></div>`

/**
 * Draws a time with seconds.
 *
 * @param {string} at
 */
export const timeElement = (at) => html`<time datetime=${at}>${timeWithSeconds(at)}</time>`

/**
 * Draws a view with its heading.
 *
 * @param {string} title
 * @param {string} about
 * @param {TemplateResult | string} content
 */
export const section = (title, about, content) =>
  html`<section class="activity"><header><h1>${title}</h1><p class="faint">${about}</p></header>${content}</section>`

/**
 * Draws a button that shows and hides the details of a row.
 *
 * @param {string} id
 * @param {string} label
 */
export const expander = (id, label) =>
  html`<button class="link" aria-expanded=${state.expanded_id === id}
    @click=${() => updateState({ expanded_id: state.expanded_id === id ? null : id })}>${label}</button>`

/**
 * Draws a row of buttons, one of which is pressed.
 *
 * @template Value
 * @param {string} label
 * @param {ReadonlyArray<readonly [label: string, value: Value, title?: string]>} options
 * @param {Value} selected
 * @param {(value: Value) => void} choose
 */
export const segments = (label, options, selected, choose) =>
  html`<div class="segments" role="group" aria-label=${label}>${
    options.map(([text, value, title = ""]) =>
      html`<button type="button" title=${title} aria-pressed=${value === selected}
        @click=${() => choose(value)}>${text}</button>`
    )
  }</div>`
