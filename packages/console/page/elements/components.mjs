// Components of several views: tables, sections, and buttons.
import { html } from "lit-html"
import { state, updateState } from "../store.mjs"
import { timeWithSeconds } from "./formats.mjs"

/** @import { TemplateResult } from "lit-html" */

/**
 * @typedef {string | number | TemplateResult} Content
 * @typedef {{ readonly cells: ReadonlyArray<readonly [content: Content, kind?: string]>, readonly more?: TemplateResult }} Row
 */

/**
 * Draws a row of a table. A narrow page shows it as a list, with the names of the columns.
 *
 * @param {Row} row
 * @param {ReadonlyArray<string>} columns
 */
const tableRow = ({ cells, more }, columns) =>
  html`<tr role="row">${
    cells.map(([content, kind = ""], index) =>
      html`<td role="cell" class=${kind} data-label=${columns[index] ?? ""}>${content}</td>`
    )
  }</tr>${
    more === undefined
      ? ""
      : html`<tr class="more" role="row"><td role="cell" colspan=${columns.length}>${more}</td></tr>`
  }`

/**
 * Draws a table, or a sentence if it has no rows. Its roles are explicit, because the styles of a narrow page remove them.
 *
 * @param {string} label
 * @param {ReadonlyArray<string>} columns
 * @param {ReadonlyArray<Row>} rows
 * @param {string} empty
 */
export const table = (label, columns, rows, empty) =>
  rows.length === 0
    ? html`<p class="empty">${empty}</p>`
    : html`<div class="scroll" tabindex="0"><table role="table" aria-label=${label}><thead role="rowgroup"><tr role="row">${
      columns.map((column) => html`<th scope="col" role="columnheader">${column}</th>`)
    }</tr></thead><tbody role="rowgroup">${rows.map((row) => tableRow(row, columns))}</tbody></table></div>`

/**
 * Draws a time with seconds.
 *
 * @param {string} at
 */
export const timeElement = (at) => html`<time datetime=${at}>${timeWithSeconds(at)}</time>`

/**
 * Draws a link to the part of the inbox that is before the shown one. Only a narrow page shows it.
 *
 * @param {string} address
 * @param {string} label
 * @param {string} text
 */
export const backLink = (address, label, text = "Back") =>
  html`<a class="button back" href=${address} aria-label=${label}>‹ ${text}</a>`

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
